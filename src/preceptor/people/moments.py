"""People whose weights move linearly in their errors: everything about them from second moments.

Let g = (e, 1) with e the errors of the weights, and P = E[gg']. If S is shown, the surprise of a
person who fills in from Ω is u'x_S + r with u = U_S g, U_S = [F_S | c_S], F_S = Ω_SS⁻¹ Ω[S,:],
c_S = β_S - F_S a, β_S = Σ_SS⁻¹ (Σa)_S, and r has variance r2_S, whatever is learned. So

    loss(S) = r2_S + tr(V U P U'),        V = Σ_SS
    P'      = A P A' + B (𝓜[U P U'] + N2) B',        A = I - B K

with K = diag(own) I_S + pull U, and B either I_S (shown weights move) or F_S' (all of them do). If
weights leak back, errors then go a share f of the way to those of home, e_0: with the linear map
L g = ((1 - f) e + f e_0, 1), P' becomes L P' L' and Q' below L'Q'L before it goes back. The
cost of a schedule is linear in P: with Q = L_S + δ T_S*(Q') going backward, <L_S + δ T_S*(Q'), P>
is what any other set would cost in a round, exactly, and nothing is played again to know it. Only
fourth moments of Gaussian tests enter (Isserlis); with other marginals 𝓜 is an approximation.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.discounting import discounted_sum, negligible_after, weight_after
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.expected import Tail
from preceptor.people.linear_rounds import LinearRounds, readings_of
from preceptor.people.person import Person

if TYPE_CHECKING:
    from preceptor.people.moment_walk import MomentWalk

# Beyond this many tests a tail is not solved for in all directions at once.
_SOLVED_SIZE = 40
# A tail that can charge no more than this share of all directions is solved within those.
_FEWER_DIRECTIONS = 0.7
# Rounds of a tail that has no closed form: a decaying rate, capped surprises.
_MOST_ROUNDS = 3_000


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
        away = np.zeros(world.size) if rounds.away is None else rounds.away
        self._arrays: Any = (
            members, sets.sizes, np.array(omega), readings.variance, readings.solved,
            readings.offset, readings.residual, rounds.own, rounds.pull,
            rounds.gain2, rounds.all_weights, rounds.cap, rounds.leak, away,
        )  # fmt: skip
        errors = world.coefficients - person.initial
        start = np.append(errors, 1.0)
        self.start = np.outer(start, start)
        self._tails: dict[tuple[Tail, float], FloatArray | None] = {}

    def with_spread(self, covariance: FloatArray) -> Moments:
        """The same person; their errors begin with a second moment that has this on top."""
        wider = copy(self)
        wider.start = self.start.copy()
        wider.start[:-1, :-1] += covariance
        return wider

    def rates(self, first: int, rounds: int) -> FloatArray:
        """Size of steps in rounds first, first + 1, ... as a share of those at the start."""
        since = 1.0 + self._rounds.before + first
        return np.asarray((since + np.arange(rounds)) ** -self._rounds.decay)

    def floors(self) -> FloatArray:
        """What the best reader of each set gets wrong, and its price."""
        return np.asarray(self._readings.residual + self.sets.prices)

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Round by round."""
        return self._play(self.start, np.asarray(schedule, dtype=np.int64), 0)[0]

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus expected weight before each round, shape (rounds, n)."""
        path = np.asarray(schedule, dtype=np.int64)
        errors = np.empty((path.size, self.start.shape[0] - 1))
        state = self.start
        for t in range(path.size):
            errors[t] = state[:-1, -1]
            state = self._play(state, path[t : t + 1], t)[1]
        return errors

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

        One turn of the word is affine in Q. Where the word can charge few directions it is solved
        within them (`spanned_tail.py`), with few tests in all directions; otherwise turns are added
        until they weigh nothing. A positive definite solution for a positive definite charge
        exists only if errors settle.
        """
        key = (tail, discount)
        if key not in self._tails:
            self._tails[key] = self._tail(tail, discount)
        return self._tails[key]

    def _tail(self, tail: Tail, discount: float) -> FloatArray | None:
        from preceptor.people.spanned_tail import MOST_DIRECTIONS, directions_of, spanned_tail

        size = self.start.shape[0]
        spanned = directions_of(self, tail)
        # Unknowns grow with the square, the work to find them with its cube.
        if spanned.shape[0] <= min(MOST_DIRECTIONS, _FEWER_DIRECTIONS * size):
            return spanned_tail(self, spanned, tail, discount)
        if size - 1 <= _SOLVED_SIZE:
            return self._solved_tail(tail, discount)
        return self._added_up(tail, discount)

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

    def _added_up(self, tail: Tail, discount: float) -> FloatArray | None:
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
        from preceptor.people.moment_walk import MomentWalk

        return MomentWalk(self, rounds, discount)

    @property
    def arrays(self) -> Any:
        """What kernels take, in their order."""
        return self._arrays
