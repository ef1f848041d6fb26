"""A dual bound proven again by scanning every count, in NumPy, from the problem alone.

Potentials p and constants C bound the cost of going on if no round undercuts its minimum g_t:

    L_S(m) + δ φ_{t+1}(m + 1_S) - φ_t(m) >= g_t    for every set S and all counts m possible in t.

The loss is convex in the deviation y = shift + D e, so a plane q'y that touches it at any y0 lies
below it. With that plane in place of the loss the sum falls apart into tests, and each test's part
is the least of finitely many numbers: one for each count, and one for each end of where its error
may lie. So h_S(y0), the sum of these, is a lower bound for every y0, and a poor y0 can only make
the check fail. Good ones are sought here (`tangents.py`), for as long as a round falls short of
what is claimed of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.verification.own_losses import OwnLosses
from preceptor.verification.potentials import Points, Potentials
from preceptor.verification.tangents import Open, climb

_EPS = float(np.finfo(np.float64).eps)
# Additions and products in one number h, each of which may be off by a half of eps.
_OPERATIONS = 16.0
# Sets per round that get better tangents at a time, and how often; how often each set does.
_AT_A_TIME, _PASSES, _PATIENCE = 6, 60, 3
# Numbers in a batch of rounds whose planes are improved together.
_NUMBERS = 1_000_000


@dataclass(frozen=True, eq=False)
class DualProof:
    """What potentials prove: g (rounds,), C (T + 1,), the bound, and over what that was checked."""

    minima: FloatArray
    constants: FloatArray
    value: float
    rounds: int
    sets: int
    places: int

    def in_words(self) -> str:
        """What was scanned."""
        return (
            f"inequality of every round, set and count checked again: {self.rounds:,} rounds x "
            f"{self.sets:,} sets, {self.places:,} counts and ends"
        )


def prove(
    potentials: Potentials,
    losses: OwnLosses,
    claimed: FloatArray,
    path: FloatArray | None = None,
) -> DualProof:
    """The bound that the potentials prove.

    Parameters
    ----------
    potentials
        What the certificate says.
    losses
        Of the problem, worked out for the checkers.
    claimed
        The minimum that is claimed of each round, shape (rounds,): enough is enough.
    path
        Errors of somebody for whom things go as planned, shape (rounds, n): other places to touch.

    Returns
    -------
    DualProof
        Of whatever was proven in the end.
    """
    work = _Rounds(potentials, losses, path)
    for _ in range(_PASSES):
        if not work.improve(claimed):
            break
    return work.proof()


class _Rounds:
    """The largest h found for every round and set, the deviations at which, and what is open."""

    def __init__(self, potentials: Potentials, losses: OwnLosses, path: FloatArray | None) -> None:
        self.potentials, self.losses = potentials, losses
        self.endless = losses.problem.horizon is None
        self.rounds = potentials.length + self.endless
        self.active = np.arange(len(losses.sets))
        if losses.waiting_row is not None:
            self.active = np.delete(self.active, losses.waiting_row)
        shape = (self.rounds, self.active.size, losses.shift.shape[1])
        self.tangent = np.zeros(shape)
        self.proven = np.full(shape[:2], -np.inf)
        self.climbed = np.zeros(shape[:2], dtype=np.int64)
        self.places = 0
        for t in range(self.rounds):
            points = potentials.points(t)
            self.places += int(np.isfinite(points.hidden).sum())
            self._try(t, points, self._deviations(_middle(points)))
            if path is not None:
                self._try(t, points, self._deviations(path[min(t, len(path) - 1)]))

    def _deviations(self, errors: FloatArray) -> FloatArray:
        """(sets, widest) of somebody with these errors (n,)."""
        rows = self.active
        return np.asarray(self.losses.shift[rows] + self.losses.reading[rows] @ errors)

    def _try(
        self, t: int, points: Points, tangent: FloatArray, which: IntArray | None = None
    ) -> None:
        """Keep these planes of the sets `which` (all if left out) where they prove more."""
        chosen = np.arange(self.active.size) if which is None else which
        proven = least_sums(self.losses, points, self.active[chosen], tangent)
        better = proven > self.proven[t, chosen]
        self.tangent[t, chosen[better]] = tangent[better]
        self.proven[t, chosen[better]] = proven[better]

    def improve(self, enough: FloatArray) -> bool:
        """Better planes for the lowest sets of all rounds; False if everything was tried."""
        todo: list[tuple[int, IntArray]] = []
        for t in range(self.rounds):
            lowest = np.argsort(self.proven[t], kind="stable")[:_AT_A_TIME]
            tired = self.climbed[t, lowest] >= _PATIENCE
            short = ~tired & (self.proven[t, lowest] < enough[t])
            if short.any():
                todo.append((t, lowest[short]))
        batch: list[tuple[int, IntArray, Points]] = []
        size = 0
        for t, sets in todo:
            points = self.potentials.points(t)
            batch.append((t, sets, points))
            size = points.error.size * sum(chosen.size for _, chosen, _ in batch)
            if size > _NUMBERS:
                self._climb(batch)
                batch = []
        if batch:
            self._climb(batch)
        return bool(todo)

    def _climb(self, batch: list[tuple[int, IntArray, Points]]) -> None:
        start = np.concatenate([self.tangent[t, sets] for t, sets, _ in batch])
        sought = Open.of(self.losses, [(points, self.active[sets]) for _, sets, points in batch])
        patience = 1 + int(max(self.climbed[t, sets].max() for t, sets, _ in batch))
        found = climb(self.losses, sought, start, patience)
        first = 0
        for t, sets, points in batch:
            self._try(t, points, found[first : first + sets.size], sets)
            self.climbed[t, sets] += 1
            first += sets.size

    def proof(self) -> DualProof:
        """Constants from the last round back to the first."""
        problem, T = self.losses.problem, self.potentials.length
        discount = problem.discount
        minima = self.proven.min(axis=1) - self.losses.slack
        constants = np.zeros(T + 1)
        if self.endless:
            constants[T] = minima[T] / (1.0 - discount)
        for t in range(T, -1, -1):
            if t < T:
                constants[t] = _down(minima[t], discount * constants[t + 1])
            if t < T or self.endless:
                constants[t] = min(constants[t], self._stopping(t))
        start = self.potentials.at(0, np.zeros((problem.size, 1), dtype=np.int64))[:, 0]
        value = _down(float(constants[0]), *start.tolist())
        return DualProof(minima, constants, value, self.rounds, self.active.size, self.places)

    def _stopping(self, t: int) -> float:
        """Showing nothing from round t on, less the largest potential; infinite if not allowed."""
        problem, row = self.losses.problem, self.losses.waiting_row
        if row is None:
            return np.inf
        price = float(self.losses.losses(row, self.losses.first_errors[None, :])[0])
        price -= self.losses.slack
        if problem.horizon is None:
            rounds = 1.0 / (1.0 - problem.discount)
        else:
            rounds = float(sum(problem.discount**s for s in range(problem.horizon - t)))
        return _down(price * rounds, -self.potentials.largest(t))


def least_sums(
    losses: OwnLosses, points: Points, rows: IntArray, tangent: FloatArray
) -> FloatArray:
    """h (sets,) of the sets `rows` with planes that touch at `tangent` (sets, widest)."""
    square = np.sum(tangent * tangent, axis=1)
    plane = losses.pull(rows, square)[:, None] * tangent
    charge = losses.charged(rows, square)
    total = charge + np.sum(plane * (losses.shift[rows] - tangent), axis=1)
    size = np.abs(charge) + np.sum(np.abs(plane) * (np.abs(losses.shift[rows] - tangent)), axis=1)
    pull = np.einsum("sk,skn->sn", plane, losses.reading[rows])
    member = losses.member_of[rows]
    for i in range(losses.problem.size):
        used = np.isfinite(points.hidden[i])
        error = points.error[i, used]
        largest = float(np.abs(error).max())
        for table, chosen in (
            (points.hidden[i, used], ~member[:, i]),
            (points.shown[i, used], member[:, i]),
        ):
            if chosen.any():
                total[chosen] += np.min(pull[chosen, i, None] * error + table, axis=1)
                size[chosen] += np.abs(pull[chosen, i]) * largest + float(np.abs(table).max())
    return np.asarray(total - _OPERATIONS * _EPS * size)


def _middle(points: Points) -> FloatArray:
    """Errors (n,) in the middle of where they may be."""
    possible = np.where(np.isfinite(points.hidden), points.error, np.nan)
    return np.asarray(0.5 * (np.nanmin(possible, axis=1) + np.nanmax(possible, axis=1)))


def _down(*terms: float) -> float:
    """A sum that is not above the true one."""
    return float(sum(terms)) - 2.0 * len(terms) * _EPS * float(sum(abs(term) for term in terms))
