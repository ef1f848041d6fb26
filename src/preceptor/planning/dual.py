"""A dual bound over counts, and the ascent that raises it.

Every dual results in potentials of the counts, phi_t(m) = sum_i theta[t, i] . basis[i, m_i]. If g_t
bounds every round's cost plus delta phi_{t+1} afterwards less phi_t before, then going on from
counts m in round t costs at least phi_t(m) + C_t with C_t = min(g_t + delta C_{t+1}, stopping - max
phi_t). A `Timeline` lets potentials stand still over blocks of rounds; then all inner rounds of a
block are one piece, over the counts that its last round can have.

A dual bound is a sum over rounds of minima over sets and states, concave in its multipliers, and a
round only meets its own multipliers and the next ones: the Hessian is block tridiagonal, so one
banded Cholesky solves a Newton step for all rounds at once. Minima are replaced by soft minima,
whose temperature is lowered in steps. `conduct` runs this for a `Dual`, which defines rounds and
multipliers (`error_dual`, `count_dual`). The resulting bound never uses the smoothing.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from preceptor._base.parallel import in_threads
from preceptor._base.progress import counted_seconds
from preceptor._base.values import FloatArray, IntArray
from preceptor.planning.anytime import Stop
from preceptor.planning.dual_instances import CountInstance

# Stands for infinitely many showings.
FOREVER = 2**40
# Relative rounding error of a sum.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Timeline:
    """Which row of potentials each round has, and the pieces into which rounds fall.

    row (T+1,) of each round, piece (T+1,) of each round but the end of a finite horizon;
    now, later, reach (pieces,): rows before and after, and how often a test can have been shown;
    row_reach (rows,) the same for rows.
    """

    row: IntArray
    piece: IntArray
    now: IntArray
    later: IntArray
    reach: IntArray
    row_reach: IntArray

    @property
    def rows(self) -> int:
        """Rows of potentials, the last of them the tail or the end."""
        return int(self.row_reach.size)

    @property
    def length(self) -> int:
        """Rounds before the tail or the end, T."""
        return int(self.row.size) - 1

    @property
    def has_tail(self) -> bool:
        """Whether the last row repeats forever."""
        return bool(self.row_reach[-1] == FOREVER)

    @property
    def rounds(self) -> int:
        """Rounds that are bounded, the tail being one of them."""
        return self.length + int(self.has_tail)


def timeline(length: int, has_tail: bool, coarseness: int = 0) -> Timeline:
    """Every round by itself, or blocks of about t / coarseness rounds."""
    starts, t = [0], 0
    while t < length:
        t = min(t + max(1, t // coarseness if coarseness else 1), length)
        starts.append(t)
    row = np.zeros(length + 1, dtype=np.int64)
    piece = np.zeros(length + 1, dtype=np.int64)
    pieces: list[tuple[int, int, int]] = []
    for b, start in enumerate(starts[:-1]):
        last = starts[b + 1] - 1
        row[start : last + 1] = b
        if last > start:
            piece[start:last] = len(pieces)
            pieces.append((b, b, last - 1))
        piece[last] = len(pieces)
        pieces.append((b, b + 1, last))
    end = len(starts) - 1
    row[length] = end
    if has_tail:
        piece[length] = len(pieces)
        pieces.append((end, end, FOREVER))
    row_reach = [starts[b + 1] - 1 for b in range(end)] + [FOREVER if has_tail else length]
    now, later, reach = np.array(pieces, dtype=np.int64).T.copy()
    return Timeline(row, piece, now, later, reach, np.array(row_reach, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class DualBound:
    """Potentials theta (T+1, n, 3) and constants (T+1,) that prove `value`.

    minima (T or T+1,) are the certified g_t. Counts are read as no more than `caps` (n,).
    """

    instance: CountInstance
    theta: FloatArray
    caps: IntArray
    constants: FloatArray
    minima: FloatArray
    status: str = "converged"
    iterations: int = 0

    @property
    def length(self) -> int:
        """Rounds with potentials of their own, T."""
        return len(self.constants) - 1

    @property
    def value(self) -> float:
        """The lower bound on the cost of every plan."""
        return float(self.constants[0] + (self.theta[0] * self.instance.basis[:, 0]).sum())

    def potential(self, t: int) -> FloatArray:
        """(n, counts) contribution of test i after m showings to phi_t."""
        return np.asarray(np.einsum("imc,ic->im", self.instance.basis, self.theta[t]))


def constants(instance: CountInstance, minima: FloatArray, stop: FloatArray | None) -> FloatArray:
    """C_t (T+1,) of the telescoping sum, from certified minima (rounds,).

    stop (T+1,) is the slack of stopping in each round, where that is allowed.
    """
    length, discount = instance.length, instance.discount
    C = np.zeros(length + 1)
    for t in range(minima.size - 1, -1, -1):
        C[t] = minima[t] / (1.0 - discount) if t == length else minima[t] + discount * C[t + 1]
        if stop is not None:
            C[t] = min(C[t], stop[t])
    return C


Progress = Callable[[str, int, float], None]

# Rounds that one thread takes at a time.
ROUNDS_A_PIECE = 16
# Newton steps at one temperature, at most.
_STEPS = 40
# A cycle from a hot restart is the last one if it gains less than the first share, or closes less
# than the second share of the gap: a beam closes it sooner.
_RESTART_GAIN, _RESTART_SHARE = 1e-4, 0.05


@dataclass(frozen=True)
class CoolingStage:
    """Temperatures from `hot` to `cold`, in losses of a round, each `cooling` times the last.

    `may_be_last` says whether a negligible gain in this stage means convergence.
    """

    hot: float
    cold: float
    cooling: float
    damping: float
    may_be_last: bool = True


@dataclass(frozen=True, eq=False)
class ProvenMultipliers:
    """Multipliers, certified minima of all rounds, the bound they prove, and the time taken."""

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


class Dual(ABC):
    """A smoothed dual and where its ascent is.

    A round costs about `loss`, the best plan so far `goal`. Another thread may set `halt` (1,):
    passes then end and prove nothing more. `proves_each_step` says whether proving is cheap enough
    to do after every step.
    """

    proves_each_step: bool
    loss: float
    goal: float = np.inf

    def __init__(self, instance: CountInstance, halt: IntArray | None) -> None:
        self.instance = instance
        self.halt = np.zeros(1, dtype=np.int64) if halt is None else halt

    @abstractmethod
    def begin(self, number: int, best: ProvenMultipliers | None) -> CoolingStage:
        """Prepare a stage; `best` is the best result of the stages before it."""

    @abstractmethod
    def step(self, temp: float, damping: float) -> tuple[float, float]:
        """Take one damped Newton step; return the predicted gain and the next damping."""

    @abstractmethod
    def prove(self, temp: float) -> ProvenMultipliers:
        """The bound proven by the current multipliers, about as exact as the temperature."""

    @abstractmethod
    def certify(self, best: ProvenMultipliers, status: str, iterations: int) -> DualBound:
        """The bound of the best multipliers, over every set and every count."""


def conduct(
    dual: Dual,
    time_limit: float = 20.0,
    max_iterations: int = 10**6,
    progress: Progress | None = None,
    should_stop: Stop | None = None,
) -> DualBound:
    """Lower the temperature, with repeated hot restarts, until the gain is negligible.

    If `halt` is set, the ascent ends within a pass; the bound is then that of earlier passes, or
    -inf if there was none. Deterministic unless the clock ends it.
    """
    loss, goal, rounds = dual.loss, dual.goal, rounds_that_count(dual.instance)
    began = counted_seconds()
    best: ProvenMultipliers | None = None
    status, iterations, spare, previous = "converged", 0, 0.0, -np.inf

    def over() -> str:
        late = counted_seconds() - began > time_limit - spare
        if late or dual.halt[0]:
            return "time_limit"
        if iterations >= max_iterations:
            return "iteration_limit"
        return "stopped" if should_stop is not None and should_stop() else ""

    def prove(temp: float) -> None:
        nonlocal best, spare
        found = dual.prove(temp)
        # The certifying pass at the end takes about twice as long as one on the way.
        spare = 2.0 * found.seconds
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
                # A temperature is finished once a step predicts a gain of less than a tenth of it
                # per round.
                if gain < 0.1 * temp * loss * rounds:
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


def rounds_that_count(instance: CountInstance) -> float:
    """Discounted number of rounds."""
    length, discount = instance.length, instance.discount
    return min(length, 1.0 / (1.0 - discount) if discount < 1.0 else length)


def add_up(
    times: Timeline, discount: float, soft: FloatArray, stop: FloatArray | None, heat: float
) -> tuple[float, FloatArray, FloatArray]:
    """Soft C_0, with the weight of each piece in it and of stopping in each row.

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
    from preceptor.planning._dual_kernels import fill_banded

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
