"""Looking for good potentials: Newton steps on a smoothed dual, cooled step by step.

The dual is concave in the potentials, which are linear in theta, and a round only meets its own
potentials and the next ones: block tridiagonal, one banded Cholesky a step. Minima over sets and
counts are soft at a temperature that falls. A soft minimum is nearly flat but for kinks a
temperature wide, so curvature is read at a higher one, and steps are damped by how much they
change rounds at all counts, not by how long they are (`smoothed.bracket_metric`): with the latter,
the ascent stalls at gaps ten times as wide. What is returned has been certified over every set and
every count, without any smoothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.deadline import counted_seconds
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.counted import CountInstance
from preceptor.engine.newton import newton_direction
from preceptor.engine.potentials import (
    Exact,
    PotentialBound,
    Timeline,
    certify,
    constants,
    start_value,
    timeline,
)
from preceptor.engine.smoothed import WIDE, SmoothedDual, rounds_that_count

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]

# Temperatures, in losses of a round: the first, the last, and what one is times the one before.
HOT, COLD, COOLING = 1e-2, 2e-5, 0.25
STEPS = 30  # at most, at one temperature
# A whole cycle from a hot restart that brings less than this share is the last one, and so is one
# that closes less than that share of the gap: a beam closes it sooner.
RESTART_GAIN, RESTART_SHARE = 1e-4, 0.05
# Potentials first stand still over blocks of t / COARSE rounds, a quarter of the work.
COARSE = 15
# With more sets in more pieces than this, potentials stay the same over blocks of rounds.
FINE_WORK = 1_000_000


def ascend(
    dual: SmoothedDual, theta: FloatArray, temp: float, damping: float
) -> tuple[FloatArray, float, float]:
    """One damped Newton step: the new potentials, the gain it predicted, the next damping."""
    smooth = dual.evaluate(theta, temp, 2)
    instance, rows = dual.instance, dual.times.rows
    free = np.tile(np.repeat(instance.moving, 3), (rows, 1))
    if not instance.has_tail:
        free[-1] = False
    diagonal, below = (part / (WIDE * temp) for part in dual.metric)
    ridge = np.einsum("rqq->rq", smooth.diagonal + 1e-3 * diagonal).mean(axis=1)
    ridge = np.maximum(ridge, 1e-12 * ridge.max()) + 1e-300
    predicted = 0.0
    for _ in range(10):
        damped = replace(
            smooth,
            diagonal=smooth.diagonal + damping * diagonal,
            below=smooth.below + damping * below,
        )
        flat = newton_direction(damped, free, 1e-6, ridge)
        if flat is None:
            damping *= 10.0
            continue
        slope = float((smooth.gradient * flat * free).sum())
        predicted = max(predicted, slope)
        for size in (1.0, 0.3):
            trial = theta + size * flat.reshape(theta.shape)
            dual.admit(trial, temp)
            merit = dual.evaluate(trial, temp, 0).merit
            if dual.halt[0]:
                return theta, predicted, damping
            share = (merit - smooth.merit) / (size * slope) if slope > 0.0 else -1.0
            if share > 0.05:
                if size < 1.0 or share < 0.15:
                    damping *= 4.0
                elif share > 0.4:
                    damping = max(0.25 * damping, 1e-6)
                return trial, predicted, damping
        damping *= 8.0
    return theta, predicted, damping


@dataclass(eq=False)
class _Best:
    """The best potentials so far, one row a round, and what they prove of each round."""

    theta: FloatArray
    minima: FloatArray
    y0: FloatArray | None = None
    value: float = -np.inf


@dataclass(frozen=True)
class _Stage:
    """Temperatures, from one to another, on a timeline."""

    times: Timeline
    hot: float
    cold: float


def stages_of(instance: CountInstance) -> Iterator[_Stage]:
    """Blocks of rounds first, then every round; then hot restarts."""
    fine = finest(instance)
    coarse = timeline(instance.length, instance.has_tail, COARSE)
    warm = HOT
    if coarse.rows < fine.rows:
        warm = HOT * COOLING
        yield _Stage(coarse, HOT, warm)
    yield _Stage(fine, warm, COLD)
    while True:
        yield _Stage(fine, HOT, COLD)


def finest(instance: CountInstance) -> Timeline:
    """Every round by itself, or blocks where there are very many sets to look through in each."""
    few = (instance.length + 1) * instance.actions.size <= FINE_WORK
    return timeline(instance.length, instance.has_tail, 0 if few else COARSE)


def solve_general_dual(
    instance: CountInstance,
    loss: float,
    goal: float = np.inf,
    time_limit: float = 20.0,
    max_iterations: int = 10**6,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
    halt: IntArray | None = None,
) -> PotentialBound:
    """Potentials that prove much, found within `time_limit`; `loss` is about what a round costs.

    `goal` is what the best plan so far costs, if there is one.
    `halt` (1,) may be set by another thread, and then ends it within a step. Deterministic unless
    the clock ends it.
    """
    began = counted_seconds()
    T = instance.length
    each_round = T + int(instance.has_tail)
    best = _Best(np.zeros((T + 1, instance.n_tests, 3)), np.full(each_round, -np.inf))
    rounds = rounds_that_count(instance)
    status, iterations, theta, previous = "converged", 0, best.theta, -np.inf
    dual: SmoothedDual | None = None
    spare = 0.0  # what the pass that proves something takes

    def over() -> str:
        late = counted_seconds() - began > time_limit - spare
        if late or (halt is not None and halt[0]):
            return "time_limit"
        if iterations >= max_iterations:
            return "iteration_limit"
        return "stopped" if should_stop is not None and should_stop() else ""

    def prove(dual: SmoothedDual, temp: float) -> float:
        """Keep what the potentials prove, if it is most; gives the seconds that took."""
        started = counted_seconds()
        dual.keep_tangents()
        minima, _ = dual.exact.minima(theta, temp * np.array([0.1]), halt=halt)
        times = dual.times
        value = constants(instance, times, theta, minima)[0] + start_value(instance, theta)
        if value > best.value:
            best.value, best.theta = value, theta[times.row]
            best.minima = minima[times.piece[:each_round]]
            best.y0 = dual.exact.y0[times.piece[:each_round]]
        if progress is not None:
            progress("dual", iterations, best.value)
        return counted_seconds() - started

    for stage in stages_of(instance):
        times, temp, damping = stage.times, stage.hot, 0.1
        theta = theta[np.searchsorted(times.row, np.arange(times.rows))]
        if dual is None or dual.times.rows != times.rows:
            dual = SmoothedDual.start(instance, times, halt)
            dual.admit(theta, stage.hot * loss)
            if not dual.all_listed:
                spare = 2.0 * prove(dual, stage.hot * loss)
        while temp >= 0.99 * stage.cold and status == "converged":
            for _ in range(STEPS):
                status = over() or status
                if status != "converged":
                    break
                theta, slope, damping = ascend(dual, theta, temp * loss, damping)
                iterations += 1
                if slope < 0.1 * temp * loss * rounds:
                    break
            spare = 2.0 * prove(dual, temp * loss)
            temp *= COOLING
        theta = theta[times.row]
        # A cooled run can stall short of the optimum of this concave problem, so "converged" is
        # only said after a whole cycle from a hot restart has brought next to nothing.
        enough = RESTART_GAIN * abs(best.value)
        if np.isfinite(goal):
            enough = max(enough, RESTART_SHARE * (goal - best.value))
        if status != "converged" or (stage.cold == COLD and best.value - previous < enough):
            break
        previous = best.value
    exact = Exact.start(instance, finest(instance))
    if best.y0 is not None:
        exact.y0[exact.times.piece[:each_round]] = best.y0
    return certify(instance, best.theta, exact, loss, status, iterations, best.minima, halt)
