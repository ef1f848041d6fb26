"""A bank of filters, one per kind, and the posterior over kinds given the answers so far.

Each kind is followed as if it were true (`people/filtering.py`), for each width of scatter of
`posterior.py`. The likelihood of a kind is the product of the predictive densities of all answers.
One more filter stands for none of the kinds (`posterior.py`). If it explains the answers best, none
of the kinds does. Priors and the sum over widths are those of
`posterior.py`, so that probabilities are those of a log read in one go.

Answers of most kinds may have a constant bias. In kinds that learn the level (`WithLevel`), the
level takes its place, with the same prior around the kind's first level: never both. Following the
last surprise is over after one round, so it stays a nuisance of all kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.data.log_cells import score_of
from preceptor.learners.posterior import (
    LOG_WIDTHS,
    PRIOR,
    STRANGERS_KAPPA,
    ToldRounds,
    first_spread,
    over_widths,
    width_shares,
)
from preceptor.learners.records import FARTHEST, outcome_units
from preceptor.model.person import Person
from preceptor.model.risks import Risk
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision, YesNoRisk, as_yes_no_risk
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.filtering import WeightFilter


@dataclass(frozen=True, eq=False)
class FilterBank:
    """What the record says about one person, kind by kind.

    `followers` has one filter per kind, and last the one for none of the kinds. `prior` is the log
    prior of each, (kinds + 1,); `likelihood` the log density of all answers, (kinds + 1, scatters);
    `scatters` their variances; `drift` the standard deviation (n,) by which weights of the last
    filter drift per told round; `follow_mean` the expected share of the last `surprise` that
    answers follow; `past` the told rounds. `risk` says whether answers of 0 and 1 are decisions
    where the outcome is yes or no; None where the outcome is a number. `process_noise` is the
    standard deviation by which weights of every kind may change beyond what the kind predicts, per
    told round.
    """

    world: World
    followers: tuple[WeightFilter, ...]
    scatters: FloatArray
    prior: FloatArray
    likelihood: FloatArray
    drift: FloatArray
    follow_mean: float
    surprise: float
    past: ToldRounds
    answers: int
    risk: YesNoRisk | None = None
    process_noise: FloatArray | float = 0.0

    @classmethod
    def begin(
        cls,
        world: World,
        people: Sequence[Person],
        weights: npt.ArrayLike,
        *,
        start: Sequence[int] | None = None,
        spread: npt.ArrayLike | None = None,
        none_of_these: float = PRIOR.none_of_these,
        level: bool = True,
        risk: Risk | None = None,
        process_noise: float = 0.0,
    ) -> FilterBank:
        """Filters before the first round.

        Parameters
        ----------
        world
            Joint distribution of tests and outcome.
        people
            One person of each kind.
        weights
            Prior weight of each kind, shape (kinds,).
        start
            Earlier showings of each test, for kinds that count them.
        spread
            Standard deviation of first weights around those of the kind: one, or (n,); by default
            as for people about whom nothing is known.
        none_of_these
            Prior probability that none of the kinds is right.
        level
            Whether answers may have a constant bias and follow the last surprise.
        risk
            How people answer, where the outcome is yes or no.
        process_noise
            Variance added to every weight per told round, as a share of its prior variance.

        Returns
        -------
        FilterBank
            Holding the prior.
        """
        unit = float(np.sqrt(world.outcome_variance)) or 1.0
        standard = unit / np.sqrt(np.diag(world.covariance))
        around = np.asarray(first_spread(world) if spread is None else spread, np.float64)
        nuisances = (PRIOR.bias * unit, PRIOR.follow) if level else (0.0, 0.0)

        def follow(person: Person, wide: FloatArray, *extra: float) -> WeightFilter:
            begun = None if person.start_faults(start) else start
            return WeightFilter.begin(
                world, person, wide, start=begun, extra_spread=(*nuisances, *extra),
                filters=LOG_WIDTHS.shape,
            )  # fmt: skip

        followers = [follow(person, around) for person in people]
        shares = np.asarray(weights, dtype=np.float64)
        mean = shares @ np.array([each.weights[0] for each in followers]) / shares.sum()
        wide = np.maximum(first_spread(world), around)
        nobody = NoLearning(mean, STRANGERS_KAPPA)
        followers.append(follow(nobody, wide, PRIOR.memory, PRIOR.push))
        with np.errstate(divide="ignore"):
            known = (1.0 - none_of_these) * shares / shares.sum()
            prior = np.log(np.append(known, none_of_these))
        return cls(
            world=world,
            followers=tuple(followers),
            scatters=(np.exp(LOG_WIDTHS) * unit) ** 2,
            prior=prior,
            likelihood=np.zeros((len(followers), LOG_WIDTHS.size)),
            drift=PRIOR.drift * standard,
            follow_mean=PRIOR.follow_mean if level else 0.0,
            surprise=0.0,
            past=ToldRounds(np.zeros((0, world.size)), np.zeros(0), np.zeros(0)),
            answers=0,
            risk=as_yes_no_risk(risk) if world.is_binary else None,
            process_noise=np.sqrt(process_noise) * around,
        )

    @property
    def kinds(self) -> FloatArray:
        """Probability of each kind, and last that none of them is right, (kinds + 1,)."""
        return _normalised(self.prior + over_widths(self.likelihood).log_evidence)

    @property
    def scatter(self) -> FloatArray:
        """Probability of each scatter over all kinds, (scatters,)."""
        return np.asarray(self.joint.sum(axis=0))

    @property
    def joint(self) -> FloatArray:
        """Probability of each kind with each scatter, (kinds + 1, scatters)."""
        return np.asarray(self.kinds[:, None] * width_shares(self.likelihood))

    def posterior_weights(self, kind: int) -> tuple[FloatArray, FloatArray]:
        """Mean (n,) and covariance (n, n) of the present weights of a person of this kind."""
        mean, covariance = self.posterior_moving(kind)
        n = self.world.size
        return mean[:n], covariance[:n, :n]

    def posterior_moving(self, kind: int) -> tuple[FloatArray, FloatArray]:
        """The same of all that moves: of people who learn the level, it follows the weights."""
        each, shares = self.followers[kind], width_shares(self.likelihood[kind])
        means = each.mean[:, : each.moving]
        mean = shares @ means
        away = means - mean
        covariances = each.covariance[:, : each.moving, : each.moving]
        within = np.einsum("j,jab->ab", shares, covariances)
        return mean, within + (shares[:, None] * away).T @ away

    def predicted_answer(self, shown: TestSet, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the answer to a case, kind by kind (kinds + 1,).

        Where the outcome is yes or no, those of the score behind it, without the base score.
        """
        means, variances = [], []
        shares_of = width_shares(self.likelihood)
        for kind, (each, shares) in enumerate(zip(self.followers, shares_of, strict=True)):
            filled = each.filled(shown, values)
            found = each.predicted_answer(filled, self._extra(kind, shown, values, filled))
            mean = float(shares @ found.mean)
            means.append(mean + self._followed)
            spread = found.variance + self.scatters + (found.mean - mean) ** 2
            variances.append(float(shares @ spread))
        return np.array(means), np.array(variances)

    def answered(self, shown: TestSet, values: FloatArray, answer: float) -> FilterBank:
        """Condition every filter on the answer to a case.

        Parameters
        ----------
        shown
            The tests shown.
        values
            Their results in the world's units, in the same order.
        answer
            In the world's units; a probability or a decision where the outcome is yes or no.

        Returns
        -------
        FilterBank
            A new one.
        """
        followers, likelihood = [], self.likelihood.copy()
        above = self.yes_above(answer)
        said = self._believable(answer)
        if self.risk is not None:
            said = float(score_of(self.world, np.asarray(answer)))
        for kind, each in enumerate(self.followers):
            filled = each.filled(shown, values)
            extra = self._extra(kind, shown, values, filled)
            if above is None:
                update, density = each.answered(filled, said - self._followed, self.scatters, extra)
            else:
                update, density = each.decided(
                    filled, answer == 1.0, self.scatters, above - self._followed, extra
                )
            followers.append(update)
            likelihood[kind] += density
        return replace(
            self, followers=tuple(followers), likelihood=likelihood, answers=self.answers + 1
        )

    def yes_above(self, answer: float) -> float | None:
        """Return the score above which the person says yes; None if the answer is no decision.

        Where decisions are asked for, a person may still answer with a probability.
        """
        if not isinstance(self.risk, Decision) or answer not in (0.0, 1.0):
            return None
        assert self.world.outcome is not None
        return float(self.world.outcome.from_score.score(self.risk.yes_above))

    def told(
        self, shown: TestSet, values: FloatArray, outcome: float, answer: float | None
    ) -> FilterBank:
        """Let every kind learn from the outcome of a case.

        Parameters
        ----------
        shown
            The tests shown.
        values
            Their results in the world's units, in the same order.
        outcome
            In the world's units.
        answer
            The person's answer to the case, if there was one.

        Returns
        -------
        FilterBank
            A new one.
        """
        seen = np.zeros(self.world.size, dtype=np.bool_)
        seen[list(shown)] = True
        followers = [
            each.told(each.filled(shown, values), seen, outcome) for each in self.followers
        ]
        if np.any(self.process_noise):
            followers = [each.with_drift(self.process_noise) for each in followers]
        followers[-1] = followers[-1].with_drift(self.drift)
        # A decision cannot be compared with an outcome, so there is no surprise to follow.
        compared = answer is not None and self.yes_above(answer) is None
        mean, sd = outcome_units(self.world)
        off = (outcome - self._believable(answer or 0.0)) / sd if compared else 0.0
        case = self._standard(shown, values)
        past = ToldRounds(
            np.vstack([self.past.cases, case]),
            np.append(self.past.outcomes, (outcome - mean) / sd),
            np.append(self.past.surprises, off),
        )
        surprise = off * self._unit if compared else self.surprise
        return replace(self, followers=tuple(followers), past=past, surprise=surprise)

    @property
    def _unit(self) -> float:
        """Standard deviation of the outcome, or of the score behind it."""
        return float(np.sqrt(self.world.outcome_variance)) or 1.0

    def _believable(self, answer: float) -> float:
        """The answer, or the farthest one that counts as meant."""
        most = FARTHEST * self._unit
        return answer if self.world.is_binary else float(np.clip(answer, -most, most))

    def _standard(self, shown: TestSet, values: FloatArray) -> FloatArray:
        """A case (n,) in standard deviations, 0 where hidden."""
        case, columns = np.zeros(self.world.size), list(shown)
        case[columns] = values / np.sqrt(np.diag(self.world.covariance))[columns]
        return case

    def _extra(
        self, kind: int, shown: TestSet, values: FloatArray, filled: FloatArray
    ) -> FloatArray:
        """Regressors of the further coefficients: a constant, the last surprise, and more."""
        extra = np.array([1.0, self.surprise])
        if kind < len(self.followers) - 1:
            return extra
        seen = np.zeros(self.world.size, dtype=np.bool_)
        seen[list(shown)] = True
        standard = filled / np.sqrt(np.diag(self.world.covariance))
        more = self.past.regressors(self._standard(shown, values), seen, standard)
        return np.append(extra, more * self._unit)

    @property
    def _followed(self) -> float:
        """The expected part of an answer that follows the last surprise."""
        return self.follow_mean * self.surprise


def _normalised(logs: FloatArray) -> FloatArray:
    """Probabilities in proportion to the exponentials of `logs` (m,)."""
    shares: FloatArray = np.exp(logs - np.logaddexp.reduce(logs))
    return shares
