"""The dual over counts: potentials for any curve, any imputation and any convex risk.

Minima over sets and counts are soft at a temperature. A soft minimum is nearly flat but for kinks a
temperature wide, so curvature is read at a higher one, and steps are damped by how much they change
rounds at all counts, not by how long they are (`bracket_metric`): with the latter, the ascent
stalls at gaps ten times as wide. Potentials first stand still over blocks of rounds. What is
returned has been certified over every set and every count, without any smoothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from preceptor._base.parallel import in_threads
from preceptor._base.progress import counted_seconds
from preceptor._base.values import FloatArray, IntArray
from preceptor.planning.dual import (
    ROUNDING,
    ROUNDS_A_PIECE,
    CoolingStage,
    Dual,
    DualBound,
    ProvenMultipliers,
    Smooth,
    Timeline,
    add_up,
    assembled,
    constants,
    newton_direction,
    rounds_that_count,
    timeline,
)
from preceptor.planning.dual_instances import CountInstance

# Temperatures, in losses of a round: the first, the last, and what one is times the one before.
HOT, COLD, COOLING = 1e-2, 2e-5, 0.25
# Potentials first stand still over blocks of t / COARSE rounds, a quarter of the work.
COARSE = 15
# With more sets in more pieces than this, potentials stay the same over blocks of rounds.
FINE_WORK = 1_000_000
# Curvature is taken at this multiple of the temperature.
WIDE = 3.0
# Larger families are listed in part: a maximum number of sets per piece, a quarter of them to begin
# with, and new ones each time that all sets are checked.
FEW_SETS, MOST_LISTED, ADMITTED = 500, 240, 20


class CountDual(Dual):
    """A `Dual` over counts; theta (rows, n, 3) has a row for each row of the stage's timeline."""

    proves_each_step = False

    def __init__(
        self,
        instance: CountInstance,
        loss: float,
        goal: float = np.inf,
        halt: IntArray | None = None,
    ) -> None:
        super().__init__(instance, halt)
        self.loss, self.goal = loss, goal
        few = (instance.length + 1) * instance.actions.size <= FINE_WORK
        coarse = timeline(instance.length, instance.has_tail, COARSE)
        fine = timeline(instance.length, instance.has_tail, 0 if few else COARSE)
        self.timelines = [coarse, fine] if coarse.rows < fine.rows else [fine]
        self.smoothed = SmoothedDual(instance, self.timelines[0], self.halt)
        self.theta = np.zeros((self.timelines[0].rows, instance.n_tests, 3))

    def begin(self, number: int, best: ProvenMultipliers | None) -> CoolingStage:
        """Blocks of rounds first, then every round; then hot restarts."""
        last = len(self.timelines) - 1
        times = self.timelines[min(number, last)]
        if best is not None:
            self.theta = best.theta[np.searchsorted(times.row, np.arange(times.rows))]
            if self.smoothed.times is not times:
                self.smoothed = SmoothedDual(self.instance, times, self.halt)
        cold = COLD if number >= last else HOT * COOLING
        hot = HOT * COOLING if number == last == 1 else HOT
        self.smoothed.admit(self.theta, hot * self.loss)
        return CoolingStage(hot, cold, COOLING, damping=0.1, may_be_last=number >= last)

    def step(self, temp: float, damping: float) -> tuple[float, float]:
        """A step damped by what it changes in all rounds."""
        dual, theta, instance = self.smoothed, self.theta, self.instance
        smooth = dual.evaluate(theta, temp, second=True)
        free = np.tile(np.repeat(instance.moving, 3), (dual.times.rows, 1))
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
                merit = dual.evaluate(trial, temp).merit
                if self.halt[0]:
                    return predicted, damping
                share = (merit - smooth.merit) / (size * slope) if slope > 0.0 else -1.0
                if share > 0.05:
                    if size < 1.0 or share < 0.15:
                        damping *= 4.0
                    elif share > 0.4:
                        damping = max(0.25 * damping, 1e-6)
                    self.theta = trial
                    return predicted, damping
            damping *= 8.0
        return predicted, damping

    def prove(self, temp: float) -> ProvenMultipliers:
        """Every set and every count once, with tangents that are improved where they decide."""
        dual, times = self.smoothed, self.smoothed.times
        began = counted_seconds()
        dual.keep_tangents()
        minima, _ = dual.exact.minima(self.theta, temp * np.array([0.1]), halt=self.halt)
        theta, minima = self.theta[times.row], minima[times.piece[: times.rounds]]
        value = float(self._constants(theta, minima)[0] + start_value(self.instance, theta))
        return ProvenMultipliers(theta, minima, value, counted_seconds() - began)

    def _constants(self, theta: FloatArray, minima: FloatArray) -> FloatArray:
        instance = self.instance
        stop = stopping(instance, timeline(instance.length, instance.has_tail), theta)
        return constants(instance, minima, stop)

    def certify(self, best: ProvenMultipliers, status: str, iterations: int) -> DualBound:
        """One more pass with tangents as good as they get; the larger of both minima counts."""
        exact, times = self.smoothed.exact, self.smoothed.times
        self.smoothed.keep_tangents()
        theta = best.theta[np.searchsorted(times.row, np.arange(times.rows))]
        cool = self.loss * np.array([1e-4, 1e-5, 1e-6, 1e-8])
        again, _ = exact.minima(theta, cool, halt=self.halt)
        minima = np.maximum(again[times.piece[: times.rounds]], best.minima)
        minima, caps = minima - ROUNDING * self.loss, self.instance.caps
        C = self._constants(best.theta, minima)
        return DualBound(self.instance, best.theta, caps, C, minima, status, iterations)


class SmoothedDual:
    """A smoothed dual on one timeline, over sets that are listed in every piece."""

    def __init__(self, instance: CountInstance, times: Timeline, halt: IntArray) -> None:
        """Every set listed in every piece, or none yet where there are many."""
        pieces, actions = times.now.size, instance.actions
        self.instance, self.times = instance, times
        # Set by another thread when it is time to stop: later evaluations are invalid.
        self.halt = halt
        self.all_listed = actions.size <= FEW_SETS
        room = actions.size if self.all_listed else MOST_LISTED
        self.lists = np.tile(actions[:room], (pieces, 1))
        self.sizes = np.full(pieces, room if self.all_listed else 0, dtype=np.int64)
        self.best = np.zeros(pieces, dtype=np.int64)
        # All sets, listed or not, with tangent points of their own.
        self.exact = Exact(instance, times)
        self.y0 = self.exact.y0[:, :room].copy()
        self.grid = thin_counts(int(instance.caps.max()))
        self.metric = bracket_metric(instance, times, self.grid)

    def admit(self, theta: FloatArray, temp: float) -> None:
        """Add the sets with the smallest values at theta in each piece to those listed.

        A step that considers only few sets may violate the others, so every trial point is checked
        against all of them first.
        """
        if self.all_listed:
            return
        self.keep_tangents()
        _, values = self.exact.minima(theta, np.array([0.1 * temp]), ADMITTED, self.grid, self.halt)
        if self.halt[0]:
            return
        actions = self.instance.actions
        for p, value in enumerate(values):
            size = int(self.sizes[p])
            wanted = ADMITTED if size else MOST_LISTED // 4
            listed = np.searchsorted(actions, self.lists[p, :size])
            few = np.argpartition(value, wanted)[:wanted]
            new = np.setdiff1d(few, listed)
            if size + new.size > MOST_LISTED:  # those that object least make room
                order = np.argsort(value[listed], kind="stable")
                listed = listed[order[: MOST_LISTED - new.size]]
            places = np.concatenate([listed, new])
            self.sizes[p] = places.size
            self.lists[p, : places.size] = actions[places]
            self.y0[p, : places.size] = self.exact.y0[p, places]

    def keep_tangents(self) -> None:
        """Take tangent points of listed sets over to where those of all sets are kept."""
        for p, size in enumerate(self.sizes):
            places = np.searchsorted(self.instance.actions, self.lists[p, :size])
            self.exact.y0[p, places] = self.y0[p, :size]

    def evaluate(self, theta: FloatArray, temp: float, *, second: bool = False) -> Smooth:
        """Smoothed dual at theta (rows, n, 3), with derivatives if `second`."""
        from preceptor.planning._count_dual_kernels import soft_pieces

        instance, times = self.instance, self.times
        R, n = times.now.size, instance.n_tests
        soft, grad = np.zeros(R), np.zeros((R, 6 * n))
        hess = np.zeros((R, 6 * n, 6 * n)) if second else np.empty((R, 1, 1))
        arguments = (
            times.now, times.later, times.reach, theta, instance.count_arrays, self.grid,
            instance.discount, instance.loss_arrays, self.lists, self.sizes, temp, WIDE, second,
            self.y0, soft, self.best, grad, hess, self.halt,
        )  # fmt: skip
        in_threads(lambda part: soft_pieces(part.start, part.stop, *arguments), R, ROUNDS_A_PIECE)
        heat = temp * rounds_that_count(instance)
        grad_stop = np.zeros((times.rows, 3 * n)) if second else None
        curve_stop = np.zeros((times.rows, n, 3, 3)) if second else None
        stop = stopping(instance, times, theta, self.grid, heat, grad_stop, curve_stop)
        value, weight, stops = add_up(times, instance.discount, soft, stop, heat)
        merit = value + start_value(instance, theta)
        if not second:
            return Smooth(merit, grad, hess, hess)
        place = np.arange(3 * n).reshape(n, 3)
        return assembled(times, merit, weight, grad, hess, stops, grad_stop, curve_stop, place)


class Exact:
    """Minima over all sets and all counts; tangent points are kept from one pass to the next."""

    def __init__(self, instance: CountInstance, times: Timeline) -> None:
        """Every set read with the errors of the start: y0 is (pieces, actions, rows)."""
        self.instance, self.times = instance, times
        first = (instance.shift + instance.reading @ instance.errors[:, 0])[instance.actions]
        self.y0 = np.broadcast_to(first, (times.now.size, *first.shape)).copy()

    def minima(
        self,
        theta: FloatArray,
        cool: FloatArray,
        most: int | None = None,
        counts: IntArray | None = None,
        halt: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Certified minima (pieces,) and bounds of single sets (pieces, actions).

        Tangents are improved for `most` sets a piece, or until the least cannot be raised. With
        `counts` only those are looked at, and nothing is certified. Minima are -inf for pieces
        that were not done when `halt` was set.
        """
        from preceptor.planning._count_dual_kernels import exact_pieces

        instance, times = self.instance, self.times
        pieces = times.now.size
        values, least = np.empty((pieces, instance.actions.size)), np.empty(pieces)
        every = instance.every_count if counts is None else counts
        arguments = (
            times.now, times.later, times.reach, theta, instance.count_arrays, every,
            instance.discount, instance.loss_arrays, instance.actions, cool,
            instance.actions.size if most is None else most, self.y0, values, least,
            np.zeros(1, dtype=np.int64) if halt is None else halt,
        )  # fmt: skip
        in_threads(
            lambda part: exact_pieces(part.start, part.stop, *arguments), pieces, ROUNDS_A_PIECE
        )
        return least, values


def stopping(
    instance: CountInstance,
    times: Timeline,
    theta: FloatArray,
    counts: IntArray | None = None,
    heat: float = 0.0,
    grad: FloatArray | None = None,
    curve: FloatArray | None = None,
) -> FloatArray | None:
    """Slack of showing nothing from each round on (T+1,); None where something must be shown.

    That is its cost less the largest potential of the row's counts, or with `heat` a soft maximum
    over `counts`; then derivatives of its negative go to grad (rows, 3n) and curve (rows, n, 3, 3).
    """
    if instance.empty_set < 0:
        return None
    counts = instance.every_count if counts is None else counts
    largest = np.zeros(times.rows)
    for i, cap in enumerate(instance.caps):
        last = np.minimum(times.row_reach, cap)
        below = counts[counts < last.max()]
        psi, psi_last = instance.basis[i, below], instance.basis[i, last]
        phi = theta[:, i] @ psi.T
        phi[below >= last[:, None]] = -np.inf
        phi_last = (theta[:, i] * psi_last).sum(axis=1)
        most = np.maximum(phi.max(axis=1, initial=-np.inf), phi_last)
        largest += most
        if not heat:
            continue
        wide = np.exp((phi - most[:, None]) / (WIDE * heat))
        wide_last = np.exp((phi_last - most) / (WIDE * heat))
        narrow, narrow_last = wide * wide * wide, wide_last**WIDE  # cubes cost less than exp
        total = narrow.sum(axis=1) + narrow_last
        largest += heat * np.log(total)
        if grad is None or curve is None:
            continue
        mean = (narrow @ psi + narrow_last[:, None] * psi_last) / total[:, None]
        grad[:, 3 * i : 3 * i + 3] = -mean
        total = wide.sum(axis=1) + wide_last
        mean = (wide @ psi + wide_last[:, None] * psi_last) / total[:, None]
        squares = (wide @ (psi[:, :, None] * psi[:, None]).reshape(-1, 9)).reshape(-1, 3, 3)
        squares += wide_last[:, None, None] * psi_last[:, :, None] * psi_last[:, None]
        spread = squares / total[:, None, None] - mean[:, :, None] * mean[:, None]
        curve[:, i] = spread / (WIDE * heat)
    cost = np.array([instance.stop_cost(t) for t in range(instance.length + 1)])
    return np.asarray(cost - largest[times.row])


def start_value(instance: CountInstance, theta: FloatArray) -> float:
    """phi_0 where nothing has been shown."""
    return float((theta[0] * instance.basis[:, 0]).sum())


def thin_counts(most: int) -> IntArray:
    """0, 1, 2, ... and then about `APART` apart, below `most`."""
    counts = [0]
    while counts[-1] < most:
        # The ascent looks at counts 6% apart; certificates use every count.
        counts.append(counts[-1] + max(1, round(0.06 * counts[-1])))
    return np.array(counts[:-1] or [0], dtype=np.int64)


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
