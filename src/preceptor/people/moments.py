"""People whose weights move linearly in their errors: everything about them from second moments.

Let g = (e, 1) with e the errors of the weights, and P = E[gg']. If S is shown, the surprise of a
person who fills in from Ω is u'x_S + r with u = U_S g, U_S = [F_S | c_S], F_S = Ω_SS⁻¹ Ω[S,:],
c_S = β_S - F_S a, β_S = Σ_SS⁻¹ (Σa)_S, and r has variance r2_S, whatever is learned. So

    loss(S) = r2_S + tr(V U P U'),        V = Σ_SS
    P'      = A P A' + B (𝓜[U P U'] + N2) B',        A = I - B K

with K = diag(own) I_S + pull U, and B either I_S (shown weights move) or F_S' (all of them do). If
weights leak back, errors then go a share f of the way to those of home, e_0: with the linear map
L g = ((1 - f) e + f e_0, 1), P' becomes L P' L'. Only
fourth moments of Gaussian tests enter (Isserlis); with other marginals 𝓜 is an approximation.
Where steps change with the round or surprises are capped, no tail has a closed form, and the walk
is the one of `first_order_walk.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.discounting import negligible_after
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.expected import Tail, Walk, positions_of
from preceptor.people.first_order_walk import Stepwise
from preceptor.people.person import Person
from preceptor.people.second_moments import SecondMoments
from preceptor.people.set_readings import Readings, readings_of

if TYPE_CHECKING:
    from preceptor.people.delta_rule import DeltaRule
    from preceptor.people.folding import Folding

# The cost of a word that spans more directions than this is added up, not solved for.
_MOST_DIRECTIONS = 40
# Directions shorter than this share of the longest are rounding.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class LinearRounds:
    """How a round with each set moves somebody: letters as at the head of this file."""

    own: FloatArray  # (sets, k)
    pull: FloatArray  # (sets, k, k)
    gain2: FloatArray  # (sets,): squared rate of Isserlis' 𝓜; 0 for none
    all_weights: bool = False
    cap: float = 0.0  # of surprises; 0 for none
    decay: float = 0.0
    before: int = 0  # rounds played before, for the decay
    # After each round errors become keep x e + push, each (n,); empty if they stay as they are.
    keep: FloatArray = field(default_factory=lambda: np.zeros(0))
    push: FloatArray = field(default_factory=lambda: np.zeros(0))


def delta_rule_moments(person: DeltaRule, world: World, sets: SetFamily) -> Moments:
    """The delta rule: K = ηVU, 𝓜[W] = η²(VWV + tr(VW)V), N2 = η² r2 V."""
    readings = readings_of(world, person.imputing_covariance(world), sets)
    leaks: dict[str, FloatArray] = {}
    if person.leak:
        away = world.coefficients - person.leaks_to
        leaks = {"keep": np.full(world.size, 1.0 - person.leak), "push": person.leak * away}
    rounds = LinearRounds(
        own=np.zeros(readings.target.shape),
        pull=person.rate * readings.variance,
        gain2=np.full(len(sets), person.rate**2),
        all_weights=person.all_weights,
        cap=person.cap or 0.0,
        decay=person.decay,
        before=person.rounds,
        **leaks,
    )
    return Moments(person, world, sets, readings, rounds)


def folding_moments(person: Folding, world: World, sets: SetFamily) -> Moments:
    """Shown weights move by K = (1 - ratio)((1 - λ) I_S + λ U); no chance in it."""
    readings = readings_of(world, person.imputing_covariance(world), sets)
    learned = 1.0 - person.ratios[readings.members]
    pull = person.folding * learned[:, :, None] * np.eye(learned.shape[1])
    own = (1.0 - person.folding) * learned
    return Moments(person, world, sets, readings, LinearRounds(own, pull, np.zeros(len(sets))))


class Moments(SecondMoments):
    """`Expected` of a linear person: exact, with exact prices, unless surprises are capped."""

    def __init__(
        self,
        person: Person,
        world: World,
        sets: SetFamily,
        readings: Readings,
        rounds: LinearRounds,
    ) -> None:
        super().__init__(sets, world.coefficients - person.initial)
        self._readings, self._rounds = readings, rounds
        self.exact = self.exact_prices = rounds.cap == 0.0
        if not self.exact:
            self.accuracy = (
                "Capped surprises are averaged over people: costs come out up to 2 % too low."
            )
        omega = np.array(person.imputing_covariance(world))
        self.arrays: Any = (
            readings.members, sets.sizes, omega, readings.variance, readings.solved,
            readings.offset, readings.residual, rounds.own, rounds.pull,
            rounds.gain2, rounds.all_weights, rounds.cap, rounds.keep, rounds.push,
        )  # fmt: skip
        self._tails: dict[tuple[Tail, float], FloatArray | None] = {}

    @property
    def has_closed_tails(self) -> bool:
        """Whether one linear solve gives the cost of a tail: no capped surprise, no decay."""
        return self.exact and self._rounds.decay == 0.0

    def floors(self) -> FloatArray:
        """What the best reader of each set gets wrong, and its price."""
        return np.asarray(self._readings.residual + self.sets.prices)

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """In closed form, or by playing the tail until it has settled."""
        if self.has_closed_tails:
            return super().total(schedule, discount, tail)
        return Stepwise.total(self, schedule, discount, tail)

    def walk(self, rounds: int, discount: float) -> Walk:
        """Room for schedules of so many rounds."""
        if self.has_closed_tails:
            return super().walk(rounds, discount)
        return Stepwise.walk(self, rounds, discount)

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path, and second moments before each round and after the last."""
        from preceptor.people._moment_kernels import walk

        states, losses = np.empty((path.size + 1, *state.shape)), np.empty(path.size)
        states[0] = state
        rates = self._rates(first, path.size)
        walk(path, rates, self.sets.prices, states, losses, *self.arrays)
        return losses, states

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """Q at every state of a path, given the one at the last."""
        from preceptor.people._moment_kernels import walk_back

        adjoints = np.empty((path.size + 1, *end.shape))
        adjoints[-1] = end
        rates = self._rates(first, path.size)
        walk_back(path, states, rates, discount, self.sets.prices, adjoints, *self.arrays)
        return adjoints

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Loss of each set, plus discount x <Q, P after it>."""
        from preceptor.people._moment_kernels import prices

        out = np.empty(positions.size)
        rate = (1.0 + self._rounds.before + t) ** -self._rounds.decay
        prices(state, adjoint, rate, discount, positions, self.sets.prices, out, *self.arrays)
        return out

    def _rates(self, first: int, rounds: int) -> FloatArray:
        """Size of steps in rounds first, first + 1, ... as a share of those at the start."""
        if self._rounds.decay == 0.0:
            return np.ones(rounds)
        since = 1.0 + self._rounds.before + first
        return np.asarray((since + np.arange(rounds)) ** -self._rounds.decay)

    def tail_adjoint(self, tail: Tail, discount: float) -> FloatArray | None:
        """Q of a word repeated forever, solved for where it can charge few directions."""
        key = (tail, discount)
        if key not in self._tails:
            spanned = self._directions(tail)
            few = spanned.shape[0] <= _MOST_DIRECTIONS
            self._tails[key] = (
                self._solved(spanned, tail, discount) if few else self._added_up(tail, discount)
            )
        return self._tails[key]

    def _directions(self, tail: Tail) -> FloatArray:
        """Orthonormal rows (d, n + 1) that span all a turn of the word can charge.

        These are the weights that it shows, what the person reads off them (the rows of U), and
        the constant: whatever the world's size, a turn never leaves the space of these few.
        """
        _members, _sizes, omega, _variance, solved, offset, *_ = self.arrays
        whole = np.eye(self.start.shape[0])
        rows = [whole[-1:]]
        for s in dict.fromkeys(tail):
            shown = list(self.sets[s])
            k = len(shown)
            rows.append(whole[shown])
            rows.append(np.column_stack([solved[s, :k, :k] @ omega[shown], offset[s, :k]]))
        everything = np.concatenate(rows)
        lengths = np.linalg.norm(everything, axis=1, keepdims=True)
        _, sizes, spanned = np.linalg.svd(everything / lengths, full_matrices=False)
        return np.ascontiguousarray(spanned[sizes > _ROUNDING * sizes[0]])

    def _solved(self, spanned: FloatArray, tail: Tail, discount: float) -> FloatArray | None:
        """Q = V' C V within these directions V: one turn is affine in C, so C solves a system.

        A positive definite solution for a positive definite charge exists only if errors settle.
        """
        width = spanned.shape[0]
        rows, columns = np.tril_indices(width)

        def turned(within: FloatArray) -> FloatArray:
            whole = self._turn(spanned.T @ within @ spanned, tail, discount)
            return np.asarray((spanned @ whole @ spanned.T)[rows, columns])

        nothing = turned(np.zeros((width, width)))
        matrix = np.empty((rows.size, rows.size))
        for position, (i, j) in enumerate(zip(rows, columns, strict=True)):
            unit = np.zeros((width, width))
            unit[i, j] = unit[j, i] = 1.0
            matrix[:, position] = turned(unit) - nothing
        # Charging errors as well as the round tells whether they settle.
        charges = np.stack([nothing, np.eye(width)[rows, columns]], axis=1)
        try:
            solutions = np.linalg.solve(np.eye(rows.size) - matrix, charges)
        except np.linalg.LinAlgError:
            return None
        found, witness = np.zeros((2, width, width))
        for target, values in ((found, solutions[:, 0]), (witness, solutions[:, 1])):
            target[rows, columns] = values
            target[columns, rows] = values
        if not np.linalg.eigvalsh(witness)[0] > 0.0:
            return None
        return np.asarray(spanned.T @ found @ spanned)

    def _added_up(self, tail: Tail, discount: float) -> FloatArray | None:
        """The same, by turns until they weigh nothing."""
        adjoint = np.zeros_like(self.start)
        for _ in range(-(-negligible_after(discount) // len(tail))):
            adjoint = self._turn(adjoint, tail, discount)
        return adjoint if np.all(np.isfinite(adjoint)) and np.abs(adjoint).max() < 1e100 else None

    def _turn(self, adjoint: FloatArray, tail: Tail, discount: float) -> FloatArray:
        """The adjoint one turn of a word earlier; without a cap it does not depend on states."""
        path = positions_of(tail)
        states = np.zeros((path.size, *self.start.shape))
        return np.asarray(self.adjoints(states, path, 0, adjoint, discount)[0])
