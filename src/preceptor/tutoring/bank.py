"""One exact filter a kind, and what the answers so far say about which kind it is.

Every kind of person that somebody may be is followed as if it were true (`people/followed.py`),
for each of several scatters of answers, with an inverse gamma prior. The product of the densities
of all answers is how well a kind explains them. One more follower stands for nobody in particular:
weights that wander without learning. If that one explains the answers best, none of the kinds does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.logs.yes_no import score_of
from preceptor.model.risks import Risk
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.people.answering import risk_in
from preceptor.people.followed import Followed
from preceptor.people.no_learning import NoLearning
from preceptor.people.person import Person

# Scatters that are thought possible, as shares of the outcome's standard deviation: 0.02 to 1.7.
SCATTERS: FloatArray = 0.02 * 1.5 ** np.arange(12.0)
# Inverse gamma prior of the variance of answers, in units of the outcome's variance.
_SHAPE, _SCALE = 0.25, 0.005
# Nobody in particular: how far first weights, and weights from round to round, may be off, as
# shares of the typical error at first.
_WIDE, _WANDERS = 1.0, 0.2
# Constants by which answers are off, in standard deviations of the outcome; and the share of the
# last surprise that they follow.
_BIAS, _FOLLOWS = 0.1, 0.3


@dataclass(frozen=True, eq=False)
class Bank:
    """What the record says about one person, kind by kind.

    `followers` has one filter a kind, and last the one for nobody in particular. `prior` are the
    logarithms of how likely each was before the first answer, (kinds + 1,); `likelihood` those of
    the density of all answers, (kinds + 1, scatters), prior of the scatter included. `risk` says
    whether answers of 0 and 1 are decisions where the outcome is yes or no; None where it is a
    number.
    """

    world: World
    followers: tuple[Followed, ...]
    scatters: FloatArray
    prior: FloatArray
    likelihood: FloatArray
    wanders: float
    surprise: float
    answers: int
    risk: YesNoRisk | None = None

    @classmethod
    def begin(
        cls,
        world: World,
        people: Sequence[Person],
        weights: npt.ArrayLike,
        *,
        start: Sequence[int] | None = None,
        spread: npt.ArrayLike,
        none_of_these: float,
        level: bool,
        risk: Risk | None = None,
    ) -> Bank:
        """Before the first round.

        Parameters
        ----------
        world
            How tests and outcomes come about.
        people
            The kinds that it may be.
        weights
            How likely each is, shape (kinds,).
        start
            Showings of each test before, for kinds that count them.
        spread
            Standard deviation of first weights around those of the kind: one, or (n,).
        none_of_these
            How likely it is that nobody of them is right.
        level
            Whether answers may be off by a constant and follow the last surprise.
        risk
            How people answer, where the outcome is yes or no.

        Returns
        -------
        Bank
            Knows what the prior says.
        """
        unit = float(np.sqrt(world.outcome_variance)) or 1.0
        behind = (_BIAS * unit, _FOLLOWS) if level else (0.0, 0.0)
        filters = (SCATTERS.size,)

        def follow(person: Person, wide: npt.ArrayLike) -> Followed:
            begun = None if person.start_faults(start) else start
            return Followed.begin(
                world, person, wide, start=begun, extra_spread=behind, filters=filters
            )

        followers = [follow(person, spread) for person in people]
        shares = np.asarray(weights, dtype=np.float64)
        mean = shares @ np.array([each.weights[0] for each in followers]) / shares.sum()
        typical = _typical_error(world, mean)
        wide = np.maximum(_WIDE * typical, np.asarray(spread, dtype=np.float64))
        followers.append(follow(NoLearning(mean), wide))
        everybody = np.append((1.0 - none_of_these) * shares / shares.sum(), none_of_these)
        with np.errstate(divide="ignore"):
            prior = np.log(everybody)
        variances = SCATTERS**2
        # Of the logarithm of the variance, in which the grid is regular.
        density = -_SHAPE * np.log(variances) - _SCALE / variances
        density -= np.logaddexp.reduce(density)
        return cls(
            world=world,
            followers=tuple(followers),
            scatters=(SCATTERS * unit) ** 2,
            prior=prior,
            likelihood=np.tile(density, (len(followers), 1)),
            wanders=_WANDERS * typical,
            surprise=0.0,
            answers=0,
            risk=risk_in(world, risk) if world.is_binary else None,
        )

    @property
    def kinds(self) -> FloatArray:
        """How likely each kind is, and last that none of them is right, (kinds + 1,)."""
        found = self.prior + np.logaddexp.reduce(self.likelihood, axis=1)
        shares: FloatArray = np.exp(found - np.logaddexp.reduce(found))
        return shares

    @property
    def scatter(self) -> FloatArray:
        """How likely each scatter is whatever the kind, (scatters,)."""
        joint = self.prior[:, None] + self.likelihood
        found = np.logaddexp.reduce(joint, axis=0)
        shares: FloatArray = np.exp(found - np.logaddexp.reduce(found))
        return shares

    def believed(self, kind: int) -> tuple[FloatArray, FloatArray]:
        """Mean (n,) and covariance (n, n) of the present weights of somebody of a kind."""
        each = self.followers[kind]
        shares = np.exp(self.likelihood[kind] - np.logaddexp.reduce(self.likelihood[kind]))
        mean = shares @ each.weights
        away = each.weights - mean
        within = np.einsum("j,jab->ab", shares, each.weights_covariance)
        return mean, within + (shares[:, None] * away).T @ away

    def awaited(self, shown: TestSet, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the answer to a case, kind by kind (kinds + 1,).

        Of the score behind it, without the base score, where the outcome is yes or no.
        """
        means, variances = [], []
        for kind, each in enumerate(self.followers):
            shares = np.exp(self.likelihood[kind] - np.logaddexp.reduce(self.likelihood[kind]))
            found = each.awaited(each.filled(shown, values), self._behind)
            mean = float(shares @ found.mean)
            means.append(mean)
            spread = found.variance + self.scatters + (found.mean - mean) ** 2
            variances.append(float(shares @ spread))
        return np.array(means), np.array(variances)

    def answered(self, shown: TestSet, values: FloatArray, answer: float) -> Bank:
        """Once the person has answered a case.

        Parameters
        ----------
        shown
            Tests that they saw.
        values
            Their results in the world's units, in the same order.
        answer
            What they said, in the world's units; a probability or a decision where the outcome is
            yes or no.

        Returns
        -------
        Bank
            Every filter has seen the answer.
        """
        followers, likelihood = [], self.likelihood.copy()
        above = self.yes_above(answer)
        said = float(score_of(self.world, np.asarray(answer))) if self.risk is not None else answer
        for kind, each in enumerate(self.followers):
            filled = each.filled(shown, values)
            if above is None:
                update, density = each.answered(filled, said, self.scatters, self._behind)
            else:
                yes = answer == 1.0
                update, density = each.decided(filled, yes, self.scatters, above, self._behind)
            followers.append(update)
            likelihood[kind] += density
        return replace(
            self, followers=tuple(followers), likelihood=likelihood, answers=self.answers + 1
        )

    def yes_above(self, answer: float) -> float | None:
        """The score above which they say yes, if an answer is a decision; None if it is not.

        Whoever decides may still answer with a probability, which says more.
        """
        if not isinstance(self.risk, Decision) or answer not in (0.0, 1.0):
            return None
        assert self.world.outcome is not None
        return float(self.world.outcome.from_score.score(self.risk.yes_above))

    def told(
        self, shown: TestSet, values: FloatArray, outcome: float, answer: float | None
    ) -> Bank:
        """Once they have heard what was true.

        Parameters
        ----------
        shown
            Tests that they saw.
        values
            Their results in the world's units, in the same order.
        outcome
            What was true, in the world's units.
        answer
            What they had said, if they did.

        Returns
        -------
        Bank
            Everybody has learned as their kind does.
        """
        seen = np.zeros(self.world.size, dtype=np.bool_)
        seen[list(shown)] = True
        followers = [
            each.told(each.filled(shown, values), seen, outcome) for each in self.followers
        ]
        followers[-1] = followers[-1].wandered(self.wanders)
        surprise = self.surprise if answer is None else (outcome - answer) * self._surprise_unit
        return replace(self, followers=tuple(followers), surprise=surprise)

    @property
    def _surprise_unit(self) -> float:
        """What a surprise in chances of yes is in scores: in the standard deviations of both."""
        if self.world.outcome is None:
            return 1.0
        share = self.world.outcome.prevalence
        return float(np.sqrt(self.world.outcome_variance / (share * (1.0 - share))))

    @property
    def _behind(self) -> FloatArray:
        """What the coefficients behind the weights are multiplied by: a constant, a surprise."""
        return np.array([1.0, self.surprise])


def _typical_error(world: World, weights: FloatArray) -> float:
    """Root mean square of the errors of some weights; of the weights themselves if it is 0."""
    typical = float(np.sqrt(np.mean((world.coefficients - weights) ** 2)))
    return typical or float(np.sqrt(np.mean(world.coefficients**2))) or 1.0
