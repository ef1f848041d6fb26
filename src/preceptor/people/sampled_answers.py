"""What is expected of any kind of person in a yes-or-no world, by copies who play it.

As in `sampled.py` copies meet cases that are drawn once and stay fixed. But what a copy's answers
cost follows from its weights, whatever case comes next; so only what cases have done to weights is
left to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.acting import Imputer
from preceptor.people.answering import as_believed
from preceptor.people.sampled import Sampled
from preceptor.people.scores import scores_of

if TYPE_CHECKING:
    from preceptor.people.person import Person

_COPIES, _SEED = 200, 0


class Players:
    """Copies of one person; `state` is theirs before the next round."""

    def __init__(self, state: Any) -> None:
        self.state = state


class SampledAnswers(Sampled):
    """`Expected` of anybody whose weights can be looked into: a mean over copies.

    Parameters
    ----------
    person
        Whom to copy.
    world
        With an outcome that is yes or no.
    sets
        What may be shown.
    risk
        How scores become answers, and what those cost.
    start
        Showings of each test before, for kinds that count them; none if left out.
    copies
        How many play.
    """

    def __init__(
        self,
        person: Person,
        world: World,
        sets: SetFamily,
        risk: YesNoRisk,
        start: Sequence[int] | None = None,
        copies: int = _COPIES,
    ) -> None:
        self._see(world, sets, copies, _SEED)
        self._risk, self._person, self._start = risk, person, start
        self._believed = as_believed(world, risk)
        covariance = person.imputing_covariance(world)
        self._imputer = Imputer(covariance)
        self._membership = sets.membership
        self._scores = scores_of(world, sets, covariance, risk)

    @property
    def at_once(self) -> bool:
        """States are kept on the way."""
        return False

    def played(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Loss of each copy in each round (copies, rounds)."""
        return self.play_on(self.newcomers(), 0, np.asarray(schedule, dtype=np.int64))

    def newcomers(self) -> list[Any]:
        """Copies who have not played yet, all in one."""
        return [Players(self._person.fresh(self._believed, (self._copies,), self._start))]

    def play_on(self, people: list[Any], first: int, schedule: IntArray) -> FloatArray:
        """Losses (copies, rounds) of people who stand before round `first`; they learn."""
        (players,) = people
        person, world = self._person, self._believed
        cases = self._cases(first, first + schedule.size)
        weights = np.empty((self._copies, schedule.size, world.size))
        for t, position in enumerate(schedule.tolist()):
            weights[:, t] = person.weights_of(world, players.state)
            shown = np.broadcast_to(self._membership[position], (self._copies, world.size))
            values = cases.features[:, t, self._tests[position]]
            filled = values @ self._imputer.fill(self._sets[position])
            players.state = person.learn(world, players.state, filled, shown, cases.outcomes[:, t])
        return self._charged_for(schedule, weights) + self._prices[schedule]

    def _charged_for(self, schedule: IntArray, weights: FloatArray) -> FloatArray:
        """What answers with these weights (copies, rounds, n) cost, without prices."""
        from preceptor.people._score_kernels import path_losses

        losses = np.empty(weights.shape[:2])
        arrays = self._scores.arrays
        free = (*arrays[:6], np.zeros(len(self._sets)), *arrays[7:])
        for row, own in zip(losses, weights, strict=True):
            path_losses(schedule, np.ascontiguousarray(own), row, *free)
        return losses
