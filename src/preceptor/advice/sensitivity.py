"""What a wrong assumption would cost: the plan lives in changed worlds, and is planned again there.

For every change the plan's own policy is evaluated exactly in the changed problem, and a quick
search looks for a better one there. What the search finds is a saving that was missed for
certain; the instant bound says how large it can be at most.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from preceptor._base.deadline import Deadline
from preceptor.advice.what_if import faster, further_off, more_correlated
from preceptor.errors import InvalidInput
from preceptor.evaluation.value import evaluate
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
