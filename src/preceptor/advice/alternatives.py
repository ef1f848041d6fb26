"""What would be shown without a plan, and what that costs.

There are three rivals, all of them sensible: choose one good set and never change it; show what
predicts best for a reader with the true weights; show tests at random. Where the outcome is yes or
no there are also answers that need no tests: always yes (refer all), always no, or always the
prevalence where answers are probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from preceptor._base.numerics import rounds_until, total_weight
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.model.evaluation import evaluate, losses_along, weights_of
from preceptor.model.mistakes import Mistakes, averaged, decides, mistakes_along, mistakes_of
from preceptor.model.plan import Plan
from preceptor.model.policies import ExploreThenRepeat, Policy, Stationary
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.planning.candidate_sets import full_sets, listable, most_predictive_set
from preceptor.planning.price_search import best_positions
from preceptor.planning.truncated import CommitValues

# Rounds are simulated one by one until the remaining weight is below this share of the total, but
# at most 2,000; a random order then repeats its last 50.
_NEGLIGIBLE = 1e-4
_FEWEST_ROUNDS, _MOST_ROUNDS = 60, 2_000
_REPEATED = 50
# Names of the alternatives that give every case the same answer.
_SAME_FOR_ALL = ("yes", "no", "prevalence")


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another policy for choosing tests, and what it costs.

    Attributes
    ----------
    name
        A short name.
    title
        The name as shown in tables and figures.
    policy
        What it shows; None for the random order, which has no schedule.
    value
        Comparable with `Plan.value`: exact for a fixed set, a mean over orders for the random one.
    losses
        Loss per round, shape (rounds,).
    standard_error
        Of `value`; 0 where that is exact.
    mistakes
        Where answers are decisions: misses and false alarms, averaged over all cases.
    mistakes_along
        The same per round.
    """

    name: str
    title: str
    policy: Policy | None = field(repr=False)
    value: float
    losses: FloatArray = field(repr=False)
    standard_error: float = 0.0
    mistakes: Mistakes | None = field(default=None, repr=False)
    mistakes_along: Mistakes | None = field(default=None, repr=False)

    @property
    def needs_tests(self) -> bool:
        """Whether it shows any tests; otherwise every case gets the same answer."""
        return self.name not in _SAME_FOR_ALL

    def excess(self, plan: Plan) -> float:
        """Excess loss over the plan.

        Parameters
        ----------
        plan
            What to compare with.

        Returns
        -------
        float
            Excess loss as a share of the plan's value; 0.1 means 10% more.
        """
        return self.value / plan.value - 1.0 if plan.value > 0.0 else 0.0


def alternatives(plan: Plan, *, orders: int = 16, seed: int = 0) -> tuple[Alternative, ...]:
    """The rivals of a plan: best fixed set, most predictive set, random order.

    For a yes-or-no outcome, also the same answer for every case.

    Parameters
    ----------
    plan
        The plan to compare with; its problem is theirs.
    orders
        How many random orders to average over, at least 2.
    seed
        Seed of these orders.

    Returns
    -------
    tuple of Alternative
        Three rivals; for a yes-or-no outcome one or two more.

    Raises
    ------
    InvalidInput
        Too few orders for a standard error.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1))
    >>> ", ".join(rival.name for rival in alternatives(plan))
    'fixed, predictive, random'
    """
    if orders < 2:
        raise InvalidInput(f"orders: {orders}, must be at least 2 for a standard error")
    problem = plan.problem
    fixed = best_fixed_set(problem, None if plan.regrets is None else plan.regrets.best)
    predictive = most_predictive_set(problem)
    return (
        _stationary(problem, "fixed", "The best fixed set", fixed),
        _stationary(problem, "predictive", "The most predictive tests", predictive),
        _random(plan, orders, seed),
        *(same_for_all(problem) if problem.is_binary else ()),
    )


def followed_rounds(problem: Problem) -> int:
    """Rounds until the rest is negligible, or all of a finite horizon, up to 2,000."""
    if problem.horizon is not None:
        return min(problem.horizon, _MOST_ROUNDS)
    if problem.discount == 0.0:
        return _FEWEST_ROUNDS
    weigh = rounds_until(problem.discount, _NEGLIGIBLE)
    return min(max(weigh, _FEWEST_ROUNDS), _MOST_ROUNDS)


def best_fixed_set(problem: Problem, best: FloatArray | None = None) -> TestSet:
    """The set that costs least when it is shown in every round.

    Where there are too many sets to list, the best of the promising ones. For a crowd, the set with
    the least mean loss; or, given the loss of the `best` plan for each person alone (people,), the
    set with the smallest worst ratio to it.
    """
    among = listable(problem)
    if not among.learns_by_showings:
        shares = weights_of(among)
        judge = (
            (lambda costs: costs @ shares)
            if best is None
            else (lambda costs: (costs / best).max(axis=1))
        )
        return among.sets[best_positions(among, judge)]
    nothing_yet = np.zeros((1, among.size), dtype=np.int64)
    _, chosen = CommitValues(among, 0, among.horizon).best(nothing_yet)
    return among.sets[int(chosen[0])]


def _stationary(problem: Problem, name: str, title: str, shown: TestSet) -> Alternative:
    policy = Stationary(shown)
    value = evaluate(problem, policy)
    schedule = [shown] * followed_rounds(problem)
    losses = losses_along(problem, schedule)
    if not decides(problem):
        return Alternative(name, title, policy, value, losses)
    mistakes, along = mistakes_of(problem, policy), mistakes_along(problem, schedule)
    return Alternative(name, title, policy, value, losses, 0.0, mistakes, along)


def _random(plan: Plan, orders: int, seed: int) -> Alternative:
    """In each round one of the full sets, all equally likely."""
    problem = plan.problem
    rng = np.random.default_rng(seed)
    rounds = followed_rounds(problem)
    sets = full_sets(problem, rng)
    picks = rng.integers(len(sets), size=(orders, rounds))
    schedules = [[sets[i] for i in order] for order in picks]
    # Rounds beyond the simulated ones repeat the last of them.
    values = [
        evaluate(problem, ExploreThenRepeat(tuple(each[:-_REPEATED]), tuple(each[-_REPEATED:])))
        for each in schedules
    ]
    along = None
    if decides(problem):
        found = [mistakes_along(problem, each) for each in schedules]
        misses = np.mean([each.misses for each in found], axis=0)
        alarms = np.mean([each.false_alarms for each in found], axis=0)
        along = Mistakes(misses, alarms, found[0].prevalence)
    return Alternative(
        "random",
        "A random order",
        None,
        float(np.mean(values)),
        np.mean([losses_along(problem, each) for each in schedules], axis=0),
        float(np.std(values, ddof=1) / math.sqrt(orders)),
        None if along is None else averaged(problem, along),
        along,
    )


def same_for_all(problem: Problem) -> tuple[Alternative, ...]:
    """Alternatives that give every case the same answer.

    Parameters
    ----------
    problem
        With a yes-or-no outcome.

    Returns
    -------
    tuple of Alternative
        Always yes and always no where answers are decisions; else always the prevalence.
    """
    outcome, risk = problem.world.outcome, problem.risk
    assert outcome is not None
    assert isinstance(risk, YesNoRisk)
    share = outcome.prevalence
    if risk.decides:
        answers = [("yes", "Always saying yes (refer all)", 1.0), ("no", "Always saying no", 0.0)]
    else:
        answers = [("prevalence", f"Always saying the prevalence ({100.0 * share:.3g}%)", share)]
    rounds, weight = followed_rounds(problem), total_weight(problem.discount, problem.horizon)
    rivals = []
    for name, title, answer in answers:
        charges = risk.charge(np.array([answer, answer]), np.array([1.0, 0.0]))
        loss = float(share * charges[0] + (1.0 - share) * charges[1])
        mistakes = along = None
        if risk.decides:
            missed, alarmed = share * (1.0 - answer), (1.0 - share) * answer
            mistakes = Mistakes(np.asarray(missed), np.asarray(alarmed), share)
            along = Mistakes(np.full(rounds, missed), np.full(rounds, alarmed), share)
        losses = np.full(rounds, loss)
        rivals.append(Alternative(name, title, None, weight * loss, losses, 0.0, mistakes, along))
    return tuple(rivals)
