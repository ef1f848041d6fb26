"""A dual bound proven again by scanning every count, in NumPy, from the problem alone.

Potentials p and constants C bound the cost to go if no round falls below its minimum g_t:

    L_S(m) + δ φ_{t+1}(m + 1_S) - φ_t(m) >= g_t    for every set S and all counts m possible in t.

The loss is convex in the deviation y = shift + D e, so a plane q'y that touches it at any y0 lies
below it. With that plane in place of the loss the sum separates over tests, and each test's part is
the minimum of finitely many numbers: one for each count, and one for each end of the interval of
its error. So h_S(y0), their sum, is a lower bound for every y0, and a poor y0 can only make the
check fail. Good ones are searched for (`climb`) as long as a round falls short of its claimed
minimum. A beam that such a bound guides is run again, in plain NumPy.

A dual certificate claims that from counts m in round t the cost to go is at least Σ_i p_ti(m_i) +
C_t. Counts are showings since the problem's start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.numerics import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.certificate import COUNT_UNIT, LONGEST, Certificate
from preceptor.proofs.losses import AT_A_TIME, OPERATIONS, ReferenceLosses


@dataclass(frozen=True, eq=False)
class Points:
    """All states of each test in a round: its error and two changes of potential.

    `error` (n, places); `hidden` and `shown` (n, places) are δ p_{t+1} - p_t if the test is hidden
    or shown, infinite where a test has fewer places. An interval of errors is represented by its
    ends: what is added to them is linear in the error.
    """

    error: FloatArray
    hidden: FloatArray
    shown: FloatArray


@dataclass(frozen=True, eq=False)
class Potentials:
    """p = θ · (m/50, 1 - r, 1 - r²), constant beyond caps, in a problem with these losses."""

    losses: ReferenceLosses
    certificate: Certificate

    @property
    def length(self) -> int:
        """T: rounds 0 to T - 1 have separate potentials, round T repeats or is the end."""
        return len(self.certificate.potentials) - 1

    @property
    def _discount(self) -> float:
        return self.losses.problem.discount

    @property
    def _endless(self) -> bool:
        return self.losses.problem.horizon is None

    def _left(self, counts: IntArray) -> FloatArray:
        """r (n, counts): share of the initial error that remains after counts (n, counts)."""
        first = self.losses.retained(np.zeros((len(counts), 1)))
        return self.losses.retained(counts) / np.where(first == 0.0, 1.0, first)  # 0 stays 0

    def faults(self) -> str:
        """Why the certificate cannot be about this problem, in words; empty if it can."""
        theta, caps = self.certificate.potentials, self.certificate.caps
        minima = self.certificate.round_minima
        n, horizon = self.losses.problem.size, self.losses.problem.horizon
        if theta.ndim != 3 or theta.shape[1:] != (n, 3) or len(theta) < 2:
            return f"potentials have shape {theta.shape}, must be (rounds + 1, {n}, 3)"
        if caps.shape != (n,) or caps.min() < 1 or (self._endless and caps.max() > LONGEST):
            return f"caps are {caps.tolist()}, must be {n} counts from 1 to {LONGEST:,}"
        if minima.shape != (self.length + self._endless,):
            return f"{minima.shape} round minima for {self.length} rounds"
        claims = (theta, minima, np.array(self.certificate.dual_bound))
        if not all(np.isfinite(claim).all() for claim in claims):
            return "some numbers are not finite"
        if horizon is not None and horizon != self.length:
            return f"it is about {self.length} rounds, the problem has {horizon}"
        if horizon is not None and theta[-1].any():
            return "potentials after the last round are not 0"
        return ""

    def at(self, t: int, counts: IntArray) -> FloatArray:
        """p_t (n, counts) for the counts of each test, shape (n, counts)."""
        within = np.minimum(counts, self.certificate.caps[:, None])
        left = self._left(within)
        theta = self.certificate.potentials[t]
        return np.asarray(
            theta[:, :1] * (within / COUNT_UNIT)
            + theta[:, 1:2] * (1.0 - left)
            + theta[:, 2:] * (1.0 - left * left)
        )

    def points(self, t: int) -> Points:
        """The places of round t: every possible count, and the ends of the interval beyond caps."""
        n, caps = self.losses.problem.size, self.certificate.caps
        repeats = self._endless and t == self.length
        following = t if repeats else t + 1
        last = caps if repeats else np.minimum(caps, t)  # (n,) the largest count scanned
        counts = np.broadcast_to(np.arange(int(last.max()) + 1), (n, int(last.max()) + 1))
        possible = counts <= last[:, None]
        error = self.losses.errors_after(range(int(last.max()) + 1))
        now = self.at(t, counts)
        hidden = np.where(possible, self._discount * self.at(following, counts) - now, np.inf)
        shown = np.where(possible, self._discount * self.at(following, counts + 1) - now, np.inf)
        # Beyond a cap errors lie between the error at the cap, scanned already, and its limits.
        beyond = np.ones(n, dtype=np.bool_) if repeats else t > caps
        same = self._discount * self.at(following, caps[:, None]) - self.at(t, caps[:, None])
        more = np.where(beyond[:, None], np.repeat(same, 2, axis=1), np.inf)
        return Points(
            np.concatenate([error, self.losses.limits_after(caps)], axis=1),
            np.concatenate([hidden, more], axis=1),
            np.concatenate([shown, more], axis=1),
        )

    def largest(self, t: int) -> float:
        """Largest potential of all counts that are possible in round t."""
        top = self.certificate.caps
        if not (self._endless and t == self.length):
            top = np.minimum(top, t)
        counts = np.minimum(np.arange(int(top.max()) + 1), top[:, None])
        return float(self.at(t, counts).max(axis=1).sum())


# Search for tangent planes of the loss that give a large lower bound.
#
# The best plane solves y = shift + D e(y), where e_i(y) is the error at which test i's part is
# least given the plane at y. That jumps from count to count, so e is first averaged over counts
# with weights exp(-part/τ), and Newton's method is repeated while τ falls. Nothing here needs to
# be right: the caller scans every result over all counts.


@dataclass(frozen=True, eq=False)
class OpenPlanes:
    """Pairs of a round and a set whose planes are to be improved, with their places.

    `rows` (pairs,) positions of the sets; `error` and `table` (pairs, n, places), with the table
    infinite for places that do not exist.
    """

    rows: IntArray
    error: FloatArray
    table: FloatArray

    @classmethod
    def of(cls, losses: ReferenceLosses, rounds: list[tuple[Points, IntArray]]) -> OpenPlanes:
        """Stack the places of some rounds, each with some sets."""
        longest = max(points.error.shape[1] for points, _ in rounds)
        errors, tables = [], []
        for points, rows in rounds:
            missing = ((0, 0), (0, longest - points.error.shape[1]))
            member = losses.member_of[rows][:, :, None]
            table = np.where(member, points.shown, points.hidden)
            tables.append(np.pad(table, ((0, 0), *missing), constant_values=np.inf))
            errors.append(np.repeat(np.pad(points.error, missing)[None], rows.size, axis=0))
        return cls(
            np.concatenate([rows for _, rows in rounds]),
            np.concatenate(errors),
            np.concatenate(tables),
        )


def climb(
    losses: ReferenceLosses, todo: OpenPlanes, start: FloatArray, patience: int = 1
) -> FloatArray:
    """Return deviations (pairs, widest) with better planes than those at `start`.

    Temperatures fall from a tenth of a round's loss; with more `patience` they do so more slowly,
    with more Newton steps at each.
    """
    factor = 0.2 ** (1.0 / patience)
    best, best_value = start.copy(), _sums(losses, todo, start, 0.0)[0]
    y = start.copy()
    loss = max(losses.scale, 1e-300)
    temperature = 0.1 * loss
    while temperature > 1e-12 * loss:
        value, mean, spread = _sums(losses, todo, y, temperature)
        for _ in range(3 * patience):
            step = _newton(losses, todo.rows, y, mean, spread / temperature)
            length = np.ones(len(y))
            for _ in range(4):
                tried = y + length[:, None] * step
                after, mean, spread = _sums(losses, todo, tried, temperature)
                falls = after < value
                if not falls.any():
                    break
                length[falls] *= 0.2
            else:
                tried = np.where(falls[:, None], y, y + length[:, None] * step)
                after, mean, spread = _sums(losses, todo, tried, temperature)
            y, value = tried, after
        exact = _sums(losses, todo, y, 0.0)[0]
        better = exact > best_value
        best[better], best_value[better] = y[better], exact[better]
        temperature *= factor
    return best


def _sums(
    losses: ReferenceLosses, todo: OpenPlanes, y: FloatArray, temperature: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """h (pairs,) with soft minima, and weighted mean and variance (pairs, n) of the errors."""
    rows, error = todo.rows, todo.error
    square = np.sum(y * y, axis=1)
    plane = losses.pull(rows, square)[:, None] * y
    total = losses.charged(rows, square) + np.sum(plane * (losses.shift[rows] - y), axis=1)
    pull = np.einsum("sk,skn->sn", plane, losses.reading[rows])
    parts = pull[:, :, None] * error + todo.table
    least = parts.min(axis=2)
    if temperature == 0.0:
        return total + least.sum(axis=1), least, least
    weights = np.exp((least[:, :, None] - parts) / temperature)
    weighed = weights.sum(axis=2)
    soft = least - temperature * np.log(weighed)
    mean = (weights * error).sum(axis=2) / weighed
    spread = (weights * error**2).sum(axis=2) / weighed - mean**2
    return total + soft.sum(axis=1), mean, np.maximum(spread, 0.0)


def _newton(
    losses: ReferenceLosses, rows: IntArray, y: FloatArray, mean: FloatArray, slope: FloatArray
) -> FloatArray:
    """Step (sets, widest) towards y = shift + D e(y), where e moves by -slope per unit of pull."""
    reading = losses.reading[rows]
    wrong = losses.shift[rows] + np.einsum("skn,sn->sk", reading, mean) - y
    moved = np.einsum("skn,sn,sjn->skj", reading, slope, reading)
    matrix = np.eye(y.shape[1]) + moved @ _curvature(losses, rows, y)
    return np.asarray(np.linalg.solve(matrix, wrong[:, :, None])[:, :, 0])


def _curvature(losses: ReferenceLosses, rows: IntArray, y: FloatArray) -> FloatArray:
    """Second derivatives (sets, widest, widest) of G(sqrt(floor + |y|²)) in y."""
    square = np.sum(y * y, axis=1)
    pull, bend = losses.pull(rows, square), losses.bend(rows, square)
    along = (bend - pull) / np.maximum(losses.floor[rows] + square, 1e-300)
    outer = y[:, :, None] * y[:, None, :]
    return np.asarray(pull[:, None, None] * np.eye(y.shape[1]) + along[:, None, None] * outer)


_EPS = float(np.finfo(np.float64).eps)
# Sets per round that are improved at a time; passes over all rounds; attempts per set.
_AT_A_TIME, _PASSES, _PATIENCE = 6, 60, 3


@dataclass(frozen=True, eq=False)
class DualProof:
    """What potentials prove: g (rounds,), C (T + 1,), the bound, and the size of the scan."""

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
    losses: ReferenceLosses,
    claimed: FloatArray,
    path: FloatArray | None = None,
) -> DualProof:
    """Return the bound that the potentials prove.

    Parameters
    ----------
    potentials
        Those of the certificate.
    losses
        Losses of the problem, computed independently.
    claimed
        Claimed minimum of each round, shape (rounds,); the search stops when it is reached.
    path
        Errors of a person who follows the plan, shape (rounds, n): further starting points.

    Returns
    -------
    DualProof
        The best that was proven.
    """
    work = _PlaneSearch(potentials, losses, path)
    for _ in range(_PASSES):
        if not work.improve(claimed):
            break
    return work.proof()


class _PlaneSearch:
    """The largest h found for every round and set, and the deviations that give it."""

    def __init__(
        self, potentials: Potentials, losses: ReferenceLosses, path: FloatArray | None
    ) -> None:
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
        """Deviations (sets, widest) of a person with these errors (n,)."""
        rows = self.active
        return np.asarray(self.losses.shift[rows] + self.losses.reading[rows] @ errors)

    def _try(
        self, t: int, points: Points, tangent: FloatArray, which: IntArray | None = None
    ) -> None:
        """Keep the planes of the sets `which` (all if left out) that prove more."""
        chosen = np.arange(self.active.size) if which is None else which
        proven = least_sums(self.losses, points, self.active[chosen], tangent)
        better = proven > self.proven[t, chosen]
        self.tangent[t, chosen[better]] = tangent[better]
        self.proven[t, chosen[better]] = proven[better]

    def improve(self, enough: FloatArray) -> bool:
        """Improve the planes of the lowest sets of all rounds; False if nothing is left to try."""
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
        pairs = OpenPlanes.of(
            self.losses, [(points, self.active[sets]) for _, sets, points in batch]
        )
        patience = 1 + int(max(self.climbed[t, sets].max() for t, sets, _ in batch))
        found = climb(self.losses, pairs, start, patience)
        first = 0
        for t, sets, points in batch:
            self._try(t, points, found[first : first + sets.size], sets)
            self.climbed[t, sets] += 1
            first += sets.size

    def proof(self) -> DualProof:
        """Compute the constants from the last round back to the first."""
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
    losses: ReferenceLosses, points: Points, rows: IntArray, tangent: FloatArray
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
    """Midpoints (n,) of the intervals of the errors."""
    possible = np.where(np.isfinite(points.hidden), points.error, np.nan)
    return np.asarray(0.5 * (np.nanmin(possible, axis=1) + np.nanmax(possible, axis=1)))


def _down(*terms: float) -> float:
    """A sum rounded down."""
    return float(sum(terms)) - 2.0 * len(terms) * _EPS * float(sum(abs(term) for term in terms))


def beam_again(
    proof: DualProof,
    potentials: Potentials,
    losses: ReferenceLosses,
    value: float,
    width: int,
    layers: int,
) -> float:
    """Lower bound proven by a beam of that width over that many rounds against a plan's value.

    Every schedule is pruned because it costs at least `value`, or passes through a state that was
    dropped because the beam was full, or stops, or survives to the last layer; the least bound
    among these holds for all of them. Of equal states only the cheapest is kept; equal states that
    are not recognised as such stay apart, which takes width but proves nothing false. Any width and
    any number of layers give a valid bound.
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
    """Positions of the cheapest of each group of equal states, found by hash and then compared."""
    with np.errstate(over="ignore"):
        key = (states * hashes).sum(axis=1)
    order = np.lexsort((costs, key))
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = np.any(states[order[1:]] != states[order[:-1]], axis=1)
    return np.asarray(order[first])


def _settled_after(losses: ReferenceLosses, layers: int) -> IntArray:
    """(n,) the count after which a test's error no longer changes."""
    problem = losses.problem
    settled = np.full(problem.size, layers, dtype=np.int64)
    curves = problem.by_showings.curve_of
    for i, (curve, start) in enumerate(zip(curves, problem.start_counts, strict=True)):
        seen = start + np.arange(layers + 1)
        same = curve.to_move(seen) == 0.0
        if same.any():
            settled[i] = int(np.argmax(same))
    return settled


def _lowered(bound: float, losses: ReferenceLosses) -> float:
    """Subtract what rounding may have added to prefixes and potentials."""
    problem = losses.problem
    weight = total_weight(problem.discount, problem.horizon)
    return bound - weight * losses.slack - 64.0 * _EPS * abs(bound)
