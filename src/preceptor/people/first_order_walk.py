"""One walk for everybody whose rounds are not linear: states forward, slopes backward.

A kind says how a schedule moves its state and what its rounds cost (`play`), how the cost of what
is left changes with the state (`adjoints`), and what each set would cost in one round
(`set_prices`). From that come prices that are exact for the changed round and good to first order
for the later ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from preceptor._base.discounting import discounted_sum, negligible_after, weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.people.expected import Tail, Walk, check_endless, positions_of

# Rounds are played so many at a time, a tail until another turn would change the total by less than
# this share of it, or at most so long.
_STRETCH, _SETTLED, _LONGEST = 128, 1e-11, 200_000
# A tail that weighs less than this, next to the first round, may be priced by its slopes.
_LIGHT = 0.05


class Stepwise(ABC):
    """`Expected` of a kind that says how a round moves its state, an array of fixed shape."""

    exact: bool = True
    exact_prices: bool = False
    accuracy: str = ""
    # Whether changes that slopes say are worse are not played: for those who take long to play.
    guesses: bool = False
    sets: SetFamily
    start: FloatArray  # the state before the first round

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Expected loss of each round."""
        return play_through(self, positions_of(schedule))[0]

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted cost of a schedule and of its tail repeated forever."""
        path = positions_of(schedule)
        losses, state = play_through(self, path)
        head = discounted_sum(losses, discount)
        if not tail:
            return head
        return head + discount**path.size * tail_cost(self, state, path.size, discount, tail)[0]

    def walk(self, rounds: int, discount: float) -> Walk:
        """Room for schedules of so many rounds."""
        return FirstOrderWalk(self, rounds, discount)

    @abstractmethod
    def floors(self) -> FloatArray:
        """What the best reader of each set gets wrong, and its price."""

    @abstractmethod
    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses (rounds,) along a path that begins in round `first`, states (rounds + 1, ...)."""

    @abstractmethod
    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """Slopes of what is left of the cost at every state, given those at the last."""

    @abstractmethod
    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Loss of each set in round t, plus discount x slopes x the state after it.

        The last of the sets is the one that is laid, where that matters; a constant that is the
        same for all sets may be left out.
        """


def play_through(person: Stepwise, path: IntArray) -> tuple[FloatArray, FloatArray]:
    """Losses along a path from the start, and the state after it; no other state is kept."""
    losses, state = np.empty(path.size), person.start
    for first in range(0, path.size, _STRETCH):
        part = slice(first, first + _STRETCH)
        losses[part], states = person.play(state, path[part], first)
        state = states[-1]
    return losses, state


def tail_cost(
    person: Stepwise, state: FloatArray, first: int, discount: float, tail: Tail
) -> tuple[float, IntArray]:
    """Discounted cost of a tail from a state, and the rounds of it that had to be played.

    It is played in whole turns until nothing changes any more that weighs; what comes after is
    taken to cost what the last turn did.
    """
    check_endless(discount)
    word = positions_of(tail)
    stretch = np.tile(word, -(-_STRETCH // word.size))
    most = min(negligible_after(discount), _LONGEST)
    total, weight, played = 0.0, 1.0, 0
    turn = weights(discount, word.size)
    while True:
        losses, states = person.play(state, stretch, first + played)
        total += weight * discounted_sum(losses, discount)
        state, played = states[-1], played + stretch.size
        weight *= discount**stretch.size
        last, before = losses[-word.size :], losses[-2 * word.size : -word.size]
        # What is left changes by no more than the last turn did, every turn anew.
        rest = weight * float(turn @ last) / (1.0 - discount**word.size)
        drift = float(np.max(np.abs(last - before))) if before.size else np.inf
        unknown = weight * drift / (1.0 - discount) ** 2 / word.size
        if not np.isfinite(total):
            return np.inf, np.tile(word, played // word.size)
        if unknown <= _SETTLED * abs(total + rest) or played >= most:
            return total + rest, np.tile(word, played // word.size)


class FirstOrderWalk:
    """A schedule with the states before all rounds, and slopes of the cost at each of them."""

    def __init__(self, person: Stepwise, rounds: int, discount: float) -> None:
        self._person, self._rounds, self._discount = person, rounds, discount
        self._schedule = np.zeros(rounds, dtype=np.int64)
        self._states = np.empty((rounds + 1, *person.start.shape))
        self._states[0] = person.start
        self._losses = np.zeros(rounds)
        self._weights = weights(discount, rounds + 1)
        self._tail: Tail = ()
        self._rest = 0.0  # what the tail costs, discounted to its first round
        self._total = np.inf
        self._end: FloatArray | None = None  # slopes at the end, once they are asked for
        self._slopes: FloatArray | None = None  # and those at all rounds

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward from `since`, or from where other rounds were taken in."""
        since = int(np.argmax(np.append(self._schedule[:since] != schedule[:since], True)))
        self._schedule[:] = schedule
        self._tail = tail
        self._forward(since)
        self._rest, self._end = self._tail_cost(tail), None
        self._total = float(self._losses @ self._weights[:-1] + self._weights[-1] * self._rest)
        return self._total if np.isfinite(self._total) else np.inf

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """Counted from what the schedule costs with the set that is shown now."""
        both = np.append(positions_of(positions), self._schedule[t])
        later = self._taken_back()[t + 1]
        out = self._person.set_prices(self._states[t], t, later, both, self._discount)
        return np.asarray(self._total + self._weights[t] * (out[:-1] - out[-1]))

    def back(self, t: int, position: int) -> None:
        """Slopes are known at all rounds; only a change has to be played."""
        self.back_over(t, np.array([position], dtype=np.int64))

    def back_over(self, t: int, positions: IntArray) -> None:
        """Take in several rounds at once."""
        end = t + positions.size
        if np.array_equal(self._schedule[t:end], positions):
            return
        before = self._states[-1].copy()
        self._schedule[t:end] = positions
        self._forward(t)
        if not (self._person.exact or self._person.guesses):
            # Of an approximation, slopes are too rough to say what that does to a long tail.
            self._rest, self._end = self._tail_cost(self._tail), None
        elif self._tail:
            # The end has hardly moved; the tail is played again when the schedule is laid.
            self._rest += float(np.vdot(self._end_slopes(), self._states[-1] - before))
        self._total = float(self._losses @ self._weights[:-1] + self._weights[-1] * self._rest)

    def block(self, t: int, positions: IntArray) -> float:
        """Everything from round t on is played, if it may be better than what is there.

        Of people who take long to play, what is clearly worse is not played to the end: slopes say
        about how much worse it is.
        """
        person, end = self._person, t + positions.size
        paid = float(self._losses[:t] @ self._weights[:t])
        state, begun = self._states[t], 0.0
        if person.guesses:
            losses, states = person.play(state, positions, t)
            begun, state = float(losses @ self._weights[t:end]), states[-1]
            off = float(np.vdot(self._taken_back()[end], state - self._states[end]))
            before = float(self._losses[:end] @ self._weights[:end])
            guess = paid + begun + self._total - before + float(self._weights[end]) * off
            if guess > self._total:
                return guess
            positions, t = positions[:0], end
        later = self._schedule[t:].copy()
        later[: positions.size] = positions
        losses, states = person.play(state, later, t)
        played = float(losses @ self._weights[t:-1])
        return paid + begun + played + float(self._weights[-1]) * self._tail_from(states[-1])

    def _tail_from(self, state: FloatArray) -> float:
        """What the tail costs from another state than the laid one."""
        if not self._tail:
            return 0.0
        person = self._person
        if person.guesses and self._weights[-1] < _LIGHT:
            return self._rest + float(np.vdot(self._end_slopes(), state - self._states[-1]))
        return tail_cost(person, state, self._rounds, self._discount, self._tail)[0]

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """The laid rounds, then each of the tails."""
        head = float(self._losses @ self._weights[:-1])
        return np.array([head + self._weights[-1] * self._tail_cost(tail) for tail in tails])

    def _forward(self, since: int) -> None:
        path = self._schedule[since:]
        losses, states = self._person.play(self._states[since], path, since)
        self._losses[since:], self._states[since:] = losses, states
        self._slopes = None

    def _tail_cost(self, tail: Tail) -> float:
        if not tail:
            return 0.0
        return tail_cost(self._person, self._states[-1], self._rounds, self._discount, tail)[0]

    def _end_slopes(self) -> FloatArray:
        """Slopes of what the tail costs, at the state that it begins in."""
        if self._end is None:
            state = self._states[-1]
            self._end = np.zeros_like(state)
            if self._tail:
                person, discount = self._person, self._discount
                _, path = tail_cost(person, state, self._rounds, discount, self._tail)
                _, states = person.play(state, path, self._rounds)
                nothing = np.zeros_like(state)
                self._end = person.adjoints(states, path, self._rounds, nothing, discount)[0]
        return self._end

    def _taken_back(self) -> FloatArray:
        if self._slopes is None:
            self._slopes = self._person.adjoints(
                self._states, self._schedule, 0, self._end_slopes(), self._discount
            )
        return self._slopes
