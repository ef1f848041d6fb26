"""One way up for every dual: Newton steps on a smoothed dual that is cooled step by step.

A dual bound is a sum over rounds of minima over sets and states, concave in its multipliers, and a
round only meets its own multipliers and the next ones: the Hessian is block tridiagonal, so one
banded Cholesky solves a Newton step for all rounds at once. Minima are replaced by soft minima of a
temperature that falls. `conduct` leads a `Dual` through that; what a round costs, and what its
multipliers are, is for the dual to know (`error_dual`, `count_dual`). The bound that comes out
never uses the smoothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from preceptor._base.deadline import counted_seconds
from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.bound import DualBound, Timeline

Progress = Callable[[str, int, float], None]
Stop = Callable[[], bool]

# Rounds that one thread takes at a time.
ROUNDS_A_PIECE = 16
# Newton steps at one temperature, at most.
_STEPS = 40
# A temperature has been used up once a step predicts a gain below this share of it, per round.
_CALM = 0.2
# A whole cycle from a hot restart that brings less than this share is the last one, and so is one
# that closes less than that share of the gap: a beam closes it sooner.
_RESTART_GAIN, _RESTART_SHARE = 1e-4, 0.05
# The certifying pass at the end takes about this many times as long as one on the way.
_SPARE = 2.0


@dataclass(frozen=True)
class Stage:
    """Temperatures from `hot` to `cold`, in losses of a round, each `cooling` times the last.

    `may_be_last` says whether hardly any gain in it means that there is no more to be had.
    """

    hot: float
    cold: float
    cooling: float
    damping: float
    may_be_last: bool = True


@dataclass(frozen=True, eq=False)
class Proven:
    """Multipliers, certified minima of all rounds there, what they prove, how long it took."""

    theta: FloatArray
    minima: FloatArray
    value: float
    seconds: float


@dataclass(eq=False)
class Smooth:
    """One evaluation of a smoothed dual: value, gradient (rows, m), negative Hessian blocks.

    Only lower triangles of `diagonal` (rows, m, m) are filled; `below` is (rows - 1, m, m).
    """

    merit: float
    gradient: FloatArray
    diagonal: FloatArray
    below: FloatArray


class Dual(Protocol):
    """A smoothed dual and where its ascent is."""

    @property
    def proves_each_step(self) -> bool:
        """Whether proving is cheap enough to be done after every step."""

    def begin(self, number: int, best: Proven | None) -> Stage:
        """Get ready for a stage; `best` is the best of the stages before it."""

    def step(self, temp: float, damping: float) -> tuple[float, float]:
        """One damped Newton step; gives the gain it predicted and the next damping."""

    def prove(self, temp: float) -> Proven:
        """What the multipliers prove as they are, about as exactly as the temperature."""

    def certify(self, best: Proven, status: str, iterations: int) -> DualBound:
        """The bound of the best multipliers, over every set and every count."""


def conduct(
    dual: Dual,
    loss: float,
    rounds: float,
    goal: float = np.inf,
    time_limit: float = 20.0,
    max_iterations: int = 10**6,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
    halt: IntArray | None = None,
) -> DualBound:
    """Cool the dual down, again and again from hot restarts, until that brings next to nothing.

    A round costs about `loss`, `rounds` of them count, and `goal` is what the best plan so far
    costs, if there is one. `halt` (1,) may be set by another thread, and then ends it within a
    pass: what passes before it proved stands, and nothing (-inf) if there was none. Deterministic
    unless the clock ends it.
    """
    began = counted_seconds()
    best: Proven | None = None
    status, iterations, spare, previous = "converged", 0, 0.0, -np.inf

    def over() -> str:
        late = counted_seconds() - began > time_limit - spare
        if late or (halt is not None and halt[0]):
            return "time_limit"
        if iterations >= max_iterations:
            return "iteration_limit"
        return "stopped" if should_stop is not None and should_stop() else ""

    def prove(temp: float) -> None:
        nonlocal best, spare
        found = dual.prove(temp)
        spare = _SPARE * found.seconds
        if best is None or found.value > best.value:
            best = found
        if progress is not None:
            progress("dual", iterations, best.value)

    for number in itertools.count():
        stage = dual.begin(number, best)
        temp, damping = stage.hot, stage.damping
        while temp >= 0.99 * stage.cold and status == "converged":
            for _ in range(_STEPS):
                status = over() or status
                if status != "converged":
                    break
                gain, damping = dual.step(temp * loss, damping)
                iterations += 1
                if dual.proves_each_step:
                    prove(temp * loss)
                if gain < _CALM * temp * loss * rounds:
                    break
            if best is None or not dual.proves_each_step:
                prove(temp * loss)
            temp *= stage.cooling
        assert best is not None
        # A cooled run can stall short of the optimum of this concave problem, so "converged" is
        # only said after a whole cycle from a hot restart has brought next to nothing.
        enough = _RESTART_GAIN * abs(best.value)
        if np.isfinite(goal):
            enough = max(enough, _RESTART_SHARE * (goal - best.value))
        if status != "converged" or (stage.may_be_last and best.value - previous < enough):
            break
        previous = best.value
    assert best is not None
    return dual.certify(best, status, iterations)


def rounds_that_count(length: int, discount: float) -> float:
    """How many rounds there are, as the discount weighs them."""
    return min(length, 1.0 / (1.0 - discount) if discount < 1.0 else length)


def add_up(
    times: Timeline, discount: float, soft: FloatArray, stop: FloatArray | None, heat: float
) -> tuple[float, FloatArray, FloatArray]:
    """Soft C_0; how much each piece weighs in it, and stopping in each row.

    soft (pieces,) are soft minima, stop (T+1,) slacks of stopping in each round, where it is
    allowed to.
    """
    T = times.length
    C, quits = 0.0, np.zeros(T + 1)
    for t in range(T, -1, -1):
        if t == T:
            C = soft[times.piece[T]] / (1.0 - discount) if times.has_tail else 0.0
        else:
            C = soft[times.piece[t]] + discount * C
        if stop is not None and (t < T or times.has_tail):
            gap = (C - stop[t]) / heat
            quits[t] = 1.0 / (1.0 + np.exp(-min(max(gap, -700.0), 700.0)))
            C -= heat * (max(gap, 0.0) + np.log1p(np.exp(-abs(gap))))
    reach = np.concatenate([[1.0], np.cumprod(discount * (1.0 - quits[:T]))])
    going = reach * (1.0 - quits)
    if times.has_tail:
        going[T] /= 1.0 - discount
    weight, stops = np.zeros(soft.size), np.zeros(times.rows)
    np.add.at(weight, times.piece[: times.rounds], going[: times.rounds])
    np.add.at(stops, times.row, reach * quits)
    return float(C), weight, stops


def assembled(
    times: Timeline,
    merit: float,
    weight: FloatArray,
    grad: FloatArray,
    hess: FloatArray,
    stops: FloatArray,
    stop_grad: FloatArray | None,
    stop_curve: FloatArray | None,
    place: IntArray,
) -> Smooth:
    """Gradient and Hessian over all rows from those of pieces and of stopping.

    grad (pieces, 2m) and hess (pieces, 2m, 2m) are in the multipliers before and after a piece,
    stop_grad (rows, m) and stop_curve (rows, n, 3, 3) in those of a row; place (n, 3) says where
    the multipliers of a test are among the m.
    """
    rows, m = times.rows, grad.shape[1] // 2
    gradient = np.zeros((rows, m)) if stop_grad is None else stops[:, None] * stop_grad
    diagonal, below = np.zeros((rows, m, m)), np.zeros((rows - 1, m, m))
    for p, (now, later) in enumerate(zip(times.now, times.later, strict=True)):
        gradient[now] += weight[p] * grad[p, :m]
        gradient[later] += weight[p] * grad[p, m:]
        curve = weight[p] * hess[p]
        mixed = curve[m:, :m]
        diagonal[now] += curve[:m, :m]
        diagonal[later] += curve[m:, m:]
        if now == later:
            diagonal[now] += mixed + mixed.T
        else:
            below[now] += mixed
    if stop_curve is not None:
        for a in range(3):
            for b in range(a + 1):
                diagonal[:, place[:, a], place[:, b]] += stops[:, None] * stop_curve[:, :, a, b]
    return Smooth(merit, gradient, diagonal, below)


def newton_direction(
    smooth: Smooth, free: NDArray[np.bool_], damping: float, ridge: FloatArray
) -> FloatArray | None:
    """Solve (negative Hessian + damping) step = gradient; None if that is not positive definite.

    free (rows, m) marks the multipliers that may move; ridge (rows,) is the curvature added where
    there is none.
    """
    from preceptor.engine._dual_kernels import fill_banded

    count, m = smooth.gradient.shape[0] - 1, smooth.gradient.shape[1]
    banded = np.empty((count * m, 2 * m))
    blocks = (smooth.diagonal[1:], smooth.below[1:], free[1:], damping, ridge[1:], banded)
    in_threads(lambda part: fill_banded(part.start, part.stop, *blocks), count, ROUNDS_A_PIECE)
    try:
        factor = cholesky_banded(banded.T, lower=True, overwrite_ab=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    right = (smooth.gradient[1:] * free[1:]).ravel()
    step = np.zeros_like(smooth.gradient)
    step[1:] = cho_solve_banded((factor, True), right, check_finite=False).reshape(count, m)
    return step if np.all(np.isfinite(step)) else None
