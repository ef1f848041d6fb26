"""People whose weights move linearly in their errors: everything about them from second moments.

Let g = (e, 1) with e the errors of the weights, and P = E[gg']. If S is shown, the surprise of a
person who fills in from Ω is u'x_S + r with u = U_S g, U_S = [F_S | c_S], F_S = Ω_SS⁻¹ Ω[S,:],
c_S = β_S - F_S a, β_S = Σ_SS⁻¹ (Σa)_S, and r has variance r2_S, whatever is learned. So

    loss(S) = r2_S + tr(V U P U'),        V = Σ_SS
    P'      = A P A' + B (𝓜[U P U'] + N2) B',        A = I - B K

with K = diag(own) I_S + pull U, and B either I_S (shown weights move) or F_S' (all of them do). The
cost of a schedule is linear in P: with Q = L_S + δ T_S*(Q') going backward, <L_S + δ T_S*(Q'), P>
is what any other set would cost in a round, exactly, and nothing is played again to know it. Only
fourth moments of Gaussian tests enter (Isserlis); with other marginals 𝓜 is an approximation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.discounting import discounted_sum, negligible_after, weight_after, weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.expected import Tail
from preceptor.people.person import Person

if TYPE_CHECKING:
    from preceptor.people.delta_rule import DeltaRule
    from preceptor.people.folding import Folding

# Beyond this many tests a tail is summed round by round instead of solved for.
_SOLVED_SIZE = 40
# Rounds of a tail that has no closed form: a decaying rate, capped surprises.
_MOST_ROUNDS = 3_000


@dataclass(frozen=True, eq=False)
class Readings:
    """What somebody reads off each set, as arrays padded to the widest set."""

    variance: FloatArray  # (sets, k, k): V
    solved: FloatArray  # (sets, k, k): Ω_SS⁻¹
    offset: FloatArray  # (sets, k): c
    residual: FloatArray  # (sets,): r2


@dataclass(frozen=True, eq=False)
class LinearRounds:
    """How a round with each set moves somebody: see the head of this file."""

    own: FloatArray  # (sets, k)
    pull: FloatArray  # (sets, k, k)
    second: FloatArray  # (sets, k, k): V, or E[xx'/q²] of normalised steps
    gain2: FloatArray  # (sets,): squared rate of Isserlis' 𝓜; 0 for none
    fourth: FloatArray  # (sets, k, k, k, k): 𝓜 itself for normalised steps, or empty
    all_weights: bool = False
    cap: float = 0.0  # of surprises; 0 for none
    decay: float = 0.0


def readings_of(world: World, omega: FloatArray, sets: SetFamily) -> Readings:
    """What a person who fills in from Ω reads off each set."""
    count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
    sigma, truth = world.covariance, world.coefficients
    target, believed = sigma @ truth, omega @ truth
    explained = float(truth @ target)
    variance = np.zeros((count, widest, widest))
    solved = np.zeros((count, widest, widest))
    offset = np.zeros((count, widest))
    residual = np.full(count, world.noise_variance + explained)
    for size in np.unique(sets.sizes):
        if size == 0:
            continue
        rows = np.flatnonzero(sets.sizes == size)
        members = sets.members[rows, :size]
        shown = sigma[members[:, :, None], members[:, None, :]]
        best = np.linalg.solve(shown, target[members][:, :, None])[:, :, 0]
        inverse = np.linalg.inv(omega[members[:, :, None], members[:, None, :]])
        variance[rows, :size, :size] = shown
        solved[rows, :size, :size] = inverse
        offset[rows, :size] = best - np.einsum("mij,mj->mi", inverse, believed[members])
        left = explained - np.sum(best * target[members], axis=1)
        residual[rows] = world.noise_variance + np.maximum(left, 0.0)
    if np.array_equal(omega, sigma):
        offset[:] = 0.0
    return Readings(variance, solved, offset, residual)


def delta_rule_rounds(person: DeltaRule, world: World, sets: SetFamily) -> LinearRounds:
    """The delta rule: K = ηVU, 𝓜[W] = η²(VWV + tr(VW)V), N2 = η² r2 V; or normalised steps."""
    readings = readings_of(world, person.imputing_covariance(world), sets)
    V, count = readings.variance, len(sets)
    widest = V.shape[1]
    own = np.zeros((count, widest))
    if person.normalised is None:
        return LinearRounds(
            own=own,
            pull=person.rate * V,
            second=V,
            gain2=np.full(count, person.rate**2),
            fourth=np.empty((0, widest, widest, widest, widest)),
            all_weights=person.all_weights,
            cap=person.cap or 0.0,
            decay=person.decay,
        )
    from preceptor.people.normalised import normalised_moments

    pull, second = np.zeros_like(V), np.zeros_like(V)
    fourth = np.zeros((count, widest, widest, widest, widest))
    for s, size in enumerate(sets.sizes):
        if size == 0:
            continue
        moments = normalised_moments(V[s, :size, :size], person.normalised)
        first = moments.first
        square = np.einsum("ia,bj->ijab", first, first)
        full = np.asarray(moments.fourth).reshape(size, size, size, size)
        pull[s, :size, :size] = person.rate * first
        second[s, :size, :size] = person.rate**2 * moments.second
        fourth[s, :size, :size, :size, :size] = person.rate**2 * (full - square)
    return LinearRounds(
        own, pull, second, np.zeros(count), fourth, all_weights=False, decay=person.decay
    )


def folding_rounds(person: Folding, world: World, sets: SetFamily) -> LinearRounds:
    """Shown weights move by K = (1 - ratio)((1 - λ) I_S + λ U); no chance in it."""
    count, widest = len(sets), max(int(sets.sizes.max(initial=0)), 1)
    ratios = np.array([float(curve.ratio or 0.0) for curve in person.curve_of])
    learned = np.where(sets.members >= 0, 1.0 - ratios[np.maximum(sets.members, 0)], 0.0)
    learned = np.pad(learned, ((0, 0), (0, widest - learned.shape[1])))
    pull = person.folding * learned[:, :, None] * np.eye(widest)
    return LinearRounds(
        own=(1.0 - person.folding) * learned,
        pull=pull,
        second=np.zeros_like(pull),
        gain2=np.zeros(count),
        fourth=np.empty((0, widest, widest, widest, widest)),
    )


class Moments:
    """`Expected` of a linear person: exact, with exact prices, unless surprises are capped."""

    def __init__(self, person: Person, world: World, sets: SetFamily, rounds: LinearRounds) -> None:
        self.sets = sets
        omega = person.imputing_covariance(world)
        self._readings = readings = readings_of(world, omega, sets)
        self._rounds = rounds
        self.exact = self.exact_prices = rounds.cap == 0.0
        self.accuracy = (
            ""
            if self.exact
            else "Capped surprises are averaged over people: costs come out up to 2 % too low."
        )
        members = np.ascontiguousarray(np.maximum(sets.members, 0))
        if members.shape[1] == 0:
            members = np.zeros((len(sets), 1), dtype=np.int64)
        self._arrays: Any = (
            members, sets.sizes, np.array(omega), readings.variance, readings.solved,
            readings.offset, readings.residual, rounds.own, rounds.pull, rounds.second,
            rounds.gain2, rounds.fourth, rounds.all_weights, rounds.cap,
        )  # fmt: skip
        errors = world.coefficients - person.initial
        start = np.append(errors, 1.0)
        self.start = np.outer(start, start)
        self._tails: dict[tuple[Tail, float], FloatArray | None] = {}

    def rates(self, first: int, rounds: int) -> FloatArray:
        """Size of steps in rounds first, first + 1, ... as a share of those at the start."""
        return np.asarray((1.0 + first + np.arange(rounds)) ** -self._rounds.decay)

    def floors(self) -> FloatArray:
        """What the best reader of each set gets wrong, and its price."""
        return np.asarray(self._readings.residual + self.sets.prices)

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Round by round."""
        return self._play(self.start, np.asarray(schedule, dtype=np.int64), 0)[0]

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """A sum, and for the tail one product with its adjoint."""
        path = np.asarray(schedule, dtype=np.int64)
        losses, state = self._play(self.start, path, 0)
        head = discounted_sum(losses, discount)
        if not tail:
            return head
        return head + discount**path.size * self.tail_cost(state, path.size, discount, tail)

    def tail_cost(self, state: FloatArray, first: int, discount: float, tail: Tail) -> float:
        """Discounted cost of a tail that begins in round `first` in this state."""
        if self.has_closed_tails:
            adjoint = self.tail_adjoint(tail, discount)
            return np.inf if adjoint is None else float(np.sum(adjoint * state))
        path = self.long_tail(tail, discount)
        losses, _ = self._play(state, path, first)
        left = weight_after(discount, path.size)
        value = discounted_sum(losses, discount) + left * float(np.mean(losses[-len(tail) :]))
        return float(value) if np.isfinite(value) else np.inf

    @property
    def has_closed_tails(self) -> bool:
        """Whether one linear solve gives the cost of a tail: no capped surprise, no decay."""
        return self.exact and self._rounds.decay == 0.0

    def long_tail(self, tail: Tail, discount: float) -> IntArray:
        """So many turns of a tail that what comes after them weighs next to nothing."""
        rounds = min(negligible_after(discount), _MOST_ROUNDS)
        turns = -(-rounds // len(tail))
        return np.tile(np.array(tail, dtype=np.int64), turns)

    def tail_adjoint(self, tail: Tail, discount: float) -> FloatArray | None:
        """Q with <Q, P> = cost of repeating a word forever from P; None if errors never settle.

        One turn of the word is affine in Q. With few tests its matrix is written down and solved
        for, otherwise turns are added until they weigh nothing. A positive definite solution for
        a positive definite charge exists only if errors settle.
        """
        key = (tail, discount)
        if key not in self._tails:
            size = self.start.shape[0]
            solve = size - 1 <= _SOLVED_SIZE
            self._tails[key] = (self._solved_tail if solve else self._summed_tail)(tail, discount)
        return self._tails[key]

    def _turn(self, adjoint: FloatArray, tail: Tail, discount: float) -> FloatArray:
        for s in reversed(tail):
            adjoint = self.back(adjoint, self.start, s, 1.0, discount)
        return adjoint

    def _solved_tail(self, tail: Tail, discount: float) -> FloatArray | None:
        from preceptor.people._moment_kernels import turn_matrix

        size = self.start.shape[0]
        rows, columns = np.tril_indices(size)
        constant, matrix = np.empty((size, size)), np.empty((rows.size, rows.size))
        word = np.array(tail, dtype=np.int64)
        turn_matrix(word, discount, self.sets.prices, self.start, matrix, constant, *self._arrays)
        # Charging errors as well as the round tells whether they settle.
        charges = np.stack([constant[rows, columns], np.eye(size)[rows, columns]], axis=1)
        try:
            solutions = np.linalg.solve(np.eye(rows.size) - matrix, charges)
        except np.linalg.LinAlgError:
            return None
        found, witness = np.zeros((size, size)), np.zeros((size, size))
        for target, values in ((found, solutions[:, 0]), (witness, solutions[:, 1])):
            target[rows, columns] = values
            target[columns, rows] = values
        return found if np.linalg.eigvalsh(witness)[0] > 0.0 else None

    def _summed_tail(self, tail: Tail, discount: float) -> FloatArray | None:
        adjoint = np.zeros_like(self.start)
        for _ in range(-(-negligible_after(discount) // len(tail))):
            adjoint = self._turn(adjoint, tail, discount)
        return adjoint if np.all(np.isfinite(adjoint)) and np.abs(adjoint).max() < 1e100 else None

    def back(
        self, adjoint: FloatArray, state: FloatArray, s: int, rate: float, discount: float
    ) -> FloatArray:
        """The adjoint one round earlier."""
        from preceptor.people._moment_kernels import back

        before = np.empty_like(adjoint)
        price = float(self.sets.prices[s])
        back(adjoint, state, s, rate, discount, price, before, *self._arrays)
        return before

    def adjoint_along(
        self, state: FloatArray, path: IntArray, first: int, discount: float
    ) -> FloatArray:
        """The gradient of the cost of a path with respect to the state that it begins in."""
        rates = self.rates(first, path.size)
        states = [state]
        for t in range(path.size - 1):
            states.append(self._play(states[-1], path[t : t + 1], first + t)[1])
        adjoint = np.zeros_like(state)
        for t in range(path.size - 1, -1, -1):
            adjoint = self.back(adjoint, states[t], int(path[t]), float(rates[t]), discount)
        return adjoint

    def _play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path from a state in round `first`, and the state after it."""
        from preceptor.people._moment_kernels import play

        losses, end = np.empty(path.size), np.empty_like(state)
        play(state, path, self.rates(first, path.size), losses, end, *self._arrays)
        return losses + self.sets.prices[path], end

    def walk(self, rounds: int, discount: float) -> MomentWalk:
        """Room for schedules of so many rounds."""
        return MomentWalk(self, rounds, discount)

    @property
    def arrays(self) -> Any:
        """What kernels take, in their order."""
        return self._arrays


@dataclass(eq=False)
class MomentWalk:
    """A schedule with the states before all rounds, and one adjoint that goes backward."""

    person: Moments
    rounds: int
    discount: float
    schedule: IntArray = field(init=False)
    tail: Tail = field(init=False, default=())

    def __post_init__(self) -> None:
        size = self.person.start.shape[0]
        self.schedule = np.zeros(self.rounds, dtype=np.int64)
        self._states = np.empty((self.rounds + 1, size, size))
        self._states[0] = self.person.start
        self._losses = np.zeros(self.rounds)
        self._before = np.zeros(self.rounds + 1)  # cost of the rounds before each
        self._weights = weights(self.discount, self.rounds + 1)
        self._rates = self.person.rates(0, self.rounds)
        self._adjoints = np.zeros((self.rounds + 1, size, size))  # one at each round taken in
        self._adjoint = self._adjoints[-1]
        self._room = np.zeros((size, size))
        self._total = np.inf
        self._prices = self.person.sets.prices

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Forward from `since`; the adjoint stands behind the last round."""
        from preceptor.people._moment_kernels import lay

        self.schedule[:] = schedule
        self.tail = tail
        lay(
            self.schedule, since, self._rates, self._prices, self._weights,
            self._states, self._losses, self._before, *self.person.arrays,
        )  # fmt: skip
        self._total = float(self._before[-1]) + self._end_cost(tail)
        self._adjoint = self._adjoints[-1]
        self._adjoint[:] = self._end_adjoint(tail)
        return self._total if np.isfinite(self._total) else np.inf

    def _end_cost(self, tail: Tail) -> float:
        if not tail:
            return 0.0
        weight = float(self._weights[-1])
        cost = self.person.tail_cost(self._states[-1], self.rounds, self.discount, tail)
        return weight * cost

    def _end_adjoint(self, tail: Tail) -> FloatArray:
        person = self.person
        size = person.start.shape[0]
        if not tail:
            return np.zeros((size, size))
        if person.has_closed_tails:
            adjoint = person.tail_adjoint(tail, self.discount)
            return np.full((size, size), np.inf) if adjoint is None else adjoint
        path = person.long_tail(tail, self.discount)
        return person.adjoint_along(self._states[-1], path, self.rounds, self.discount)

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """One product with the adjoint for each set."""
        from preceptor.people._moment_kernels import prices

        out = np.empty(positions.size)
        prices(
            self._states[t], self._adjoint, self._rates[t], self.discount, positions,
            self._prices, out, *self.person.arrays,
        )  # fmt: skip
        costs = self._before[t] + self._weights[t] * out
        if self.person.exact_prices:
            return np.asarray(costs)
        # A gradient prices differences only: count them from the set that is shown now.
        mine = self.schedule[t : t + 1]
        base = np.empty(1)
        prices(
            self._states[t], self._adjoint, self._rates[t], self.discount, mine, self._prices,
            base, *self.person.arrays,
        )  # fmt: skip
        return np.asarray(self._total + self._weights[t] * (out - base[0]))

    def back(self, t: int, position: int) -> None:
        """One step of the adjoint."""
        from preceptor.people._moment_kernels import back

        self.schedule[t] = position
        before = self._adjoints[t]
        back(
            self._adjoint, self._states[t], position, self._rates[t], self.discount,
            self._prices[position], before, *self.person.arrays,
        )  # fmt: skip
        self._adjoint = before

    def back_over(self, t: int, positions: IntArray) -> None:
        """Several steps of the adjoint."""
        from preceptor.people._moment_kernels import back_over

        self.schedule[t : t + positions.size] = positions
        back_over(
            t, positions, self._states, self._rates, self.discount, self._prices,
            self._adjoints, *self.person.arrays,
        )  # fmt: skip
        self._adjoint = self._adjoints[t]

    def resume(self, t: int) -> None:
        """The adjoint that was left at this round; says nothing new if surprises are capped."""
        self._adjoint = self._adjoints[t]

    def block(self, t: int, positions: IntArray) -> float:
        """Exact where the adjoint is; otherwise the rest is played."""
        person = self.person
        if not person.exact_prices:
            changed = self.schedule.copy()
            changed[t : t + positions.size] = positions
            return person.total(changed, self.discount, self.tail)
        from preceptor.people._moment_kernels import play

        last = t + positions.size
        losses, end = np.empty(positions.size), self._room
        play(self._states[t], positions, self._rates[t:last], losses, end, *person.arrays)
        here = float((losses + self._prices[positions]) @ self._weights[t:last])
        later = float(np.sum(self._adjoint * end))
        return float(self._before[t]) + here + float(self._weights[last]) * later

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """The laid rounds, then each of the tails."""
        head = float(self._before[-1])
        return np.array([head + self._end_cost(tail) for tail in tails])
