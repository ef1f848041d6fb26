"""Misses and false alarms along a schedule: the components of the loss of decisions.

For a person who learns by showings both are closed forms of their errors. For other people only
losses are known; but these are linear in the two costs while the threshold stays fixed, so the loss
added by one more unit of cost is the share of misses, or of false alarms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from preceptor._base.numerics import discounted_sum, negligible_after, total_weight, weight_between
from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.model.evaluation import evaluate, losses_along, running_counts
from preceptor.model.gaussian_loss import YesNoOracle
from preceptor.model.policies import Policy, rounds_by_set
from preceptor.model.problem import MOST_ROUNDS, Problem
from preceptor.model.score_pairs import ScorePair
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision


@dataclass(frozen=True, eq=False)
class Mistakes:
    """Shares of all cases that are misses and false alarms, by round or averaged.

    Attributes
    ----------
    misses
        P(yes, said no), one per round or a single number.
    false_alarms
        P(no, said yes), of the same shape.
    prevalence
        P(yes).
    """

    misses: FloatArray
    false_alarms: FloatArray
    prevalence: float

    @property
    def sensitivity(self) -> FloatArray:
        """Share of yes cases that are answered yes."""
        return np.asarray(1.0 - self.misses / self.prevalence)

    @property
    def specificity(self) -> FloatArray:
        """Share of no cases that are answered no."""
        return np.asarray(1.0 - self.false_alarms / (1.0 - self.prevalence))

    def cost(self, risk: Decision) -> FloatArray:
        """Cost per case.

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
        """Select one round.

        Parameters
        ----------
        round
            From 0; negative numbers count from the end.

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
    """Misses and false alarms of each round along a schedule from the start.

    Parameters
    ----------
    problem
        With the risk `Decision`.
    schedule
        The sets in order.

    Returns
    -------
    Mistakes
        One share per round, averaged over the people of a crowd.

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
    risk, oracle = _decision(problem), _oracle(problem)
    for shown, rounds in rounds_by_set(sets).items():
        errors = problem.by_showings.errors(problem.world, counts[rounds])
        misses[rounds], alarms[rounds] = risk.mistakes(oracle.pair_of(errors, shown))
    return Mistakes(misses, alarms, _prevalence(problem))


def mistakes_of(problem: Problem, policy: Policy) -> Mistakes:
    """Misses and false alarms of a policy, as discounted averages over all cases.

    Parameters
    ----------
    problem
        With the risk `Decision`.
    policy
        The policy.

    Returns
    -------
    Mistakes
        Single numbers; weighted by their costs they add up to the loss per case without prices.
    """
    discount, horizon = problem.discount, problem.horizon
    if problem.learns_by_showings:
        rounds = min(negligible_after(discount), MOST_ROUNDS) if horizon is None else horizon
        return averaged(problem, mistakes_along(problem, policy.schedule(rounds)))
    weight = total_weight(discount, horizon)
    return mistakes_from(problem, lambda other: np.asarray(evaluate(other, policy) / weight))


def mistakes_from(problem: Problem, losses: Callable[[Problem], FloatArray]) -> Mistakes:
    """Misses and false alarms derived from losses under other costs, for any person.

    Parameters
    ----------
    problem
        With the risk `Decision`.
    losses
        Computes losses of a problem that differs only in its costs.

    Returns
    -------
    Mistakes
        Of the shape of the losses.
    """
    risk, share = _decision(problem), _prevalence(problem)
    # Fix the threshold, which would otherwise follow the costs.
    held = replace(risk, miss=1.0, false_alarm=1.0, threshold=risk.yes_above)
    plain = losses(problem.replace(risk=held))
    dearer_miss = losses(problem.replace(risk=replace(held, miss=2.0)))
    dearer_alarm = losses(problem.replace(risk=replace(held, false_alarm=2.0)))
    # Rounding must not make a share negative or larger than the whole.
    misses = np.clip(dearer_miss - plain, 0.0, share)
    return Mistakes(misses, np.clip(dearer_alarm - plain, 0.0, 1.0 - share), share)


def averaged(problem: Problem, along: Mistakes) -> Mistakes:
    """Discounted average over all rounds; rounds beyond those given repeat the last one.

    Parameters
    ----------
    problem
        With discount factor and horizon.
    along
        One share per round, from the first.

    Returns
    -------
    Mistakes
        Single numbers.
    """
    discount, horizon = problem.discount, problem.horizon
    rounds, weight = along.misses.size, total_weight(discount, horizon)
    left = weight_between(discount, rounds, horizon)

    def mean(shares: FloatArray) -> FloatArray:
        total = discounted_sum(shares, discount) + left * float(shares[-1])
        return np.asarray(total / weight)

    return Mistakes(mean(along.misses), mean(along.false_alarms), along.prevalence)


def best_mistakes(problem: Problem, shown: TestSet) -> Mistakes:
    """Misses and false alarms of the best reader of a set.

    Parameters
    ----------
    problem
        With the risk `Decision`.
    shown
        The set; the budget need not allow it.

    Returns
    -------
    Mistakes
        Single numbers, at the optimal threshold.
    """
    pair = best_reader(problem, shown)
    misses, alarms = pair.mistakes(pair.score_at(_decision(problem).right_threshold))
    return Mistakes(np.asarray(misses[0]), np.asarray(alarms[0]), _prevalence(problem))


def best_reader(problem: Problem, shown: TestSet) -> ScorePair:
    """The score of a person who knows P(yes) given the shown tests."""
    return _oracle(problem).best_pairs([shown])


def most_informative_set(problem: Problem) -> TestSet:
    """The set that explains most of the score's variance, ignoring prices.

    Its best reader is at least as good as that of any other set, whatever mistakes cost, because
    the floors of all risks decrease with the explained variance.
    """
    oracle = _oracle(problem)
    return oracle.sets[int(np.argmax(oracle.best_pairs().own))]


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
