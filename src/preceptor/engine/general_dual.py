"""Looking for good potentials: Newton steps on a smoothed dual, cooled step by step.

The dual is concave in the potentials, which are linear in theta, and a round only meets its own
potentials and the next ones: block tridiagonal, one banded Cholesky a step. Minima over sets and
counts are soft at a temperature that falls. A soft minimum is nearly flat but for kinks a
temperature wide, so curvature is read at a higher one, and steps are damped by how much they
change rounds at all counts, not by how long they are (`bracket_metric`): with the latter, the
ascent stalls at gaps ten times as wide. What is returned has been certified over every set and
every count, without any smoothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.counted import CountInstance
from preceptor.engine.newton import Smooth, newton_direction
from preceptor.engine.potentials import (
    PIECES_A_THREAD,
    Exact,
    PotentialBound,
    Timeline,
    certify,
    constants,
    start_value,
    timeline,
)

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]

# Temperatures, in losses of a round: the first, the last, and what one is times the one before.
HOT, COLD, COOLING = 1e-2, 2e-5, 0.25
# Curvature is read at so many temperatures.
WIDE = 3.0
STEPS = 30  # at most, at one temperature
# A whole cycle from a hot restart that brings less than this share is the last one.
RESTART_GAIN = 1e-4
# Potentials first stand still over blocks of t / COARSE rounds, a quarter of the work.
COARSE = 15
# Counts that the ascent looks at lie this far apart, as a share; certificates use every count.
APART = 0.06


@dataclass(eq=False)
class Ascent:
    """A smoothed dual on one timeline, and what it keeps from one evaluation to the next."""

    instance: CountInstance
    times: Timeline
    lists: IntArray
    sizes: IntArray
    best: IntArray
    y0: FloatArray
    grid: IntArray
    stop_cost: FloatArray
    metric: tuple[FloatArray, FloatArray]
    # Set by another thread when it is time to stop: what is evaluated then means nothing.
    halt: IntArray

    @classmethod
    def start(cls, instance: CountInstance, times: Timeline, halt: IntArray | None) -> Ascent:
        """Every set listed in every piece."""
        pieces, actions = times.now.size, instance.actions
        grid = thin_counts(int(instance.caps.max()))
        return cls(
            instance,
            times,
            np.tile(actions, (pieces, 1)),
            np.full(pieces, actions.size, dtype=np.int64),
            np.zeros(pieces, dtype=np.int64),
            Exact.start(instance, times).y0,
            grid,
            np.array([instance.stop_cost(t) for t in range(instance.length + 1)]),
            bracket_metric(instance, times, grid),
            np.zeros(1, dtype=np.int64) if halt is None else halt,
        )

    def evaluate(self, theta: FloatArray, temp: float, order: int) -> Smooth:
        """Smoothed dual at theta (rows, n, 3), with gradient and negative Hessian blocks."""
        from preceptor.engine._count_dual_kernels import soft_pieces

        instance, times = self.instance, self.times
        R, n = times.now.size, instance.n_tests
        soft, grad = np.zeros(R), np.zeros((R, 6 * n))
        hess = np.zeros((R, 6 * n, 6 * n)) if order > 1 else np.empty((R, 1, 1))
        arguments = (
            times.now, times.later, times.reach, theta, *instance.count_arrays, self.grid,
            instance.discount, *instance.loss_arrays, self.lists, self.sizes, temp, WIDE, order,
            self.y0, soft, self.best, grad, hess, self.halt,
        )  # fmt: skip
        in_threads(lambda part: soft_pieces(part.start, part.stop, *arguments), R, PIECES_A_THREAD)
        heat = temp * _rounds_that_count(instance)
        largest, stop_grad, stop_curve = self._largest(theta, heat)
        value, weight, quits = self._add_up(soft, largest, heat)
        merit = value + start_value(instance, theta)
        rows, m = times.rows, 3 * n
        gradient = np.zeros((rows, m))
        if order == 0:
            return Smooth(merit, gradient, np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
        stays = times.now == times.later
        here, step = np.flatnonzero(stays), np.flatnonzero(~stays)
        w = weight[:, None]
        gradient[times.now[here]] += w[here] * (grad[here, :m] + grad[here, m:])
        gradient[times.now[step]] += w[step] * grad[step, :m]
        gradient[times.later[step]] += w[step] * grad[step, m:]
        gradient += quits[:, None] * stop_grad
        diagonal, below = np.zeros((rows, m, m)), np.zeros((rows - 1, m, m))
        if order > 1:
            w = weight[:, None, None]
            low, high, mixed = hess[:, :m, :m], hess[:, m:, m:], hess[:, m:, :m]
            diagonal[times.now[step]] += w[step] * low[step]
            diagonal[times.later[step]] += w[step] * high[step]
            below[times.now[step]] += w[step] * mixed[step]
            both = mixed[here] + mixed[here].transpose(0, 2, 1)
            diagonal[times.now[here]] += w[here] * (low[here] + high[here] + both)
            for i in range(n):
                block = slice(3 * i, 3 * i + 3)
                diagonal[:, block, block] += quits[:, None, None] * stop_curve[:, i]
        return Smooth(merit, gradient, diagonal, below)

    def _largest(self, theta: FloatArray, heat: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Soft maxima of phi over the counts of each row, with derivatives of their negatives."""
        from preceptor.engine._count_dual_kernels import stop_rows

        instance, times = self.instance, self.times
        rows, n = times.rows, instance.n_tests
        value, grad = np.zeros(rows), np.zeros((rows, 3 * n))
        curve = np.zeros((rows, n, 3, 3))
        if instance.empty_set >= 0:
            stop_rows(
                0, rows, times.row_reach, theta, *instance.count_arrays, self.grid, heat, WIDE,
                value, grad, curve,
            )  # fmt: skip
        return value, grad, curve

    def _add_up(
        self, soft: FloatArray, largest: FloatArray, heat: float
    ) -> tuple[float, FloatArray, FloatArray]:
        """Soft C_0; how much each piece weighs in it, and stopping in each row."""
        instance, times = self.instance, self.times
        T, delta = instance.length, instance.discount
        C, quits = 0.0, np.zeros(T + 1)
        for t in range(T, -1, -1):
            if t == T:
                C = soft[times.piece[T]] / (1.0 - delta) if instance.has_tail else 0.0
            else:
                C = soft[times.piece[t]] + delta * C
            if instance.empty_set >= 0 and (t < T or instance.has_tail):
                gap = (C - (self.stop_cost[t] - largest[times.row[t]])) / heat
                quits[t] = 1.0 / (1.0 + np.exp(-min(max(gap, -700.0), 700.0)))
                C -= heat * (max(gap, 0.0) + np.log1p(np.exp(-abs(gap))))
        reach = np.concatenate([[1.0], np.cumprod(delta * (1.0 - quits[:T]))])
        going = reach * (1.0 - quits)
        if instance.has_tail:
            going[T] /= 1.0 - delta
        rounds = T + int(instance.has_tail)
        weight, stops = np.zeros(soft.size), np.zeros(times.rows)
        np.add.at(weight, times.piece[:rounds], going[:rounds])
        np.add.at(stops, times.row, reach * quits)
        return float(C), weight, stops


def thin_counts(most: int) -> IntArray:
    """0, 1, 2, ... and then about `APART` apart, below `most`."""
    counts = [0]
    while counts[-1] < most:
        counts.append(counts[-1] + max(1, round(APART * counts[-1])))
    return np.array(counts[:-1] or [0], dtype=np.int64)


def _rounds_that_count(instance: CountInstance) -> float:
    delta = instance.discount
    return min(instance.length, 1.0 / (1.0 - delta) if delta < 1.0 else instance.length)


def bracket_metric(
    instance: CountInstance, times: Timeline, grid: IntArray
) -> tuple[FloatArray, FloatArray]:
    """How much a change of the potentials changes rounds, as blocks of a quadratic form.

    Sums over rounds of the mean square of delta phi_{t+1}(m + s) - phi_t(m) over counts m and s =
    0, 1, test by test. Soft minima see only the counts that are least now; damping by this keeps
    all others from falling below them, and lets potentials of all rounds move together.
    """
    n, rows, delta, T = instance.n_tests, times.rows, instance.discount, instance.length
    diagonal, below = np.zeros((rows, 3 * n, 3 * n)), np.zeros((rows - 1, 3 * n, 3 * n))
    by_round = delta ** np.arange(T + 1.0)
    by_round[T] = by_round[T] / (1.0 - delta) if instance.has_tail else 0.0
    weight = np.zeros(times.now.size)
    np.add.at(weight, times.piece, by_round)
    for p, (now, later, reach) in enumerate(zip(times.now, times.later, times.reach, strict=True)):
        for i in range(n):
            limit = min(reach, instance.caps[i])
            m = np.append(grid[grid < limit], limit)
            after = np.concatenate([m, np.minimum(m + 1, instance.caps[i])])
            before = np.concatenate([m, m])
            left, right = -instance.basis[i, before], delta * instance.basis[i, after]
            share, block = weight[p] / before.size, slice(3 * i, 3 * i + 3)
            diagonal[now, block, block] += share * left.T @ left
            diagonal[later, block, block] += share * right.T @ right
            if now == later:
                diagonal[now, block, block] += share * (left.T @ right + right.T @ left)
            else:
                below[now, block, block] += share * right.T @ left
    return diagonal, below


def ascend(
    ascent: Ascent, theta: FloatArray, temp: float, damping: float
) -> tuple[FloatArray, float, float]:
    """One damped Newton step: the new potentials, the gain it predicted, the next damping."""
    smooth = ascent.evaluate(theta, temp, 2)
    instance, rows = ascent.instance, ascent.times.rows
    free = np.tile(np.repeat(instance.moving, 3), (rows, 1))
    if not instance.has_tail:
        free[-1] = False
    diagonal, below = (part / (WIDE * temp) for part in ascent.metric)
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
            merit = ascent.evaluate(trial, temp, 0).merit
            if ascent.halt[0]:
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
    """The best potentials so far, one row a round, and what they prove."""

    theta: FloatArray
    y0: FloatArray | None
    value: float = -np.inf


@dataclass(frozen=True)
class _Stage:
    """Temperatures, from one to another, on a timeline."""

    times: Timeline
    hot: float
    cold: float


def stages_of(instance: CountInstance) -> Iterator[_Stage]:
    """Blocks of rounds first, then every round; then hot restarts."""
    fine = timeline(instance.length, instance.has_tail)
    coarse = timeline(instance.length, instance.has_tail, COARSE)
    warm = HOT
    if coarse.rows < fine.rows:
        warm = HOT * COOLING
        yield _Stage(coarse, HOT, warm)
    yield _Stage(fine, warm, COLD)
    while True:
        yield _Stage(fine, HOT, COLD)


def solve_general_dual(
    instance: CountInstance,
    loss: float,
    time_limit: float = 20.0,
    max_iterations: int = 10**6,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
    halt: IntArray | None = None,
) -> PotentialBound:
    """Potentials that prove much, found within `time_limit`; `loss` is about what a round costs.

    `halt` (1,) may be set by another thread, and then ends it within a step. Deterministic unless
    the clock ends it.
    """
    began = time.perf_counter()
    fine = timeline(instance.length, instance.has_tail)
    best = _Best(np.zeros((fine.rows, instance.n_tests, 3)), None)
    rounds = _rounds_that_count(instance)
    status, iterations, theta, previous = "converged", 0, best.theta, -np.inf
    ascent, exact = None, Exact.start(instance, fine)

    def over() -> str:
        if (halt is not None and halt[0]) or time.perf_counter() - began > time_limit:
            return "time_limit"
        if iterations >= max_iterations:
            return "iteration_limit"
        return "stopped" if should_stop is not None and should_stop() else ""

    for stage in stages_of(instance):
        times, temp, damping = stage.times, stage.hot, 0.1
        if ascent is None or ascent.times.rows != times.rows:
            ascent, exact = Ascent.start(instance, times, halt), Exact.start(instance, times)
            theta = theta[np.searchsorted(times.row, np.arange(times.rows))]
        while temp >= 0.99 * stage.cold and status == "converged":
            for _ in range(STEPS):
                status = over() or status
                if status != "converged":
                    break
                theta, slope, damping = ascend(ascent, theta, temp * loss, damping)
                iterations += 1
                if slope < 0.1 * temp * loss * rounds:
                    break
            exact.y0[:] = ascent.y0
            minima, _ = exact.minima(theta, loss * temp * np.array([0.1]))
            value = constants(instance, times, theta, minima)[0] + start_value(instance, theta)
            if value > best.value:
                best.value, best.theta = value, theta[times.row]
                best.y0 = exact.y0[times.piece[: fine.now.size]]
            if progress is not None:
                progress("dual", iterations, best.value)
            temp *= COOLING
        theta = theta[times.row]
        # A cooled run can stall short of the optimum of this concave problem, so "converged" is
        # only said after a whole cycle from a hot restart has brought next to nothing.
        gained = best.value - previous
        if status != "converged" or (
            stage.cold == COLD and gained < RESTART_GAIN * abs(best.value)
        ):
            break
        previous = best.value
    exact = Exact.start(instance, fine)
    if best.y0 is not None:
        exact.y0[:] = best.y0
    return certify(instance, best.theta, exact, loss, status, iterations)
