"""What a wrong assumption would cost: evaluate the plan under changed assumptions, and plan again.

For every change the plan's policy is evaluated exactly in the changed problem, and a quick search
looks for a better one there. What the search finds is a lower bound on the saving that was missed;
the instant bound gives an upper bound.

A plan rests on learning speed, first beliefs and correlation, none of which is known exactly; one
function for each returns the changed problem.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from preceptor._base.progress import Deadline
from preceptor._base.values import FloatArray
from preceptor.advice.planning import QUICK_SECONDS
from preceptor.errors import InvalidInput, NotSerializable
from preceptor.model.evaluation import evaluate
from preceptor.model.matrices import average_correlation, correlations_of
from preceptor.model.person import Person
from preceptor.model.plan import Plan
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.people.by_showings import Learner
from preceptor.people.curved import Curved
from preceptor.people.outcome_learners import Bayesian, DeltaRule
from preceptor.people.with_level import WithLevel
from preceptor.planning.bounds import floor_bound, floor_over_all_sets, instant_bound
from preceptor.planning.candidate_sets import has_many_sets, shape_of
from preceptor.planning.search import improved

# Problems solved at once.
_AT_ONCE = 2
# Largest condition number of a changed correlation matrix.
_MOST_CONDITION = 1e8


@dataclass(frozen=True, eq=False)
class Change:
    """One changed assumption, and what the plan costs under it.

    Attributes
    ----------
    assumption
        The assumption: learning speed, first beliefs or correlations.
    direction
        The change in words.
    factor
        The change as a number; 1.2 means 20% more.
    problem
        The changed problem.
    kept
        Cost of the present plan there.
    again
        Cost of a plan made for it.
    bound
        Lower bound on the cost of every plan there.
    policy
        Policy of the plan made for it.
    """

    assumption: str
    direction: str
    factor: float
    problem: Problem = field(repr=False)
    kept: float
    again: float
    bound: float
    policy: Policy = field(repr=False)

    @property
    def saving(self) -> float:
        """Share of the cost that planning with the right assumption saves."""
        return 1.0 - self.again / self.kept if self.kept > 0.0 else 0.0

    @property
    def saving_at_most(self) -> float:
        """Upper bound on the share of the cost that any plan for the changed problem saves."""
        return 1.0 - self.bound / self.kept if self.kept > 0.0 else 0.0


def sensitivity(plan: Plan, *, share: float = 0.2, seed: int = 0) -> tuple[Change, ...]:
    """Evaluate the plan with each assumption decreased and increased, most costly first.

    Changes that cannot be made (correlations of 0, or too high to increase; faster learning of a
    person who does not learn) are left out. For a crowd there are none: the cost of its plan for
    each member (`plan.regrets`) says more.

    Parameters
    ----------
    plan
        The plan to evaluate.
    share
        By how much to change each assumption, between 0 and 1; 0.2 means 20%.
    seed
        Seed of the search for better plans.

    Returns
    -------
    tuple of Change
        Up to two for each assumption.

    Raises
    ------
    InvalidInput
        The share is not between 0 and 1.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.5)
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1))
    >>> len(sensitivity(plan))
    6
    """
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"share: {share}, must be between 0 and 1 (0.2 means 20%)")
    return sensitivity_until(plan, share=share, seed=seed, deadline=Deadline(None))[0]


def sensitivity_until(
    plan: Plan, *, share: float = 0.2, seed: int = 0, deadline: Deadline
) -> tuple[tuple[Change, ...], int]:
    """Return as many changes as there is time for, and how many were left out."""
    if plan.regrets is not None:
        return (), 0
    wanted = []
    for assumption, less, more, change in _ASSUMPTIONS:
        for words, factor in ((less, 1.0 - share), (more, 1.0 + share)):
            changed = change(plan.problem, factor)
            if changed is not None:
                direction = words.format(f"{share:.0%}")
                wanted.append((changed, assumption, direction, factor))

    def evaluated(each: tuple[Problem, str, str, float]) -> Change | None:
        if deadline.is_over:
            return None
        changed, assumption, direction, factor = each
        policy = improved(changed, plan.policy, seed=seed)
        kept, again = evaluate(changed, plan.policy), evaluate(changed, policy)
        bound = min(_instant_bound(changed), again)
        return Change(assumption, direction, factor, changed, kept, again, bound, policy)

    # Descents are compiled code that releases the interpreter lock; two at a time keep small
    # machines busy, and hold the tables of two problems only.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = [change for change in pool.map(evaluated, wanted) if change is not None]
    changes = tuple(sorted(found, key=lambda change: -change.saving))
    return changes, len(wanted) - len(changes)


def _instant_bound(problem: Problem) -> float:
    if shape_of(problem).too_many_sets:
        return floor_over_all_sets(problem, 2.0 * QUICK_SECONDS)
    if has_many_sets(problem) and problem.learns_by_showings:
        return floor_bound(problem)
    return instant_bound(problem)


def faster(problem: Problem, factor: float) -> Problem | None:
    """Return the problem with `factor` times faster learning: fewer showings for the same progress.

    For people who learn from outcomes, steps or prior variances that are `factor` times larger.
    None for people who do not learn, and for user-defined kinds.
    """
    if problem.learns_by_showings:
        return problem.replace(learner=problem.by_showings.faster(factor))
    person = problem.learner
    if isinstance(person, WithLevel):
        within = _faster_fields(person.person, factor)
        return _with(problem, person=person.person.to_dict() | within) if within else None
    fields = _faster_fields(person, factor)
    return _with(problem, **fields) if fields else None


def _faster_fields(person: Person, factor: float) -> dict[str, Any]:
    """Fields of a person that learns faster; none for people who do not learn."""
    if isinstance(person, Curved):
        curves = [curve.faster(factor) for curve in person.curve_of]
        same = all(curve == curves[0] for curve in curves)
        return {"curves": curves[0].to_dict() if same else [c.to_dict() for c in curves]}
    if isinstance(person, DeltaRule):
        return {"rate": factor * person.rate}
    if isinstance(person, Bayesian):
        return {"prior_variance": (factor * person.prior_variance).tolist()}
    return {}


def further_off(problem: Problem, factor: float) -> Problem | None:
    """Return the problem with initial beliefs `factor` times as far from the truth."""
    truth, learner = problem.world.coefficients, problem.learner
    initial = truth - factor * (truth - learner.initial)
    if problem.learns_by_showings:
        known = problem.by_showings
        return problem.replace(learner=Learner(initial, known.curves, known.imputation))
    if isinstance(learner, WithLevel):
        return problem.replace(
            learner=learner.with_initial(initial).at_level(factor * learner.level)
        )
    return _with(problem, initial=initial.tolist())


def _with(problem: Problem, **fields: Any) -> Problem | None:
    """The problem with some fields of the person changed; None for user-defined people."""
    try:
        person = Person.from_dict({**problem.learner.to_dict(), **fields})
    except (NotSerializable, InvalidInput):
        return None
    return problem.replace(learner=person)


def more_correlated(problem: Problem, factor: float) -> Problem | None:
    """Return the problem with mean correlation `factor` times as large; None if impossible.

    Scaling the entries soon leaves the correlation matrices, so the matrix R is raised to a power
    and brought back to a diagonal of ones: a power below 1 moves it towards independence, above
    1 towards fewer common causes, and it stays positive definite. Variances, coefficients
    and noise stay, and so does the prevalence of a yes-or-no outcome.
    """
    world = problem.world
    scale = np.sqrt(np.diag(world.covariance))
    correlation = correlations_of(world.covariance)
    target = factor * average_correlation(correlation)
    # A covariance that follows from a copula cannot be changed: the new copula is unknown.
    if target == 0.0 or world.latent_correlation is not None:
        return None
    changed = _with_average(correlation, target)
    if changed is None:
        return None
    other = replace(world, covariance=changed * np.outer(scale, scale))
    return problem.replace(world=other)


def _with_average(correlation: FloatArray, target: float) -> FloatArray | None:
    """The power of the matrix whose average correlation is the target."""
    from scipy.optimize import brentq

    values, vectors = np.linalg.eigh(correlation)
    most = np.log(_MOST_CONDITION) / np.log(values[-1] / values[0])

    def power(exponent: float) -> FloatArray:
        return correlations_of((vectors * values**exponent) @ vectors.T)

    def beyond(exponent: float) -> float:
        return average_correlation(power(exponent)) - target

    if beyond(most) < 0.0:
        return None
    changed = power(brentq(beyond, 0.0, most))
    return (changed + changed.T) / 2


# Assumption; wording of less and of more; function that returns the problem scaled by `factor`.
_ASSUMPTIONS: tuple[tuple[str, str, str, Callable[[Problem, float], Problem | None]], ...] = (
    ("learning speed", "the person learns {} slower", "the person learns {} faster", faster),
    (
        "first beliefs",
        "the person starts {} closer to the truth",
        "the person starts {} further from the truth",
        further_off,
    ),
    (
        "correlation",
        "tests are {} less correlated",
        "tests are {} more correlated",
        more_correlated,
    ),
)
