"""What is expected of any kind of person in a yes-or-no world, by copies who play it.

As in `sampled.py` copies meet cases that are drawn once and stay fixed. But what a copy's answers
cost follows from its weights, whatever case comes next; so only what cases have done to weights is
left to chance. Where nothing is, one copy plays and rounds are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.score_pairs import ScorePair
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.acting import Imputer
from preceptor.people.answering import Answering
from preceptor.people.sampled import Sampled
from preceptor.people.scores import Scores, scores_of

if TYPE_CHECKING:
    from preceptor.people.person import Person

_COPIES, _SEED = 200, 0
_TAILS = (
    "Rounds are exact; without end, those that together weigh a thousandth of all are taken to "
    "cost what the last ones did."
)


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
    certain
        Whether weights follow from what was shown: then one copy is as good as many.
    copies
        How many play otherwise.
    """

    def __init__(
        self,
        person: Person,
        world: World,
        sets: SetFamily,
        risk: YesNoRisk,
        start: Sequence[int] | None = None,
        certain: bool = False,
        copies: int = _COPIES,
    ) -> None:
        self._see(world, sets, 1 if certain else copies, _SEED)
        self._risk = risk
        self._person, self._start, self._certain = person, start, certain
        if certain:
            self.accuracy = _TAILS
        covariance = person.imputing_covariance(world)
        self._answering = Answering(world, risk, covariance)
        self._imputer = Imputer(covariance)
        self._membership = sets.membership
        self._scores: Scores | None = None
        if not risk.allows_for_hidden:
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
        world = self._answering.world
        return [Players(self._person.fresh(world, (self._copies,), self._start))]

    def play_on(self, people: list[Any], first: int, schedule: IntArray) -> FloatArray:
        """Losses (copies, rounds) of people who stand before round `first`; they learn."""
        (players,) = people
        person, world = self._person, self._answering.world
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
        losses = np.empty(weights.shape[:2])
        if self._scores is not None:
            from preceptor.people._score_kernels import path_losses

            arrays = self._scores.arrays
            free = (*arrays[:6], np.zeros(len(self._sets)), *arrays[7:])
            for row, own in zip(losses, weights, strict=True):
                path_losses(schedule, np.ascontiguousarray(own), row, *free)
            return losses
        for position in np.unique(schedule).tolist():
            rounds = np.flatnonzero(schedule == position)
            losses[:, rounds] = self._answering.risk.expected(
                self.pair_of(weights[:, rounds], position)
            )
        return losses

    def pair_of(self, weights: FloatArray, position: int) -> ScorePair:
        """The true score and that of people with these weights (..., n), when a set is shown."""
        world, outcome = self._world, self._world.outcome
        assert outcome is not None
        rows, sigma = self._tests[position], self._world.covariance
        read = weights @ self._imputer.fill(self._sets[position]).T
        return ScorePair(
            outcome.from_score,
            world.base_score,
            world.score_variance,
            np.asarray(self._answering.world.base_score),
            read @ (sigma @ world.coefficients)[rows],
            np.sum((read @ sigma[np.ix_(rows, rows)]) * read, axis=-1),
            self._answering.hidden(self._sets[position], weights),
        )

    def _noted(self, totals: FloatArray) -> float:
        """Mean of totals (copies,); there is nothing to note where chance plays no part."""
        return float(totals.mean()) if self._certain else super()._noted(totals)
