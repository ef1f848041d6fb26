"""Expected losses of people whose weights move linearly in their errors, by second moments.

Let g = (e, 1) with e the errors of the weights, and P = E[gg']. If S is shown, the surprise of a
person who imputes from Ω is u'x_S + r with u = U_S g, U_S = [F_S | c_S], F_S = Ω_SS⁻¹ Ω[S,:],
c_S = β_S - F_S a, β_S = Σ_SS⁻¹ (Σa)_S, and r has variance r2_S, whatever is learned. So

    loss(S) = r2_S + tr(V U P U'),        V = Σ_SS
    P'      = A P A' + B (𝓜[U P U'] + N2) B',        A = I - B K

with K = diag(own) I_S + pull U, and B either I_S (shown weights move) or F_S' (all of them do). If
weights leak back, errors then move a share f toward those of home, e_0: with the linear map
L g = ((1 - f) e + f e_0, 1), P' becomes L P' L'. Only fourth moments of Gaussian tests enter
(Isserlis); with other marginals 𝓜 is an approximation. Where steps change with the round or
surprises are capped, tails have no closed form, and the walk is that of `first_order_walk.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.numerics import negligible_after
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import Expected, Tail, positions_of
from preceptor.model.person import Person
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.second_moments import Coordinates, SecondMoments
from preceptor.people.set_readings import SetReadings, set_readings

if TYPE_CHECKING:
    from preceptor.people.folding import Folding
    from preceptor.people.outcome_learners import DeltaRule

# Q of a tail that spans more directions than this is summed round by round, not solved for.
_MOST_DIRECTIONS = 40


@dataclass(frozen=True, eq=False)
class LinearRounds:
    """Effect of a round with each set; letters as in the module docstring."""

    own: FloatArray  # (sets, k)
    pull: FloatArray  # (sets, k, k)
    gain2: FloatArray  # (sets,): squared rate of Isserlis' 𝓜; 0 for none
    all_weights: bool = False
    cap: float = 0.0  # of surprises; 0 for none
    # Step sizes in rounds first, first + 1, ... relative to round 0; None if constant.
    step_sizes: Callable[[int, int], FloatArray] | None = None
    # After each round errors become keep x e + push, each (n,); empty if they do not.
    keep: FloatArray = field(default_factory=lambda: np.zeros(0))
    push: FloatArray = field(default_factory=lambda: np.zeros(0))


def delta_rule_moments(person: DeltaRule, world: World, sets: SetFamily) -> Moments:
    """Return moments of the delta rule: K = ηVU, 𝓜[W] = η²(VWV + tr(VW)V), N2 = η² r2 V."""
    readings = set_readings(world, person.imputing_covariance(world), sets)
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
        step_sizes=person.step_sizes if person.decay else None,
        **leaks,
    )
    return Moments(person, world, sets, readings, rounds)


def folding_moments(person: Folding, world: World, sets: SetFamily) -> Moments:
    """Return moments of folding: K = (1 - ratio)((1 - λ) I_S + λ U), without scatter."""
    readings = set_readings(world, person.imputing_covariance(world), sets)
    learned = 1.0 - person.ratios[readings.members]
    pull = person.folding * learned[:, :, None] * np.eye(learned.shape[1])
    own = (1.0 - person.folding) * learned
    return Moments(person, world, sets, readings, LinearRounds(own, pull, np.zeros(len(sets))))


class Moments(SecondMoments):
    """`Expected` of a linear learner: exact, with exact prices, unless surprises are capped."""

    def __init__(
        self,
        person: Person,
        world: World,
        sets: SetFamily,
        readings: SetReadings,
        rounds: LinearRounds,
    ) -> None:
        super().__init__(sets, world.coefficients - person.initial)
        self._readings, self._rounds = readings, rounds
        self.exact = self.exact_prices = rounds.cap == 0.0
        if not self.exact:
            self.accuracy = (
                "Capped surprises are averaged over people: expected losses are up to 2% too low."
            )
        omega = np.array(person.imputing_covariance(world))
        read = (
            readings.members, sets.sizes, omega, readings.variance, readings.solved,
            readings.offset, readings.residual,
        )  # fmt: skip
        rules = (
            rounds.own, rounds.pull, rounds.gain2, rounds.all_weights, rounds.cap, rounds.keep,
            rounds.push, False,
        )  # fmt: skip
        self.arrays: Any = (read, rules)
        self._tails: dict[tuple[Tail, float], FloatArray | None] = {}

    def with_constant(self) -> Moments:
        """Return the same where the last test of every set is a constant, with fourth moment 1.

        By Isserlis' formula for a Gaussian x with mean m, of which this is the case of no variance,
        only the entry of the constant changes: E[x⁴] is 1, so 𝓜 loses 2 gain2 times that of W.
        """
        read, rules = self.arrays
        other = copy.copy(self)
        other.arrays, other._tails = (read, (*rules[:-1], True)), {}
        return other

    @property
    def has_closed_tails(self) -> bool:
        """Whether a linear solve gives the cost of a tail: no cap, no decay."""
        return self.exact and self._rounds.step_sizes is None

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included."""
        return np.asarray(self._readings.residual + self.sets.prices)

    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in losses and second moments along a path."""
        from preceptor.people._linear_kernels import walk

        walk(path, self._rates(first, path.size), self.sets.prices, states, losses, *self.arrays)

    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in Q at every state of a path."""
        from preceptor.people._linear_kernels import walk_back

        rates = self._rates(first, path.size)
        walk_back(path, states, rates, discount, self.sets.prices, adjoints, *self.arrays)

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return the loss of each set plus discount x <Q, P after it>."""
        from preceptor.people._linear_kernels import prices

        out = np.empty(positions.size)
        rate = float(self._rates(t, 1)[0])
        prices(state, adjoint, rate, discount, positions, self.sets.prices, out, *self.arrays)
        return out

    def _rates(self, first: int, rounds: int) -> FloatArray:
        sizes = self._rounds.step_sizes
        return np.ones(rounds) if sizes is None else sizes(first, rounds)

    def repeated(self, tail: Tail, discount: float) -> FloatArray | None:
        """Return Q of a repeated tail, by a linear solve if it spans few directions."""
        key = (tail, discount)
        if key not in self._tails:
            spanned = self._directions(tail)
            few = spanned.shape[0] <= _MOST_DIRECTIONS
            self._tails[key] = (
                self._solved(spanned, tail, discount) if few else self._summed(tail, discount)
            )
        return self._tails[key]

    def _directions(self, tail: Tail) -> FloatArray:
        """Orthonormal rows (d, n + 1) that span everything one repetition of the tail can charge.

        These are the shown weights, the rows of U, and the constant: whatever the number of tests,
        one repetition maps this small space to itself.
        """
        _members, _sizes, omega, _variance, solved, offset, _residual = self.arrays[0]
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
        return np.ascontiguousarray(spanned[sizes > 1e-10 * sizes[0]])

    def _solved(self, spanned: FloatArray, tail: Tail, discount: float) -> FloatArray | None:
        """Q = V' C V within these directions V: a repetition is affine in C, so C solves a system.

        A positive definite solution for a positive definite charge exists only if errors converge.
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
        # The second charge, on all errors, shows whether they converge.
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

    def _summed(self, tail: Tail, discount: float) -> FloatArray | None:
        """Q of a repeated tail, by repetitions until their weight is negligible."""
        adjoint = np.zeros_like(self.start)
        for _ in range(-(-negligible_after(discount) // len(tail))):
            adjoint = self._turn(adjoint, tail, discount)
        return adjoint if np.all(np.isfinite(adjoint)) and np.abs(adjoint).max() < 1e100 else None

    def _turn(self, adjoint: FloatArray, tail: Tail, discount: float) -> FloatArray:
        """The adjoint one repetition earlier; without a cap it does not depend on states."""
        path = positions_of(tail)
        states = np.zeros((path.size, *self.start.shape))
        return np.asarray(self.adjoints(states, path, 0, adjoint, discount)[0])


# Rounds of a linear learner as dense matrices, for proofs.
#
# Errors of the weights are e, g = (e, 1) and P = E[gg']. A round with set S turns g into Φg, where
# Φ depends on the case drawn; A = E[Φ]. So the mean m of g becomes Am, and the covariance of e
# also changes with the scatter of Φ. A proof about such a person needs three linear maps of
# symmetric matrices for each set:
#
#     carried(Q)   = A'QA                       pulls back the price of the mean
#     scattered(R) = E[Φ'RΦ] - A'RA             covariance that the mean adds; R is n by n
#     spread(R)    = E[Φ'RΦ], errors only       pulls back the price of the covariance
#
# They are used for few tests only: as matrices on the n(n+1)/2 numbers of a symmetric one.


@dataclass(frozen=True, eq=False)
class QuadraticRounds:
    """Rounds with each of the sets, for n tests; the loss of a round is E[g'(charge)g].

    Attributes
    ----------
    start
        g before the first round, shape (n + 1,).
    charge
        Loss of a round, price included, shape (sets, n + 1, n + 1).
    turn
        A, shape (sets, n + 1, n + 1).
    weights
        The weights that a surprise moves, n by k for each set, padded to shape (sets, n, k).
    reads
        U, shape (sets, k, n + 1): the surprise is (Ug)'x + r for shown results x.
    fourth
        Scatter of surprises: E[Φ(gg')Φ'] - A(gg')A' is weights (fourth[W] + second) weights' with
        W = Ugg'U', shape (sets, k, k, k, k).
    second
        Scatter that does not depend on the weights, shape (sets, k, k).
    """

    start: FloatArray
    charge: FloatArray
    turn: FloatArray
    weights: FloatArray
    reads: FloatArray
    fourth: FloatArray
    second: FloatArray

    def __len__(self) -> int:
        return int(self.charge.shape[0])

    @property
    def tests(self) -> int:
        """Number of tests, n."""
        return int(self.start.size) - 1

    def scaled(self, units: FloatArray, unit: float) -> QuadraticRounds:
        """Return the same rounds with errors in other units (n,), and losses in units of `unit`."""
        sizes = np.append(units, 1.0)
        return QuadraticRounds(
            self.start / sizes,
            self.charge * np.outer(sizes, sizes) / unit,
            self.turn * sizes / sizes[:, None],
            self.weights / units[:, None],
            self.reads * sizes,
            self.fourth,
            self.second,
        )

    @property
    def is_certain(self) -> bool:
        """Whether weights depend only on what is shown, so that all people have the same."""
        return not (np.any(self.fourth) or np.any(self.second))

    def carried(self, s: int, later: FloatArray) -> FloatArray:
        """Return A'QA for matrices Q, shape (..., n + 1, n + 1)."""
        return np.asarray(self.turn[s].T @ later @ self.turn[s])

    def scattered(self, s: int, later: FloatArray) -> FloatArray:
        """Return the scatter that the mean causes, priced by R (..., n, n): (..., n + 1, n + 1)."""
        weights, reads = self.weights[s], self.reads[s]
        seen = weights.T @ later @ weights
        pulled = np.einsum("ijab,...ij->...ab", self.fourth[s], seen)
        priced: FloatArray = reads.T @ pulled @ reads
        priced[..., -1, -1] += np.einsum("ij,...ij->...", self.second[s], seen)
        return priced

    def spread(self, s: int, later: FloatArray) -> FloatArray:
        """Return the price of covariance before the round, given R (..., n, n) after it."""
        turn = self.turn[s, :-1, :-1]
        return np.asarray(turn.T @ later @ turn + self.scattered(s, later)[..., :-1, :-1])


def quadratic_rounds(expected: Expected) -> QuadraticRounds | str:
    """Return the matrices of a linear learner.

    Parameters
    ----------
    expected
        Expectation of a person.

    Returns
    -------
    QuadraticRounds or str
        The matrices, or a sentence that says why there are none.
    """
    if isinstance(expected, Moments):
        if not expected.has_closed_tails:
            return "Steps change with the round, or surprises are capped: rounds are not linear."
        return _of_moments(expected)
    if isinstance(expected, Coordinates):
        return _of_coordinates(expected)
    return f"Rounds of {type(expected).__name__} are not linear in the errors."


def _of_moments(expected: Moments) -> QuadraticRounds:
    (members, sizes, omega, variance, solved, offset, residual), rules = expected.arrays
    own, pull, gain2, all_weights, _cap, keep, push, _fixed = rules
    count, widest = variance.shape[:2]
    n = omega.shape[0]
    reads, weights = np.zeros((count, widest, n + 1)), np.zeros((count, n, widest))
    charge = np.zeros((count, n + 1, n + 1))
    turn = np.tile(np.eye(n + 1), (count, 1, 1))
    scatter = np.zeros((count, widest, widest, widest, widest))
    noise = np.zeros((count, widest, widest))
    for s in range(count):
        k = int(sizes[s])
        shown, at = members[s, :k], np.arange(k)
        reads[s, :k, :n] = solved[s, :k, :k] @ omega[shown]
        reads[s, :k, n] = offset[s, :k]
        charge[s] = reads[s].T @ variance[s] @ reads[s]
        charge[s, n, n] += residual[s] + expected.sets.prices[s]
        if all_weights:
            weights[s] = reads[s, :, :n].T
        else:
            weights[s, shown, at] = 1.0
        gain = pull[s] @ reads[s]
        gain[at, shown] += own[s, :k]
        turn[s, :n] -= weights[s] @ gain
        if keep.size:
            # Errors leak back after the round, and so does their scatter.
            turn[s, :n] *= keep[:, None]
            turn[s, :n, n] += push
            weights[s] *= keep[:, None]
        V = variance[s]
        both = np.einsum("ia,bj->ijab", V, V) + np.einsum("ij,ab->ijab", V, V)
        scatter[s], noise[s] = gain2[s] * both, gain2[s] * residual[s] * V
    return QuadraticRounds(expected.start[:, -1], charge, turn, weights, reads, scatter, noise)


def _of_coordinates(expected: Coordinates) -> QuadraticRounds:
    known = expected.deviations
    count, n = expected.keep.shape
    charge = np.zeros((count, n + 1, n + 1))
    turn = np.zeros_like(charge)
    turn[:, n, n] = 1.0
    for s in range(count):
        k = int(known.sizes[s])
        shown: IntArray = known.members[s, :k]
        off = np.column_stack([known.factor[s, :k, :k] @ known.omega[shown], known.bend[s, :k]])
        charge[s] = off.T @ off
        charge[s, n, n] += known.least[s]
        turn[s, :n, :n] = np.diag(expected.keep[s])
        turn[s, :n, n] = expected.push[s]
    weights, reads = np.zeros((count, n, 1)), np.zeros((count, 1, n + 1))
    fourth, second = np.zeros((count, 1, 1, 1, 1)), np.zeros((count, 1, 1))
    return QuadraticRounds(expected.start[:, -1], charge, turn, weights, reads, fourth, second)
