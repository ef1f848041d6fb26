"""What a wrong assumption would cost: the plan lives in changed worlds, and is planned again there.

For every change the plan's own policy is evaluated exactly in the changed problem, and a quick
search looks for a better one there. What the search finds is a saving that was missed for
certain; the instant bound says how large it can be at most.

Learning speed, first beliefs and correlation are what a plan rests on and what nobody knows
exactly; one function for each gives the problem that would be true instead.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preceptor._base.deadline import Deadline
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput, NotSerializable
from preceptor.evaluation.value import evaluate
from preceptor.model.matrices import average_correlation, correlations_of
from preceptor.model.world import World
from preceptor.people.bayesian import Bayesian
from preceptor.people.by_showings import Learner
from preceptor.people.curved import Curved
from preceptor.people.delta_rule import DeltaRule
from preceptor.people.person import Person
from preceptor.plan import Plan
from preceptor.planning.bounds import floor_bound, instant_bound
from preceptor.planning.candidate_sets import has_many_sets
from preceptor.planning.search import improved
from preceptor.planning.shape import shape_of
from preceptor.planning.streamed_floors import floor_over_all_sets
from preceptor.policies import Policy
from preceptor.problem import Problem

# Problems that are worked on at once.
_AT_ONCE = 2
# A correlation matrix is never made worse conditioned than this.
_MOST_CONDITION = 1e8
# The most that the floor over all sets may take for each changed assumption.
_FLOOR_SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class Change:
    """One assumption changed, and what the plan costs then.

    Attributes
    ----------
    assumption
        What is assumed: learning speed, first beliefs or correlations.
    direction
        The change in words.
    factor
        The change as a number; 1.2 means 20% more.
    problem
        The problem with the change in it.
    kept
        What the present plan costs there.
    again
        What a plan made for it costs.
    bound
        What no plan whatsoever goes below there.
    policy
        What the plan made for it shows.
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
        """Share of the cost that planning with the right assumption saves, found by planning."""
        return 1.0 - self.again / self.kept if self.kept > 0.0 else 0.0

    @property
    def saving_at_most(self) -> float:
        """Share of the cost that no plan for the changed problem can save more than."""
        return 1.0 - self.bound / self.kept if self.kept > 0.0 else 0.0


def sensitivity(plan: Plan, *, share: float = 0.2, seed: int = 0) -> tuple[Change, ...]:
    """The plan under each assumption somewhat less and somewhat more, what hurts most first.

    A change that cannot be made (correlations of 0, or so high that more is impossible; faster
    learning of somebody who does not learn) is left out. For a crowd there is none: what its plan
    costs each of its people (`plan.regrets`) says more.

    Parameters
    ----------
    plan
        What to put to the test.
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
    """As many changes as there is time for, and how many were left out."""
    if plan.regrets is not None:
        return (), 0
    wanted = []
    for assumption, less, more, change in _ASSUMPTIONS:
        for words, factor in ((less, 1.0 - share), (more, 1.0 + share)):
            changed = change(plan.problem, factor)
            if changed is not None:
                direction = words.format(f"{share:.0%}")
                wanted.append((changed, assumption, direction, factor))

    def live(each: tuple[Problem, str, str, float]) -> Change | None:
        return None if deadline.is_over else _live_with(plan, seed, *each)

    # Descents are compiled code that lets go of the interpreter lock; two at a time are enough to
    # keep small machines busy, and hold the tables of two problems only.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = [change for change in pool.map(live, wanted) if change is not None]
    changes = tuple(sorted(found, key=lambda change: -change.saving))
    return changes, len(wanted) - len(changes)


def _live_with(
    plan: Plan, seed: int, changed: Problem, assumption: str, direction: str, factor: float
) -> Change:
    kept = evaluate(changed, plan.policy)
    policy = improved(changed, plan.policy, seed=seed)
    again = evaluate(changed, policy)
    bound = min(_instant_bound(changed), again)
    return Change(assumption, direction, factor, changed, kept, again, bound, policy)


def _instant_bound(problem: Problem) -> float:
    if shape_of(problem).too_many_sets:
        return floor_over_all_sets(problem, _FLOOR_SECONDS)
    if has_many_sets(problem) and problem.learns_by_showings:
        return floor_bound(problem)
    return instant_bound(problem)


def faster(problem: Problem, factor: float) -> Problem | None:
    """Learning `factor` times as fast: so many times fewer showings for the same progress.

    For somebody who learns from outcomes, steps that are so many times larger, or a prior that is
    so much wider; None for somebody who does not learn, or in a way of their own.
    """
    if problem.learns_by_showings:
        return problem.replace(learner=problem.by_showings.faster(factor))
    person = problem.learner
    if isinstance(person, Curved):
        curves = [curve.faster(factor) for curve in person.curve_of]
        same = all(curve == curves[0] for curve in curves)
        return _with(problem, curves=curves[0].to_dict() if same else [c.to_dict() for c in curves])
    if isinstance(person, DeltaRule):
        return _with(problem, rate=factor * person.rate)
    if isinstance(person, Bayesian):
        return _with(problem, prior_variance=(factor * person.prior_variance).tolist())
    return None


def further_off(problem: Problem, factor: float) -> Problem | None:
    """First beliefs `factor` times as far from the truth, in the same direction."""
    truth, learner = problem.world.coefficients, problem.learner
    initial = truth - factor * (truth - learner.initial)
    if problem.learns_by_showings:
        known = problem.by_showings
        return problem.replace(learner=Learner(initial, known.curves, known.imputation))
    return _with(problem, initial=initial.tolist())


def _with(problem: Problem, **fields: Any) -> Problem | None:
    """The problem with a person who differs in some fields; None for people of one's own."""
    try:
        person = Person.from_dict({**problem.learner.to_dict(), **fields})
    except (NotSerializable, InvalidInput):
        return None
    return problem.replace(learner=person)


def more_correlated(problem: Problem, factor: float) -> Problem | None:
    """Tests whose correlations are, on average, `factor` times as large; None if that cannot be.

    Scaling the entries soon leaves the correlation matrices, so the matrix R is raised to a power
    and brought back to a diagonal of ones: a power below 1 moves it towards independence, above
    1 towards fewer common causes, and it stays positive definite. Variances, coefficients
    and noise stay, and so does the prevalence of a yes-or-no outcome.
    """
    world = problem.world
    scale = np.sqrt(np.diag(world.covariance))
    correlation = correlations_of(world.covariance)
    target = factor * average_correlation(correlation)
    if target == 0.0:
        return None
    changed = _with_average(correlation, target)
    if changed is None:
        return None
    covariance = changed * np.outer(scale, scale)
    latent = world.latent_correlation
    if latent is not None:
        return None  # the covariance follows from the copula, which is not known for this one
    other = World(
        world.coefficients,
        covariance,
        world.noise_variance,
        world.names,
        units=world.units,
        groups=world.groups,
        outcome=world.outcome,
    )
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


# What is assumed; how less and more of it read; the problem with `factor` times as much of it.
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
