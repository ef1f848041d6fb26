"""What people would do without a plan, and what that costs.

Three rivals, each of them something a sensible person does: choose one good set and never
change it; show what predicts best for somebody who has learned everything; show tests at random.
Where the outcome is yes or no there is also what needs no tests at all: always yes (refer
everybody), always no, or always the prevalence where answers are probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from preceptor._base.discounting import (
    discounted_sum,
    rounds_until,
    total_weight,
    weight_between,
)
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import expectations, weights_of
from preceptor.evaluation.mistakes import (
    Mistakes,
    averaged,
    decides,
    mistakes_along,
    mistakes_from,
    mistakes_in,
    mistakes_of,
    most_telling,
)
from preceptor.evaluation.value import commit_value, evaluate, losses_along, running_counts
from preceptor.model.risks import SquaredError
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.plan import Plan
from preceptor.planning.candidate_sets import has_many_sets, narrowed, with_sets
from preceptor.planning.commits import CommitValues
from preceptor.planning.fixed_sets import best_fixed
from preceptor.planning.shape import shape_of
from preceptor.policies import Policy, Stationary
from preceptor.problem import Problem

# Rounds are followed one by one until those to come weigh less than this share of all of them,
# but no further than 2,000; what is later is looked at now and then, until it weighs nothing.
_NEGLIGIBLE = 1e-4
_FEWEST_ROUNDS, _MOST_ROUNDS = 60, 2_000
_NEGLIGIBLE_LATER = 1e-12
_LAST_ROUNDS = 50
_ORDERS, _FEWER_ORDERS = 24, 8
# Random sets that stand for all of them where those are too many.
_POOL = 200


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another way to choose tests, and what it costs.

    Attributes
    ----------
    name
        A short name.
    title
        The name for a reader.
    policy
        What it shows; None for the random order, which has no schedule.
    value
        Comparable with `Plan.value`: exact for a fixed set, a mean over orders for the random one.
    losses
        What single rounds cost, shape (rounds,).
    standard_error
        Of `value`; 0 where that is exact.
    mistakes
        Where answers are decisions: misses and false alarms, averaged over all cases.
    mistakes_along
        The same of single rounds.
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
        """Whether it shows anything; otherwise everybody gets the same answer."""
        return self.name not in _SAME_FOR_ALL

    def excess(self, plan: Plan) -> float:
        """How much more it costs than the plan.

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


def alternatives(
    plan: Plan, *, orders: int | None = None, seed: int = 0
) -> tuple[Alternative, ...]:
    """The rivals of a plan: best fixed set, most predictive set, random order.

    For a yes-or-no outcome also the same answer for everybody.

    Parameters
    ----------
    plan
        Whose problem they are for.
    orders
        How many random orders to average over, at least 2. If left out: 24, or 8 where people do
        not learn by showings, since each has to be followed for every person.
    seed
        Seed of these orders.

    Returns
    -------
    tuple of Alternative
        Three rivals; for a yes-or-no outcome one or two more.

    Raises
    ------
    InvalidInput
        Too few orders to tell how sure their mean is.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1))
    >>> ", ".join(rival.name for rival in alternatives(plan))
    'fixed, predictive, random'
    """
    if orders is None:
        orders = _ORDERS if plan.problem.learns_by_showings else _FEWER_ORDERS
    if orders < 2:
        raise InvalidInput(f"orders: {orders}, must be at least 2 to tell how sure their mean is")
    rivals = tuple(rival(plan, orders, seed) for rival in _RIVALS)
    return (*rivals, *same_for_all(plan.problem)) if plan.problem.is_binary else rivals


def followed_rounds(problem: Problem) -> int:
    """Rounds until the rest weighs next to nothing, or all of a finite horizon, within reason."""
    if problem.horizon is not None:
        return min(problem.horizon, _MOST_ROUNDS)
    if problem.discount == 0.0:
        return _FEWEST_ROUNDS
    weigh = rounds_until(problem.discount, _NEGLIGIBLE)
    return min(max(weigh, _FEWEST_ROUNDS), _MOST_ROUNDS)


def best_fixed_set(problem: Problem, best: FloatArray | None = None) -> TestSet:
    """The set that costs least when it is shown from the first round to the last.

    Where sets are too many to list, the best of the promising ones. For a crowd, the one that costs
    least on average; or, with what each person's own `best` plan costs (people,), the one by which
    nobody loses much.
    """
    among = _listable(problem)
    if not among.learns_by_showings:
        shares = weights_of(among)
        judge = (
            (lambda costs: costs @ shares)
            if best is None
            else (lambda costs: (costs / best).max(axis=1))
        )
        return among.sets[best_fixed(among, judge)]
    nothing_yet = np.zeros((1, among.size), dtype=np.int64)
    _, chosen = CommitValues(among, 0, among.horizon).best(nothing_yet)
    return among.sets[int(chosen[0])]


def most_predictive_set(problem: Problem) -> TestSet:
    """The set that somebody with perfect weights would predict best from.

    Prices of showing do not count, and neither does what this person knows: it is what a
    statistician would pick from the data alone. Correlations count, so it is never worse than
    picking the largest coefficients.
    """
    if problem.is_binary:
        return most_telling(_listable(problem))
    oracle = _listable(problem).replace(risk=SquaredError()).oracle
    return oracle.sets[int(np.argmin(oracle.floors() - oracle.sets.prices))]


def full_sets(problem: Problem, rng: np.random.Generator) -> list[TestSet]:
    """Allowed sets to which no test can be added; a random choice of them where there are many."""
    if has_many_sets(problem):
        scores = rng.random((_POOL, problem.size))
        return [problem.budget.maximise(each) for each in scores]
    sets = list(problem.sets)
    allowed = set(sets)
    blocks = problem.budget.shown_together(problem.size)
    return [
        shown
        for shown in sets
        if not any(
            tuple(sorted((*shown, *block))) in allowed for block in blocks if block[0] not in shown
        )
    ]


def _fixed(plan: Plan, orders: int, seed: int) -> Alternative:
    best = None if plan.regrets is None else plan.regrets.best
    shown = best_fixed_set(plan.problem, best)
    return _stationary(plan.problem, "fixed", "The best fixed set", shown)


def _predictive(plan: Plan, orders: int, seed: int) -> Alternative:
    shown = most_predictive_set(plan.problem)
    return _stationary(plan.problem, "predictive", "The most predictive tests", shown)


def _stationary(problem: Problem, name: str, title: str, shown: TestSet) -> Alternative:
    policy = Stationary(shown)
    if problem.learns_by_showings:
        counts = np.array(problem.start_counts, dtype=np.int64)
        value = commit_value(problem, counts, shown, problem.horizon).value
    else:
        value = evaluate(problem, policy)
    schedule = [shown] * followed_rounds(problem)
    losses = losses_along(problem, schedule)
    if not decides(problem):
        return Alternative(name, title, policy, value, losses)
    mistakes, along = mistakes_of(problem, policy), mistakes_along(problem, schedule)
    return Alternative(name, title, policy, value, losses, 0.0, mistakes, along)


def _random(plan: Plan, orders: int, seed: int) -> Alternative:
    """Each round one of the full sets, each as likely as the others."""
    problem = plan.problem
    rng = np.random.default_rng(seed)
    rounds = followed_rounds(problem)
    sets = full_sets(problem, rng)
    picks = rng.integers(len(sets), size=(orders, rounds))
    along = None
    if problem.learns_by_showings:
        schedules = [[sets[i] for i in order] for order in picks]
        losses = _losses_of_orders(problem, schedules)
        if decides(problem):
            along = _mistakes_of_orders(problem, schedules)
    else:
        losses = _expected_losses_of_orders(problem, sets, picks)
        if decides(problem):
            along = mistakes_from(
                problem,
                lambda other: _expected_losses_of_orders(other, sets, picks).mean(axis=0),
            )
    values = np.array([discounted_sum(each, problem.discount) for each in losses])
    left = weight_between(problem.discount, rounds, problem.horizon)
    if left > 0.0 and problem.learns_by_showings:
        counts = np.stack([running_counts(problem, schedule)[-1] for schedule in schedules])
        values += _later(problem, sets, counts, rounds, rng)
    elif left > 0.0:
        # Nobody can be followed forever; what is late goes on as the last rounds went on average.
        values += left * losses[:, -_LAST_ROUNDS:].mean()
    return Alternative(
        "random",
        "A random order",
        None,
        float(np.mean(values)),
        losses.mean(axis=0),
        float(np.std(values, ddof=1) / math.sqrt(orders)),
        None if along is None else averaged(problem, along),
        along,
    )


def same_for_all(problem: Problem) -> tuple[Alternative, ...]:
    """The same answer for everybody, whatever the tests would say.

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
        answers = [
            ("yes", "Always saying yes (refer all)", 1.0),
            ("no", "Always saying no", 0.0),
        ]
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


def _expected_losses_of_orders(
    problem: Problem, sets: list[TestSet], picks: IntArray
) -> FloatArray:
    """Losses (orders, rounds), on average over the people of a problem."""
    among = with_sets(problem, dict.fromkeys(sets))
    position = {shown: column for column, shown in enumerate(among.sets)}
    columns = np.array([position[shown] for shown in sets], dtype=np.int64)
    weights, everybody = weights_of(among), expectations(among)
    losses: FloatArray = np.array(
        [weights @ np.array([each.losses(columns[order]) for each in everybody]) for order in picks]
    )
    return losses


def _later(
    problem: Problem, sets: list[TestSet], counts: IntArray, start: int, rng: np.random.Generator
) -> FloatArray:
    """What rounds from `start` on cost (orders,), looked at ever more rarely.

    Between two looks showings are drawn all at once, and the loss, which changes slowly by then,
    is taken to be the mean of its values at both.
    """
    member = np.array([[i in shown for i in range(problem.size)] for shown in sets], dtype=np.int64)
    chance = np.full(len(sets), 1.0 / len(sets))
    total = np.zeros(len(counts))
    among = with_sets(problem, sets)
    position = {shown: column for column, shown in enumerate(among.sets)}
    columns = [position[shown] for shown in sets]  # a set that was drawn twice counts twice
    now, then = start, _mean_losses(among, columns, counts)
    while weight_between(problem.discount, now, problem.horizon) > _NEGLIGIBLE_LATER * start:
        step = max(now // 50, 1)
        if problem.horizon is not None:
            step = min(step, problem.horizon - now)
        counts = counts + rng.multinomial(step, chance, size=len(counts)) @ member
        before, then = then, _mean_losses(among, columns, counts)
        total += weight_between(problem.discount, now, now + step) * (before + then) / 2.0
        now += step
    return total + weight_between(problem.discount, now, problem.horizon) * then


def _mean_losses(among: Problem, columns: list[int], counts: IntArray) -> FloatArray:
    """Expected loss (orders,) of a round in which any of the sets at `columns` may be shown."""
    errors = among.by_showings.errors(among.world, counts)
    losses: FloatArray = among.oracle.losses(errors)[:, columns].mean(axis=1)
    return losses


_RIVALS = (_fixed, _predictive, _random)
_SAME_FOR_ALL = ("yes", "no", "prevalence")


def _losses_of_orders(problem: Problem, schedules: list[list[TestSet]]) -> FloatArray:
    """Losses (orders, rounds)."""
    losses = np.empty((len(schedules), len(schedules[0])))
    for places, errors, shown in _states_by_set(problem, schedules):
        losses[places] = problem.oracle.loss_of(errors, shown)
    return losses


def _mistakes_of_orders(problem: Problem, schedules: list[list[TestSet]]) -> Mistakes:
    """Misses and false alarms of each round, averaged over orders."""
    misses, alarms = np.empty((2, len(schedules), len(schedules[0])))
    for places, errors, shown in _states_by_set(problem, schedules):
        misses[places], alarms[places] = mistakes_in(problem, errors, shown)
    assert problem.world.outcome is not None
    return Mistakes(misses.mean(axis=0), alarms.mean(axis=0), problem.world.outcome.prevalence)


def _states_by_set(
    problem: Problem, schedules: list[list[TestSet]]
) -> Iterator[tuple[tuple[IntArray, IntArray], FloatArray, TestSet]]:
    """Every set once: which orders and rounds meet it, the errors by then, and the set."""
    counts = np.stack([running_counts(problem, schedule)[:-1] for schedule in schedules])
    meets: dict[TestSet, list[tuple[int, int]]] = {}
    for order, schedule in enumerate(schedules):
        for t, shown in enumerate(schedule):
            meets.setdefault(shown, []).append((order, t))
    for shown, where in meets.items():
        rows, columns = np.array(where).T
        errors = problem.by_showings.errors(problem.world, counts[rows, columns])
        yield (rows, columns), errors, shown


def _listable(problem: Problem) -> Problem:
    """With all sets where a fixed one has a closed price, else with those that may be played."""
    if problem.learns_by_showings and not shape_of(problem).too_many_sets:
        return problem
    return narrowed(problem)
