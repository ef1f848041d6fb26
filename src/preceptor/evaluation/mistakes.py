"""Misses and false alarms along a schedule: what the loss of decisions is made of.

For somebody who learns by showings both are closed forms of their errors. Of anybody else only
losses are known; but those are linear in the two costs as long as the threshold stays, so what one
more unit of cost adds is the share of cases that are missed, or that are false alarms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from preceptor._base.discounting import discounted_sum, rounds_until, total_weight, weight_between
from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.evaluation.course import people_along
from preceptor.evaluation.expectations import people_of, weights_of
from preceptor.evaluation.value import evaluate, losses_along, running_counts
from preceptor.loss.yes_no import YesNoOracle
from preceptor.model.score_pairs import ScorePair
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision
from preceptor.policies import Policy
from preceptor.problem import Problem

# Rounds without an end are followed until those to come weigh so little; they go on as the last.
_NEGLIGIBLE, _MOST_ROUNDS = 1e-9, 50_000


@dataclass(frozen=True, eq=False)
class Mistakes:
    """Shares of all cases that are missed and that are false alarms, round by round or averaged.

    Attributes
    ----------
    misses
        P(yes, but said no), one for each round, or one for all.
    false_alarms
        P(no, but said yes), of the same shape.
    prevalence
        P(yes).
    """

    misses: FloatArray
    false_alarms: FloatArray
    prevalence: float

    @property
    def sensitivity(self) -> FloatArray:
        """Share of the yes-cases that are found."""
        return np.asarray(1.0 - self.misses / self.prevalence)

    @property
    def specificity(self) -> FloatArray:
        """Share of the no-cases that are left alone."""
        return np.asarray(1.0 - self.false_alarms / (1.0 - self.prevalence))

    def cost(self, risk: Decision) -> FloatArray:
        """What they cost per case.

        Parameters
        ----------
        risk
            With the cost of each mistake.

        Returns
        -------
        array
            Of the shape of the shares.
        """
        return np.asarray(risk.miss * self.misses + risk.false_alarm * self.false_alarms)

    def at(self, round: int) -> Mistakes:
        """Those of one round.

        Parameters
        ----------
        round
            From 0; negative ones count from the end.

        Returns
        -------
        Mistakes
            Single numbers.
        """
        misses, alarms = np.atleast_1d(self.misses), np.atleast_1d(self.false_alarms)
        return Mistakes(np.asarray(misses[round]), np.asarray(alarms[round]), self.prevalence)


def decides(problem: Problem) -> bool:
    """Whether answers are decisions, so that there are misses and false alarms."""
    return isinstance(problem.risk, Decision)


def mistakes_along(problem: Problem, schedule: Sequence[TestSet]) -> Mistakes:
    """Misses and false alarms of each round when these sets are shown from the start.

    Parameters
    ----------
    problem
        Whose answers are decisions.
    schedule
        Sets in the order in which they are shown.

    Returns
    -------
    Mistakes
        One share for each round, averaged over the people of a crowd.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World([1.0], [[1.0]], outcome=pr.Binary(0.5))
    >>> problem = pr.Problem(world, pr.Learner([1.0], pr.Geometric(2.0)), 1)
    >>> mistakes_along(problem, [(0,)]).misses.round(4).tolist()   # arccos(sqrt(1/2)) / (2 pi)
    [0.125]
    """
    sets = list(schedule)
    if not problem.learns_by_showings:
        return mistakes_from(problem, lambda other: losses_along(other, sets))
    counts = running_counts(problem, sets)[:-1]
    misses, alarms = np.empty(len(sets)), np.empty(len(sets))
    rounds_of: dict[TestSet, list[int]] = {}
    for t, shown in enumerate(sets):
        rounds_of.setdefault(shown, []).append(t)
    for shown, rounds in rounds_of.items():
        errors = problem.by_showings.errors(problem.world, counts[rounds])
        misses[rounds], alarms[rounds] = mistakes_in(problem, errors, shown)
    return Mistakes(misses, alarms, _prevalence(problem))


def mistakes_of(problem: Problem, policy: Policy) -> Mistakes:
    """Misses and false alarms of a policy, averaged over all cases as they count.

    Parameters
    ----------
    problem
        Whose answers are decisions.
    policy
        What is shown.

    Returns
    -------
    Mistakes
        Single numbers; with the costs of both they add up to the loss per case, prices apart.
    """
    discount, horizon = problem.discount, problem.horizon
    if problem.learns_by_showings:
        rounds = _followed(discount) if horizon is None else horizon
        return averaged(problem, mistakes_along(problem, policy.schedule(rounds)))
    weight = total_weight(discount, horizon)
    return mistakes_from(problem, lambda other: np.asarray(evaluate(other, policy) / weight))


def _followed(discount: float) -> int:
    """Rounds without an end until those to come weigh next to nothing."""
    if discount == 0.0:
        return 1
    return min(max(rounds_until(discount, _NEGLIGIBLE), 1), _MOST_ROUNDS)


def mistakes_from(problem: Problem, losses: Callable[[Problem], FloatArray]) -> Mistakes:
    """Misses and false alarms from losses under other costs, for any person.

    Parameters
    ----------
    problem
        Whose answers are decisions.
    losses
        What rounds cost in a problem that differs in its costs only.

    Returns
    -------
    Mistakes
        Of the shape of the losses.
    """
    risk, share = _decision(problem), _prevalence(problem)
    # The threshold would follow the costs; here the person stays the same.
    held = replace(risk, miss=1.0, false_alarm=1.0, threshold=risk.yes_above)
    plain = losses(problem.replace(risk=held))
    dearer_miss = losses(problem.replace(risk=replace(held, miss=2.0)))
    dearer_alarm = losses(problem.replace(risk=replace(held, false_alarm=2.0)))
    # Without the rounding that would make a share negative or larger than all there is.
    misses = np.clip(dearer_miss - plain, 0.0, share)
    return Mistakes(misses, np.clip(dearer_alarm - plain, 0.0, 1.0 - share), share)


def averaged(problem: Problem, along: Mistakes) -> Mistakes:
    """Shares of rounds from the first on, averaged as they count; later ones go on as the last.

    Parameters
    ----------
    problem
        What a round counts, and how many there are.
    along
        One share for each of the first rounds.

    Returns
    -------
    Mistakes
        Single numbers.
    """
    discount, horizon = problem.discount, problem.horizon
    rounds, weight = along.misses.size, total_weight(discount, horizon)
    left = 0.0
    if horizon is None or rounds < horizon:
        left = weight_between(discount, rounds, horizon)

    def mean(shares: FloatArray) -> FloatArray:
        total = discounted_sum(shares, discount) + left * float(shares[-1])
        return np.asarray(total / weight)

    return Mistakes(mean(along.misses), mean(along.false_alarms), along.prevalence)


def mistakes_in(
    problem: Problem, errors: FloatArray, shown: TestSet
) -> tuple[FloatArray, FloatArray]:
    """Shares that people with these errors (states, n) miss, and that are false alarms."""
    return _decision(problem).mistakes(_oracle(problem).pair_of(errors, shown))


def best_mistakes(problem: Problem, shown: TestSet) -> Mistakes:
    """What the best reader of a set would still miss, and their false alarms.

    Parameters
    ----------
    problem
        Whose answers are decisions.
    shown
        The set; the budget need not allow it.

    Returns
    -------
    Mistakes
        Single numbers, at the threshold that suits the costs.
    """
    pair = best_reader(problem, shown)
    misses, alarms = pair.mistakes(pair.score_at(_decision(problem).right_threshold))
    return Mistakes(np.asarray(misses[0]), np.asarray(alarms[0]), _prevalence(problem))


def best_reader(problem: Problem, shown: TestSet) -> ScorePair:
    """The score of whoever knows the chances given what is shown."""
    return _oracle(problem).best_pairs([shown])


def most_telling(problem: Problem) -> TestSet:
    """The set that tells most about the score, prices apart.

    Whoever reads it rightly is never worse off than with another set, whatever mistakes cost:
    floors of all risks fall with what is known of the score.
    """
    oracle = _oracle(problem)
    return oracle.sets[int(np.argmax(oracle.best_pairs().own))]


def readers_after(
    problem: Problem, schedule: Sequence[TestSet], shown: TestSet
) -> list[tuple[float, ScorePair]]:
    """Scores of the people of a problem when a set is shown after a schedule.

    Parameters
    ----------
    problem
        With a yes-or-no outcome.
    schedule
        What they were shown before, maybe nothing.
    shown
        What they are shown now.

    Returns
    -------
    list of (float, ScorePair)
        How likely each person is, and their score given the weights that are expected of them by
        then; people whose weights nobody knows are left out.
    """
    _, errors = people_along(problem, [*schedule, shown])
    everybody = zip(people_of(problem).values(), weights_of(problem), errors, strict=True)
    return [
        # Each of them fills in what is hidden in a way of their own.
        (float(share), _oracle(problem.replace(learner=person)).pair_of(each[-1:], shown))
        for person, share, each in everybody
        if np.all(np.isfinite(each[-1]))
    ]


def _decision(problem: Problem) -> Decision:
    if not isinstance(problem.risk, Decision):
        raise NotApplicable(
            "misses and false alarms need answers that are decisions, not "
            f"{problem.risk.in_words()}; give the problem the risk Decision(miss, false_alarm)"
        )
    return problem.risk


def _prevalence(problem: Problem) -> float:
    assert problem.world.outcome is not None
    return problem.world.outcome.prevalence


def _oracle(problem: Problem) -> YesNoOracle:
    return cast(YesNoOracle, problem.oracle)
