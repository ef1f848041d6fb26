"""The general dual smoothed: value, slope and curvature, over sets that are listed in every piece.

Minima over sets and counts are soft at a temperature, and what is evaluated here proves nothing:
`potentials` certifies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.counted import CountInstance
from preceptor.engine.newton import Smooth
from preceptor.engine.potentials import PIECES_A_THREAD, Exact, Timeline, start_value

# Curvature is read at so many temperatures.
WIDE = 3.0
# Families larger than this are listed in part: so many sets in every piece to begin with, at most
# so many ever, and so many new ones each time that all of them are looked through.
FEW_SETS, LISTED, MOST_LISTED, ADMITTED = 500, 60, 240, 20
# Counts that the ascent looks at lie this far apart, as a share; certificates use every count.
APART = 0.06


@dataclass(eq=False)
class SmoothedDual:
    """A smoothed dual on one timeline, and what it keeps from one evaluation to the next."""

    instance: CountInstance
    times: Timeline
    lists: IntArray
    sizes: IntArray
    best: IntArray
    y0: FloatArray
    # All sets, listed or not, with tangent points of their own.
    exact: Exact
    grid: IntArray
    stop_cost: FloatArray
    metric: tuple[FloatArray, FloatArray]
    # Set by another thread when it is time to stop: what is evaluated then means nothing.
    halt: IntArray

    @classmethod
    def start(cls, instance: CountInstance, times: Timeline, halt: IntArray | None) -> SmoothedDual:
        """Every set listed in every piece, or none yet where there are many."""
        pieces, actions = times.now.size, instance.actions
        all_listed = actions.size <= FEW_SETS
        room = actions.size if all_listed else MOST_LISTED
        grid, exact = thin_counts(int(instance.caps.max())), Exact.start(instance, times)
        return cls(
            instance,
            times,
            np.tile(actions[:room], (pieces, 1)),
            np.full(pieces, room if all_listed else 0, dtype=np.int64),
            np.zeros(pieces, dtype=np.int64),
            exact.y0[:, :room].copy(),
            exact,
            grid,
            np.array([instance.stop_cost(t) for t in range(instance.length + 1)]),
            bracket_metric(instance, times, grid),
            np.zeros(1, dtype=np.int64) if halt is None else halt,
        )

    @property
    def all_listed(self) -> bool:
        """Whether no set can be missing from a list."""
        return bool(self.lists.shape[1] == self.instance.actions.size)

    def admit(self, theta: FloatArray, temp: float) -> None:
        """List the sets that are least at theta in each piece, besides those that are listed.

        A step that only looks at few sets goes where others object to it; so every point that is
        tried is shown to all of them first.
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
            wanted = ADMITTED if size else LISTED
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
        heat = temp * rounds_that_count(instance)
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
            arguments = (
                times.row_reach, theta, *instance.count_arrays, self.grid, heat, WIDE, value, grad,
                curve,
            )  # fmt: skip
            in_threads(
                lambda part: stop_rows(part.start, part.stop, *arguments), rows, PIECES_A_THREAD
            )
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


def rounds_that_count(instance: CountInstance) -> float:
    """How many rounds there are, as the discount weighs them."""
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
