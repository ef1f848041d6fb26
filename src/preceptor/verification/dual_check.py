"""A dual bound proven again by scanning every count, in NumPy, from the problem alone.

Potentials p and constants C bound the cost of going on if no round undercuts its minimum g_t:

    L_S(m) + δ φ_{t+1}(m + 1_S) - φ_t(m) >= g_t    for every set S and all counts m possible in t.

The loss is convex in the deviation y = shift + D e, so a plane q'y that touches it at any y0 lies
below it. With that plane in place of the loss the sum falls apart into tests, and each test's part
is the least of finitely many numbers: one for each count, and one for each end of where its error
may lie. So h_S(y0), the sum of these, is a lower bound for every y0, and a poor y0 can only make
the check fail. Good ones are sought here (`tangents.py`), for as long as a round falls short of
what is claimed of it. A beam that such a bound guides is walked again, in plain NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.verification.own_losses import AT_A_TIME, OPERATIONS, OwnLosses
from preceptor.verification.potentials import Points, Potentials
from preceptor.verification.tangents import Open, climb

_EPS = float(np.finfo(np.float64).eps)
# Sets per round that get better tangents at a time, and how often; how often each set does.
_AT_A_TIME, _PASSES, _PATIENCE = 6, 60, 3


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
            if size > AT_A_TIME:
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
        losses, horizon = self.losses, self.losses.problem.horizon
        left = None if horizon is None else horizon - t
        slack = losses.slack * total_weight(losses.problem.discount, left)
        return _down(losses.waiting_cost(left), -slack, -self.potentials.largest(t))


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
    return np.asarray(total - OPERATIONS * _EPS * size)


def _middle(points: Points) -> FloatArray:
    """Errors (n,) in the middle of where they may be."""
    possible = np.where(np.isfinite(points.hidden), points.error, np.nan)
    return np.asarray(0.5 * (np.nanmin(possible, axis=1) + np.nanmax(possible, axis=1)))


def _down(*terms: float) -> float:
    """A sum that is not above the true one."""
    return float(sum(terms)) - 2.0 * len(terms) * _EPS * float(sum(abs(term) for term in terms))


def beam_again(
    proof: DualProof,
    potentials: Potentials,
    losses: OwnLosses,
    value: float,
    width: int,
    layers: int,
) -> float:
    """Lower bound proven by a beam of that width over that many rounds against a plan's value.

    Every schedule is pruned because it costs at least `value`, or passes through a state that was
    dropped for lack of room, or stops, or survives to the last layer; the least bound among these
    holds for all of them. Of equal states the cheapest stands for all; two that are not recognised
    as equal stay apart, which costs room but proves nothing false. Any width and any number of
    layers give a valid bound.
    """
    problem, discount = losses.problem, losses.problem.discount
    active = [row for row in range(len(losses.sets)) if row != losses.waiting_row]
    layers = min(layers, potentials.length)
    errors = losses.errors_after(range(layers + 1))
    settled = _settled_after(losses, layers)
    tests = np.arange(problem.size)
    hashes = np.random.default_rng(0).integers(1, 2**62, problem.size, dtype=np.int64) | 1
    counts = np.zeros((1, problem.size), dtype=np.int64)
    prefix, bounds = np.zeros(1), np.array([proof.value])
    least = np.inf  # of all that was dropped, and of stopping
    for t in range(layers):
        rest = problem.horizon - t if problem.horizon is not None else None
        least = min(least, float(prefix.min()) + discount**t * losses.waiting_cost(rest))
        table = potentials.at(t + 1, np.broadcast_to(np.arange(t + 2), (problem.size, t + 2)))
        here = table[tests, counts].sum(axis=1)
        people = errors[tests, counts]
        parents, shown, costs, f = [], [], [], []
        for row in active:
            members = list(losses.sets[row])
            cost = prefix + discount**t * losses.losses(row, people)
            steps = table[members, counts[:, members] + 1] - table[members, counts[:, members]]
            later = here + steps.sum(axis=1) + proof.constants[t + 1]
            bound = cost + discount ** (t + 1) * later
            open_ = np.flatnonzero(bound < value)
            parents.append(open_)
            shown.append(np.full(open_.size, row))
            costs.append(cost[open_])
            f.append(bound[open_])
        parent, chosen = np.concatenate(parents), np.concatenate(shown)
        cost, bound = np.concatenate(costs), np.concatenate(f)
        if not parent.size:
            return _lowered(min(value, least), losses)
        children = counts[parent] + losses.member_of[chosen]
        keep = _cheapest(np.minimum(children, settled), cost, hashes)
        if keep.size > width:
            order = keep[np.argsort(bound[keep], kind="stable")]
            least = min(least, float(bound[order[width]]))
            keep = order[:width]
        counts, prefix, bounds = children[keep], cost[keep], bound[keep]
    return _lowered(min(value, least, float(bounds.min())), losses)


def _cheapest(states: IntArray, costs: FloatArray, hashes: IntArray) -> IntArray:
    """Positions of the cheapest of each run of equal states, found by hash and compared whole."""
    with np.errstate(over="ignore"):
        key = (states * hashes).sum(axis=1)
    order = np.lexsort((costs, key))
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = np.any(states[order[1:]] != states[order[:-1]], axis=1)
    return np.asarray(order[first])


def _settled_after(losses: OwnLosses, layers: int) -> IntArray:
    """(n,) the count from which on a test's error is the same whatever is shown."""
    problem = losses.problem
    settled = np.full(problem.size, layers, dtype=np.int64)
    curves = problem.by_showings.curve_of
    for i, (curve, start) in enumerate(zip(curves, problem.start_counts, strict=True)):
        seen = start + np.arange(layers + 1)
        same = curve.to_move(seen) == 0.0
        if same.any():
            settled[i] = int(np.argmax(same))
    return settled


def _lowered(bound: float, losses: OwnLosses) -> float:
    """Less what rounding may have added to prefixes and potentials."""
    problem = losses.problem
    weight = total_weight(problem.discount, problem.horizon)
    return bound - weight * losses.slack - 64.0 * _EPS * abs(bound)
