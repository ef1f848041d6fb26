"""People whose errors move linearly: what they are expected to cost, and the walk that prices it.

Let g = (e, 1) with e the errors of the weights, and P = E[gg'], an (n + 1) x (n + 1) matrix. A
round costs a linear function of P and moves P by a linear map, so everything from some round on
costs <Q, P> for one matrix Q, which goes backward from round to round. What any other set would
cost in a round is read off Q, exactly, and nothing is played again. A kind of person only says
how P goes forward, how Q goes backward, and what the Q of a word repeated forever is
(`coordinates.py`, `moments.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from preceptor._base.discounting import weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.people.expected import Tail, Walk, check_endless, positions_of
from preceptor.people.first_order_walk import Stepwise, play_through


class SecondMoments(Stepwise):
    """`Expected` of people whose errors move linearly: exact, with exact prices."""

    exact_prices: bool = True

    def __init__(self, sets: SetFamily, errors: npt.ArrayLike) -> None:
        self.sets = sets
        start = np.append(np.asarray(errors, dtype=np.float64), 1.0)
        self.start: FloatArray = np.outer(start, start)

    def with_spread(self, covariance: FloatArray) -> SecondMoments:
        """The same person; their errors begin with a second moment that has this on top."""
        wider = copy(self)
        wider.start = self.start.copy()
        wider.start[:-1, :-1] += covariance
        return wider

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus expected weight before each round, shape (rounds, n)."""
        states = self.play(self.start, positions_of(schedule), 0)[1]
        return states[:-1, :-1, -1]

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """A sum, and for the tail one product with its adjoint."""
        path = positions_of(schedule)
        losses, state = play_through(self, path)
        rounds = weights(discount, path.size + 1)
        return float(losses @ rounds[:-1] + rounds[-1] * self.tail_cost(state, discount, tail))

    def tail_cost(self, state: FloatArray, discount: float, tail: Tail) -> float:
        """Discounted cost of a tail that begins in this state."""
        if not tail:
            return 0.0
        check_endless(discount)
        adjoint = self.tail_adjoint(tail, discount)
        return np.inf if adjoint is None else float(np.vdot(adjoint, state))

    def walk(self, rounds: int, discount: float) -> Walk:
        """Room for schedules of so many rounds."""
        return AdjointWalk(self, rounds, discount)

    @abstractmethod
    def tail_adjoint(self, tail: Tail, discount: float) -> FloatArray | None:
        """Q of a word repeated forever; None if errors never settle."""


class AdjointWalk:
    """A schedule with the states before all rounds, and an adjoint at each round taken in."""

    def __init__(self, person: SecondMoments, rounds: int, discount: float) -> None:
        self._person, self._rounds, self._discount = person, rounds, float(discount)
        self._states = np.empty((rounds + 1, *person.start.shape))
        self._states[0] = person.start
        self._paid = np.zeros(rounds + 1)  # cost of the rounds before each
        self._weights = weights(discount, rounds + 1)
        self._adjoints = np.zeros(self._states.shape)
        self._at = rounds  # the round that it was taken back to

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Forward from `since`; the adjoint stands behind the last round."""
        person, path = self._person, positions_of(schedule)[since:]
        losses, self._states[since:] = person.play(self._states[since], path, since)
        paid = np.cumsum(losses * self._weights[since:-1])
        self._paid[since + 1 :] = self._paid[since] + paid
        total = self._with(tail)
        end = person.tail_adjoint(tail, self._discount) if tail else np.zeros_like(person.start)
        self._adjoints[-1] = np.inf if end is None else end
        self._at = self._rounds
        return total if np.isfinite(total) else np.inf

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """One product with the adjoint for each set."""
        out = self._person.set_prices(
            self._states[t], t, self._adjoints[self._at], positions_of(positions), self._discount
        )
        return np.asarray(self._paid[t] + self._weights[t] * out)

    def back(self, t: int, position: int) -> None:
        """The adjoint one round earlier."""
        self.back_over(t, np.array([position], dtype=np.int64))

    def back_over(self, t: int, positions: IntArray) -> None:
        """The adjoint as many rounds earlier, and at all rounds between."""
        between = slice(t, t + positions.size + 1)
        self._adjoints[between] = self._person.adjoints(
            self._states[between], positions, t, self._adjoints[self._at], self._discount
        )
        self._at = t

    def resume(self, t: int) -> None:
        """The adjoint of round t is still there."""
        self._at = t

    def block(self, t: int, positions: IntArray) -> float:
        """Plays the block, and takes everything later from the adjoint."""
        path = positions_of(positions)
        losses, states = self._person.play(self._states[t], path, t)
        last = t + path.size
        here = float(losses @ self._weights[t:last])
        later = float(np.vdot(self._adjoints[self._at], states[-1]))
        return float(self._paid[t]) + here + float(self._weights[last]) * later

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """One adjoint each."""
        return np.array([self._with(tail) for tail in tails])

    def _with(self, tail: Tail) -> float:
        """What the laid rounds cost with a tail behind them."""
        rest = self._person.tail_cost(self._states[-1], self._discount, tail)
        return float(self._paid[-1] + self._weights[-1] * rest)
