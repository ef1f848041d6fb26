"""Expectations that go round by round, and the walk over them: states forward, gradients backward.

A kind defines how a schedule changes its state and what its rounds cost (`play`), the gradient of
the remaining cost with respect to the state (`adjoints`), and the cost of each set in one round
(`set_prices`). That gives prices that are exact for the changed round and, unless a kind knows more
about later rounds, first order for those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from preceptor._base.numerics import discounted_sum, negligible_after, weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import Tail, check_endless, positions_of
from preceptor.model.problem import MOST_ROUNDS
from preceptor.model.sets import SetFamily

# Rounds are played in stretches of this length, and a tail until another repetition would change
# the total by less than this share of it, or for as long as a problem can be.
_STRETCH, _SETTLED = 128, 1e-11


class Stepwise(ABC):
    """`Expected` of a kind defined by how a round changes its state, an array of fixed shape."""

    exact: bool = True
    exact_prices: bool = False
    accuracy: str = ""
    # Whether changes with an unfavourable gradient are not played: for kinds that are slow to play.
    screens_changes: bool = False
    sets: SetFamily
    start: FloatArray  # the state before the first round

    @property
    def has_closed_tails(self) -> bool:
        """Whether the cost of a tail has a closed form; otherwise tails are played."""
        return False

    @property
    def adjoint_shape(self) -> tuple[int, ...]:
        """Shape of the gradient at one state."""
        return self.start.shape

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Return the expected loss of each round."""
        return self._played(positions_of(schedule))[0]

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Return the discounted loss of a schedule and of its tail repeated forever."""
        path = positions_of(schedule)
        losses, state = self._played(path)
        rest = self.tail_cost(state, discount, tail, path.size)
        return discounted_sum(losses, discount) + discount**path.size * rest

    def _played(self, path: IntArray) -> tuple[FloatArray, FloatArray]:
        """Losses along a path from the start, and the state after it."""
        losses, state = np.empty(path.size), self.start
        for first in range(0, path.size, _STRETCH):
            part = slice(first, first + _STRETCH)
            losses[part], states = self.play(state, path[part], first)
            state = states[-1]
        return losses, state

    def walk(self, rounds: int, discount: float) -> FirstOrderWalk:
        """Return a walk for schedules of this many rounds."""
        return FirstOrderWalk(self, rounds, discount)

    @abstractmethod
    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included."""

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Return losses (rounds,) along a path from round `first`, and states (rounds + 1, ...)."""
        states, losses = np.empty((path.size + 1, *state.shape)), np.empty(path.size)
        states[0] = state
        self.advance(path, first, states, losses)
        return losses, states

    @abstractmethod
    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in the losses of a path from round `first`, and all states but the first."""

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """Return gradients of the remaining cost at every state, given the last."""
        adjoints = np.empty((path.size + 1, *end.shape))
        adjoints[-1] = end
        self.retreat(path, first, states, adjoints, discount)
        return adjoints

    @abstractmethod
    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in the gradients at all states of a path from round `first` but the last."""

    @abstractmethod
    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return the loss of each set in round t plus discount x gradient x the state after it.

        The last of the sets is the present one, where that matters; a constant that is the same for
        all sets may be omitted.
        """

    def tail_cost(self, state: FloatArray, discount: float, tail: Tail, first: int = 0) -> float:
        """Return the cost of a tail from a state, discounted to its first round, `first`."""
        return self._played_tail(state, discount, tail, first)[0] if tail else 0.0

    def tail_adjoint(
        self, state: FloatArray, discount: float, tail: Tail, first: int = 0
    ) -> FloatArray | None:
        """Return the gradient of `tail_cost`; None if the cost is infinite."""
        _, path = self._played_tail(state, discount, tail, first)
        _, states = self.play(state, path, first)
        return np.asarray(self.adjoints(states, path, first, np.zeros_like(state), discount)[0])

    def _played_tail(
        self, state: FloatArray, discount: float, tail: Tail, first: int
    ) -> tuple[float, IntArray]:
        """The discounted cost of a tail from a state, and the rounds that had to be played.

        It is played in whole repetitions until further change is negligible; all later repetitions
        are taken to cost the same as the last.
        """
        check_endless(discount)
        word = positions_of(tail)
        stretch = np.tile(word, -(-_STRETCH // word.size))
        most = min(negligible_after(discount), MOST_ROUNDS)
        total, weight, played = 0.0, 1.0, 0
        turn = weights(discount, word.size)
        while True:
            losses, states = self.play(state, stretch, first + played)
            total += weight * discounted_sum(losses, discount)
            state, played = states[-1], played + stretch.size
            weight *= discount**stretch.size
            last, before = losses[-word.size :], losses[-2 * word.size : -word.size]
            # Assumes that each later repetition changes by no more than the last one did.
            rest = weight * float(turn @ last) / (1.0 - discount**word.size)
            drift = float(np.max(np.abs(last - before))) if before.size else np.inf
            unknown = weight * drift / (1.0 - discount) ** 2 / word.size
            if not np.isfinite(total):
                return np.inf, np.tile(word, played // word.size)
            if unknown <= _SETTLED * abs(total + rest) or played >= most:
                return total + rest, np.tile(word, played // word.size)


class FirstOrderWalk:
    """A schedule with the state before each round, and gradients of the cost at each of them."""

    def __init__(self, person: Stepwise, rounds: int, discount: float) -> None:
        self._person, self._rounds, self._discount = person, rounds, float(discount)
        self._schedule = np.zeros(rounds, dtype=np.int64)
        self._states = np.empty((rounds + 1, *person.start.shape))
        self._states[0] = person.start
        self._losses = np.zeros(rounds)
        self._weights = weights(discount, rounds + 1)
        self._tail: Tail = ()
        self._rest = 0.0  # cost of the tail, discounted to its first round
        self._total = np.inf
        self._adjoints = np.zeros((rounds + 1, *person.adjoint_shape))
        self._at = rounds + 1  # the first state whose gradient is known

    def forward(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Set the schedule from `since` on, or from the first round that was changed."""
        since = int(np.argmax(np.append(self._schedule[:since] != schedule[:since], True)))
        self._schedule[:] = schedule
        self._tail = tail
        self._play_on(since)
        self._rest = self._tail_cost(tail, self._states[-1])
        self._add_up()
        return self._total if np.isfinite(self._total) else np.inf

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """Add the price difference from the present set to the present total."""
        both = np.append(positions_of(positions), self._schedule[t])
        later = self._adjoint(t + 1)
        out = self._person.set_prices(self._states[t], t, later, both, self._discount)
        return np.asarray(self._total + self._weights[t] * (out[:-1] - out[-1]))

    def step_back(self, t: int, position: int) -> None:
        """Fix the set shown in round t."""
        self.step_back_over(t, np.array([position], dtype=np.int64))

    def step_back_over(self, t: int, positions: IntArray) -> None:
        """Fix several rounds at once; replay only if they change."""
        end, person = t + positions.size, self._person
        if np.array_equal(self._schedule[t:end], positions):
            return
        # The end hardly moves, so the gradient says what that does to the tail, which is replayed
        # when the next schedule is set. Gradients of an approximation are too rough for that.
        by_slopes = not person.has_closed_tails and (person.exact or person.screens_changes)
        before, slopes = self._states[-1].copy(), self._adjoint(self._rounds).copy()
        self._schedule[t:end] = positions
        self._play_on(t)
        if by_slopes:
            self._rest += float(np.vdot(slopes, self._states[-1] - before))
            self._adjoints[-1], self._at = slopes, self._rounds
        else:
            self._rest = self._tail_cost(self._tail, self._states[-1])
        self._add_up()

    def replace_block(self, t: int, positions: IntArray) -> float:
        """Play everything from round t on, if it may be better than the present schedule.

        For kinds that are slow to play, a clearly worse change is not played to the end; the
        gradient estimates its cost.
        """
        person, end, paid = self._person, t + positions.size, self._paid(t)
        state, begun = self._states[t], 0.0
        if person.screens_changes:
            losses, states = person.play(state, positions, t)
            begun, state = float(losses @ self._weights[t:end]), states[-1]
            off = float(np.vdot(self._adjoint(end), state - self._states[end]))
            guess = paid + begun + self._total - self._paid(end) + float(self._weights[end]) * off
            if guess > self._total:
                return guess
            positions, t = positions[:0], end
        later = self._schedule[t:].copy()
        later[: positions.size] = positions
        losses, states = person.play(state, later, t)
        played = float(losses @ self._weights[t:-1])
        return paid + begun + played + float(self._weights[-1]) * self._tail_from(states[-1])

    def _tail_from(self, state: FloatArray) -> float:
        """Cost of the tail from another state; by its gradient if that is cheap and precise."""
        # A tail with a weight below 0.05 hardly matters, so its gradient is precise enough.
        if self._tail and self._person.screens_changes and self._weights[-1] < 0.05:
            away = state - self._states[-1]
            return self._rest + float(np.vdot(self._adjoint(self._rounds), away))
        return self._tail_cost(self._tail, state)

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """Total cost of the present schedule with each of these tails."""
        rest = np.array([self._tail_cost(tail, self._states[-1]) for tail in tails])
        return np.asarray(self._paid(self._rounds) + self._weights[-1] * rest)

    def _paid(self, t: int) -> float:
        """Discounted cost of the rounds before t."""
        return float(self._losses[:t] @ self._weights[:t])

    def _play_on(self, since: int) -> None:
        """Play the schedule from a round on; all gradients change."""
        path = self._schedule[since:]
        losses, states = self._person.play(self._states[since], path, since)
        self._losses[since:], self._states[since:] = losses, states
        self._at = self._rounds + 1

    def _add_up(self) -> None:
        self._total = float(self._paid(self._rounds) + self._weights[-1] * self._rest)

    def _tail_cost(self, tail: Tail, state: FloatArray) -> float:
        return self._person.tail_cost(state, self._discount, tail, self._rounds)

    def _adjoint(self, t: int) -> FloatArray:
        """The gradient at the state before round t."""
        person, discount = self._person, self._discount
        if self._at > self._rounds:
            self._adjoints[-1] = 0.0
            if self._tail:
                end = person.tail_adjoint(self._states[-1], discount, self._tail, self._rounds)
                self._adjoints[-1] = np.inf if end is None else end
            self._at = self._rounds
        if t < self._at:
            known = slice(t, self._at + 1)
            path, end = self._schedule[t : self._at], self._adjoints[self._at]
            self._adjoints[known] = person.adjoints(self._states[known], path, t, end, discount)
            self._at = t
        return np.asarray(self._adjoints[t])
