"""Is the best plan the only one, and by how much? Generic uniqueness as something to run.

**Corollary.** Draw the true weights from any density. With probability 1 no two sets tie in the
long run, whichever tests recur and wherever the others were left, so every optimal policy of the
endless problem ends on one set.

The reason: for fixed recurrent tests R, frozen counts and two different sets S, T within R, the
difference of the tail losses is a polynomial in the weights. For a test j in T but not in S its
coefficient of a_j² is var(x_j | x_S) > 0 (`tie_coefficient`), so it is not zero everywhere, and a
polynomial that is not zero everywhere is zero on a set of measure 0 only. There are finitely many
R, S, T and countably many counts.

Three things to run: `tie_coefficient` is that number; `least_tail_margin` looks for the closest
tie of a given problem over all R and all counts up to some number; `unique_optimum` says of a
finite problem whether its best schedule is the only one, and how far the next one is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import count_faults
from preceptor._base.words import many
from preceptor.errors import InvalidInput, NotApplicable, TooLarge
from preceptor.model.long_run import tail_losses, tie_slack
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.planning.count_space import CountSpace
from preceptor.theory.one_step import conditional_covariance

_MOST_STEPS = 1_000_000

# What the two best ways to a state cost, and how they go: the last set, and the way before it.
_Way = tuple[float, "tuple[TestSet, _Way] | None"]


@dataclass(frozen=True)
class OptimumUniqueness:
    """The best schedule of a finite problem, and the next one.

    Attributes
    ----------
    value
        Discounted loss of the best schedule.
    schedule
        That schedule.
    margin
        How much more the second-best schedule costs; None if there is no other schedule.
    runner_up
        A second-best schedule, or None.
    slack
        Margins up to this are rounding.
    """

    value: float
    schedule: tuple[TestSet, ...]
    margin: float | None
    runner_up: tuple[TestSet, ...] | None
    slack: float

    @property
    def unique(self) -> bool:
        """Whether every other schedule costs more, by more than rounding."""
        return self.margin is None or self.margin > self.slack


@dataclass(frozen=True)
class TailMargin:
    """The closest that the two best sets of any long run come to each other.

    Attributes
    ----------
    margin
        Distance of the best two tail losses where it is smallest; None if no long run has two sets.
    recurrent
        The tests that recur there.
    counts
        How often each other test was shown, by index.
    sets
        The two sets.
    tie
        Whether the distance is no more than rounding.
    """

    margin: float | None
    recurrent: tuple[int, ...]
    counts: dict[int, int]
    sets: tuple[TestSet, ...]
    tie: bool


def unique_optimum(problem: Problem) -> OptimumUniqueness:
    """Whether the best schedule of a finite problem is the only one, by exact enumeration.

    Every schedule is compared. Those that lead to the same counts go on alike, so that the two
    best of them are enough: that is exact for the best two schedules of all.

    Parameters
    ----------
    problem
        A small one with a horizon, and a person who learns by showings.

    Returns
    -------
    OptimumUniqueness
        The best schedule, and how far the next one is.

    Raises
    ------
    NotApplicable
        The problem has no horizon.
    TooLarge
        There are too many states.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 1.0], 0.9)
    >>> learner = pr.Learner([0.0, 0.0], pr.Geometric(1.5))
    >>> pair = pr.Problem(world, learner, pr.Exactly(1), horizon=3)
    >>> unique_optimum(pair).unique
    False
    >>> unique_optimum(pair.replace(learner=pr.Learner([0.0, 0.1], pr.Geometric(1.5)))).unique
    True
    """
    if problem.horizon is None:
        raise NotApplicable(
            "unique_optimum: the problem has no end; give problem.replace(horizon=...), or ask "
            "least_tail_margin about the long run"
        )
    sets = list(problem.sets)
    layer: dict[tuple[int, ...], list[_Way]] = {problem.start_counts: [(0.0, None)]}
    steps = CountSpace.smallest(problem.sets, problem.horizon).states() * len(sets)
    if steps > _MOST_STEPS:
        # Python takes about 200 bytes to remember one way to a state.
        raise TooLarge(
            f"unique_optimum: {many(steps)} steps from state to state, more than "
            f"{many(_MOST_STEPS)}; use a shorter horizon or fewer tests",
            bytes_needed=int(200 * steps),
        )
    for t in range(problem.horizon):
        layer = _one_round_on(problem, layer, sets, problem.discount**t)
    ways = sorted(itertools.chain.from_iterable(layer.values()), key=lambda way: way[0])[:2]
    value = ways[0][0]
    # As many roundings as rounds are added up.
    slack = max(tie_slack(problem, value), 1e-15 * problem.horizon * abs(value))
    return OptimumUniqueness(
        value=value,
        schedule=_as_schedule(ways[0]),
        margin=ways[1][0] - value if len(ways) > 1 else None,
        runner_up=_as_schedule(ways[1]) if len(ways) > 1 else None,
        slack=slack,
    )


def least_tail_margin(problem: Problem, showings: int = 3) -> TailMargin:
    """Look for the closest tie in the long run: all recurrent tests, all frozen counts.

    Parameters
    ----------
    problem
        Whose sets and losses are meant; its horizon does not matter.
    showings
        Tests that do not recur are frozen after 0, 1, ..., `showings` showings beyond the start.

    Returns
    -------
    TailMargin
        Where the best two sets come closest, and how close.

    Raises
    ------
    InvalidInput
        A number of showings that makes no sense.
    TooLarge
        There are too many combinations.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, -1.0], 0.5)
    >>> problem = pr.Problem(world, pr.Learner([0.0, 0.5], pr.Geometric(1.1)), pr.Exactly(1))
    >>> found = least_tail_margin(problem)
    >>> found.tie, found.sets
    (True, ((0,), (1,)))
    """
    InvalidInput.raise_if(count_faults(0, showings=showings))
    # Σ_R (showings + 1)^(n - |R|) by the binomial theorem.
    tails = (showings + 2.0) ** problem.size
    if tails > 200_000:
        raise TooLarge(
            f"least_tail_margin: {many(tails)} combinations of recurrent tests and counts; "
            "use fewer `showings` or fewer tests",
            bytes_needed=int(tails) * 8 * problem.size,
        )
    best = TailMargin(None, (), {}, (), False)
    for recurrent, counts in _tails(problem, showings):
        losses = tail_losses(problem, recurrent, np.array(counts))
        if len(losses) < 2:
            continue
        first, second = sorted(losses, key=losses.__getitem__)[:2]
        margin = losses[second] - losses[first]
        if best.margin is None or margin < best.margin:
            frozen = {i: counts[i] for i in range(problem.size) if i not in recurrent}
            tie = margin <= tie_slack(problem, losses[first])
            best = TailMargin(margin, recurrent, frozen, (first, second), tie)
    return best


def tie_coefficient(
    covariance: npt.ArrayLike, first: Sequence[int], second: Sequence[int]
) -> float:
    """Why two sets hardly ever tie: a coefficient of the polynomial that would have to be 0.

    For a test j in one set and not in the other, S, the difference of their tail losses has
    var(x_j | x_S) a_j² as its only term in a_j². This is the largest such number over j.

    Parameters
    ----------
    covariance
        Of the tests, shape (n, n), positive definite.
    first
        A set of tests, all of them recurrent.
    second
        Another one.

    Returns
    -------
    float
        Above 0.

    Raises
    ------
    InvalidInput
        The two sets are the same.

    Examples
    --------
    >>> tie_coefficient([[1.0, 0.6], [0.6, 1.0]], (0,), (1,))
    0.64
    """
    sigma = np.asarray(covariance, dtype=np.float64)
    one, other = tuple(sorted(set(first))), tuple(sorted(set(second)))
    if one == other:
        raise InvalidInput(f"second: {one}, must differ from `first`")
    largest = 0.0
    for shown, more in ((one, other), (other, one)):
        hidden = [i for i in range(sigma.shape[0]) if i not in shown]
        left = np.diag(conditional_covariance(sigma, shown))
        largest = max([largest, *(float(left[hidden.index(j)]) for j in set(more) - set(shown))])
    return largest


def _one_round_on(
    problem: Problem, layer: dict[tuple[int, ...], list[_Way]], sets: list[TestSet], weight: float
) -> dict[tuple[int, ...], list[_Way]]:
    """The two best ways to every state that one more round leads to."""
    states = np.array(list(layer), dtype=np.int64)
    losses = problem.oracle.losses(problem.by_showings.errors(problem.world, states))
    after: dict[tuple[int, ...], list[_Way]] = {}
    for row, (counts, ways) in enumerate(layer.items()):
        for column, shown in enumerate(sets):
            later = tuple(m + (i in shown) for i, m in enumerate(counts))
            cost = weight * float(losses[row, column])
            after.setdefault(later, []).extend((way[0] + cost, (shown, way)) for way in ways)
    return {counts: sorted(ways, key=lambda way: way[0])[:2] for counts, ways in after.items()}


def _as_schedule(way: _Way) -> tuple[TestSet, ...]:
    shown: list[TestSet] = []
    before = way[1]
    while before is not None:
        shown.append(before[0])
        before = before[1][1]
    return tuple(reversed(shown))


def _tails(problem: Problem, showings: int) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every set of recurrent tests with every choice of frozen counts."""
    tests = range(problem.size)
    for size in range(problem.size + 1):
        for recurrent in itertools.combinations(tests, size):
            choices = [
                (start,) if i in recurrent else range(start, start + showings + 1)
                for i, start in enumerate(problem.start_counts)
            ]
            for counts in itertools.product(*choices):
                yield recurrent, counts
