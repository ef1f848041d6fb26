"""How many sets there are to consider: the shape of a problem, and candidates for large families.

Properties that decide which method applies are computed once and cached. Some families are too
large to enumerate: five of a hundred tests are 79 million sets. A few hundred candidates represent
them: the sets that predict best once everything is learned, those that predict best now, and their
neighbours by one exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.model.mistakes import most_informative_set
from preceptor.model.problem import Problem
from preceptor.model.risks import SquaredError
from preceptor.model.sets import TestSet
from preceptor.planning.anytime import Stop, never


class SetLimits(NamedTuple):
    """Numbers of sets beyond which solvers use another method, from the cheapest use on."""

    listed: int = 1_000_000
    """Listing all sets; larger families are streamed or represented by candidates."""
    bounded: int = 8_000
    """Bounding every set in every round of a dual over counts."""
    searched: int = 3_000
    """Pricing every set in a search; a search asks for prices again and again."""
    simulated: int = 400
    """Simulating every set for many rounds."""
    few: int = 60
    """Trying every set in every round of every pass, or in one semidefinite program."""


SET_LIMITS = SetLimits()


@dataclass(frozen=True)
class Shape:
    """Properties of a problem that solvers check before they visit any state.

    `too_many_sets`: the sets cannot be listed, or their factors cannot be held. `most_shown`: how
    many tests a set can hold. The other two say why the problem does *not* have a helpful form,
    and are empty if it does: `why_not_geometric` (each showing divides an error by a constant: what
    the engine plans with) and `why_not_independent` (no test says anything about another).
    """

    too_many_sets: bool
    most_shown: int
    why_not_geometric: str
    why_not_independent: str

    @property
    def has_dual(self) -> bool:
        """Whether the dual over errors applies, with all sets listed."""
        return not self.too_many_sets and not self.why_not_geometric


def shape_of(problem: Problem) -> Shape:
    """The shape of a problem, computed on first use."""
    return remembered(problem, "shape", lambda: _shape(problem))


def _shape(problem: Problem) -> Shape:
    most_shown = len(problem.budget.maximise(np.ones(problem.size)))
    sets = problem.budget.count(problem.size)
    too_large = sets * most_shown * problem.size * 8 > 2**30
    return Shape(
        too_many_sets=sets > SET_LIMITS.listed or too_large,
        most_shown=most_shown,
        why_not_geometric=_why_not_geometric(problem),
        why_not_independent=_why_not_independent(problem),
    )


def _why_not_geometric(problem: Problem) -> str:
    if not problem.learns_by_showings:
        return "the person does not learn by showings"
    if not isinstance(problem.risk, SquaredError):
        return f"the risk is {type(problem.risk).__name__}, not squared error"
    if not isinstance(problem.loss, ClosedForm):
        return "losses come from a sample"
    imputes = problem.learner.imputing_covariance(problem.world)
    if not np.array_equal(imputes, problem.world.covariance):
        return "the person does not impute from the world's covariance"
    for name, curve in zip(problem.world.labels, problem.by_showings.curve_of, strict=True):
        if not curve.ratio:
            return f"{name} is not learned by a constant factor per showing ({curve})"
    if problem.discount == 0.0:
        return "nothing after the first round counts"
    return ""


def _why_not_independent(problem: Problem) -> str:
    if not problem.learns_by_showings:
        return "the person does not learn by showings"
    imputation = problem.learner.imputing_covariance(problem.world)
    if not isinstance(problem.risk, SquaredError):
        return f"the sort needs squared error, the risk is {type(problem.risk).__name__}"
    if not isinstance(problem.loss, ClosedForm):
        return "losses come from a sample, in which no two tests are exactly uncorrelated"
    if not problem.world.is_diagonal:
        off = np.abs(problem.world.covariance - np.diag(np.diag(problem.world.covariance)))
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        names = problem.world.labels
        return f"tests are correlated (covariance of {names[i]} and {names[j]} is {off[i, j]:.3g})"
    if np.any(imputation - np.diag(np.diag(imputation))):
        return "the person imputes from correlations that the tests do not have"
    return ""


# Sets kept for each criterion.
KEPT = 250
# Sets evaluated between two looks at the clock.
_JUDGED = 256


def has_many_sets(problem: Problem) -> bool:
    """Return whether a search is limited to candidate sets."""
    # Seven times as many sets are searched where prices have a closed form: all 4,944 sets of 15
    # tests were searched in 4 seconds, and a plan from candidates cost 8% more.
    most = SET_LIMITS.searched * (7 if problem.learns_by_showings else 1)
    return problem.budget.count(problem.size) > most or shape_of(problem).too_many_sets


def with_sets(problem: Problem, sets: Iterable[TestSet]) -> Problem:
    """The same problem with only these sets allowed, at the same prices."""
    return problem.replace(budget=problem.budget.listing(sets))


def limited_to_candidates(
    problem: Problem, also: Iterable[TestSet] = (), stop: Stop = never
) -> Problem:
    """The problem itself, or limited to candidates and `also` where there are too many sets."""
    if not has_many_sets(problem):
        return problem
    return with_sets(problem, first_candidates(problem, stop) | set(also))


def first_candidates(problem: Problem, stop: Stop = never) -> set[TestSet]:
    """Sets that predict best once all is learned, sets that predict best now, and neighbours.

    Returns what was found before `stop`, and always the fullest set, which is found at once.
    """
    found: set[TestSet] = set()
    for criterion in (_when_learned, _now):
        found |= _climb(problem, criterion, stop)
    fullest = {_fullest(problem)}
    return fullest | most_promising(problem, found, 2 * KEPT, stop) if found else fullest


def most_promising(
    problem: Problem, sets: set[TestSet], how_many: int, stop: Stop = never
) -> set[TestSet]:
    """The best sets by each criterion, among those evaluated in time."""
    # Every step of a search reads sets x tests shown x tests: with 300 of 300 tests 500 candidates
    # took five times the time limit.
    affordable = 5_000_000 // (shape_of(problem).most_shown * problem.size)
    how_many = min(how_many, max(affordable, 50))
    if len(sets) <= how_many // 2:
        return sets
    kept: set[TestSet] = set()
    for criterion in (_when_learned, _now):
        names, costs = _judged(problem, sets, criterion, stop)
        best = np.argsort(costs, kind="stable")[: how_many // 2]
        kept |= {names[int(i)] for i in best}
    return kept


def _judged(
    problem: Problem, sets: set[TestSet], criterion: Callable[[Problem], FloatArray], stop: Stop
) -> tuple[list[TestSet], FloatArray]:
    """Sets and their costs by a criterion, as many as time allows."""
    # By size, since a family pads every set to the size of its largest.
    ordered = sorted(sets, key=lambda shown: (len(shown), shown))
    names: list[TestSet] = []
    costs: list[FloatArray] = []
    for first in range(0, len(ordered), _JUDGED):
        if names and stop():
            break
        small = with_sets(problem, ordered[first : first + _JUDGED])
        names += list(small.sets)
        costs.append(criterion(small))
    return names, np.concatenate(costs)


def _fullest(problem: Problem) -> TestSet:
    """As many tests as the budget allows, those that predict the outcome best on their own."""
    world = problem.world
    told = np.abs(world.covariance @ world.coefficients) / np.sqrt(np.diag(world.covariance))
    return problem.budget.maximise(told + np.finfo(np.float64).tiny)


def neighbours(problem: Problem, sets: Iterable[TestSet]) -> set[TestSet]:
    """All allowed sets that are one exchange, addition or removal away."""
    near: set[TestSet] = set()
    for shown in sets:
        for base in [shown, *_with_one_less(problem, shown)]:
            near.add(base)
            near |= _with_one_more(problem, base)
    return {shown for shown in near if problem.budget.allows(shown)}


def _climb(
    problem: Problem, criterion: Callable[[Problem], FloatArray], stop: Stop
) -> set[TestSet]:
    """Greedy additions, then exchanges, while the criterion falls; the best sets on the way."""
    shown: TestSet = ()
    seen: set[TestSet] = set()
    value = np.inf
    for _ in range(4 * shape_of(problem).most_shown + 4):
        # A budget of exactly k allows no smaller sets, but they are on the way to those of size k.
        names, costs = _judged(problem, _any_neighbours(problem, shown), criterion, stop)
        order = np.argsort(costs, kind="stable")
        seen |= {names[int(i)] for i in order[:KEPT]}
        best = int(order[0])
        if stop() or (costs[best] >= value and problem.budget.allows(shown)):
            break
        value, shown = float(costs[best]), names[best]
    return {s for s in seen if problem.budget.allows(s)}


def _any_neighbours(problem: Problem, shown: TestSet) -> set[TestSet]:
    limit = shape_of(problem).most_shown
    near = _with_one_more(problem, shown)
    # Exchanges of one test for another tried from one set: all of them up to 100 tests; with more,
    # tests are only added, which takes seconds as it is.
    if len(shown) * (problem.size - len(shown)) <= 2_500:
        for base in _with_one_less(problem, shown):
            near |= _with_one_more(problem, base)
    return {s for s in near if len(s) <= limit and s}


def _with_one_more(problem: Problem, shown: TestSet) -> set[TestSet]:
    blocks = problem.budget.shown_together(problem.size)
    return {tuple(sorted(shown + block)) for block in blocks if block[0] not in shown}


def _with_one_less(problem: Problem, shown: TestSet) -> set[TestSet]:
    blocks = problem.budget.shown_together(problem.size)
    return {tuple(i for i in shown if i not in out) for out in blocks if out[0] in shown}


def _when_learned(problem: Problem) -> FloatArray:
    return problem.oracle.floors()


def _now(problem: Problem) -> FloatArray:
    return np.asarray(problem.oracle.losses(problem.initial_errors[None, :])[0])


def listable(problem: Problem) -> Problem:
    """The problem with all its sets if a fixed set has a closed-form cost, else narrowed."""
    if problem.learns_by_showings and not shape_of(problem).too_many_sets:
        return problem
    return limited_to_candidates(problem)


def most_predictive_set(problem: Problem) -> TestSet:
    """The set from which a person with perfect weights would predict best.

    Ignores prices and what the person knows: it is what a statistician would pick from the data
    alone. Correlations count, so it is never worse than the tests with the largest coefficients.
    """
    if problem.is_binary:
        return most_informative_set(listable(problem))
    oracle = listable(problem).replace(risk=SquaredError()).oracle
    return oracle.sets[int(np.argmin(oracle.floors() - oracle.sets.prices))]


def full_sets(problem: Problem, rng: np.random.Generator) -> list[TestSet]:
    """Allowed sets to which no test can be added; a random sample where there are many sets."""
    if has_many_sets(problem):
        # Random sets that represent all of them where there are too many to list.
        scores = rng.random((200, problem.size))
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
