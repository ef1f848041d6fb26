"""The loss of a round in the long run, and ties between sets there.

Under a fixed policy let R be the tests shown infinitely often. Their errors tend to the limit of
their curves (0 if everything is learned eventually), the others stay where their last showing left
them. So the loss of a set within R tends to its loss at these limiting errors: its *tail
loss*. With full learning and squared error it is

    noise + a'(Σ - M_S)a + e'M_S e,

where e holds the frozen errors of the tests outside R and 0 for those in R.

If one subset of R has the smallest tail loss, every optimal policy with that R ends by showing it
forever (the eventually-stationary theorem); if several tie, it may change between them forever.
Two consequences of the paper:

- two tests of equal variance, one shown per round: both can recur only if |a_1| = |a_2|, because
  the tail losses differ by (1-ρ²)(a_2² - a_1²);
- the difference of two tail losses is a polynomial in the coefficients that is not zero
  everywhere, so coefficients drawn from a density tie with probability 0. Symmetric examples do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.numerics import ROUNDING
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import NotApplicable
from preceptor.model.evaluation import counts_after
from preceptor.model.policies import Alternating, Policy
from preceptor.model.risks import NumberRisk

if TYPE_CHECKING:
    from preceptor.model.problem import Problem
    from preceptor.model.sets import TestSet

# So do two that differ by rounding relative to the loss of showing nothing: without noise, tail
# losses can be 0 up to the rounding of numbers of that size.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)

# The largest number of sets that are compared with the commit set.
_MAX_COMPARED = 50_000


def recurrent_tests(policy: Policy) -> frozenset[int]:
    """Tests that a policy shows infinitely often.

    Parameters
    ----------
    policy
        One that commits or repeats a cycle.

    Returns
    -------
    frozenset of int
        Indices of tests.

    Raises
    ------
    NotApplicable
        The policy does neither.

    Examples
    --------
    >>> import preceptor as pr
    >>> sorted(recurrent_tests(pr.ExploreThenCommit([(1,), (2,)], commit=(0, 1))))
    [0, 1]
    """
    if policy.commit is not None:
        return frozenset(policy.commit)
    if isinstance(policy, Alternating):
        return frozenset(i for shown in policy.cycle for i in shown)
    raise NotApplicable(
        f"{type(policy).__name__} neither commits nor repeats a cycle, so the tests that it shows "
        "infinitely often are not known"
    )


def settled_round(policy: Policy) -> int:
    """The proof's T_R: from this round on only recurrent tests are shown.

    Parameters
    ----------
    policy
        One that commits or repeats a cycle.

    Returns
    -------
    int
        The round, 0 if no other test is ever shown.

    Examples
    --------
    >>> import preceptor as pr
    >>> settled_round(pr.ExploreThenCommit([(1,), (), (0,), ()], commit=(0,)))
    1
    """
    recurrent = recurrent_tests(policy)
    prefix = policy.schedule(policy.exploration_length or 0)
    others = [t for t, shown in enumerate(prefix) if not recurrent.issuperset(shown)]
    return others[-1] + 1 if others else 0


def frozen_counts(problem: Problem, policy: Policy) -> IntArray:
    """Exposure counts at `settled_round`; those of tests that do not recur never change again.

    Parameters
    ----------
    problem
        The problem, whose start is used.
    policy
        One that commits or repeats a cycle.

    Returns
    -------
    array of shape (n,)
        Exposure counts.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)
    >>> frozen_counts(problem, pr.ExploreThenCommit([(1,), (1,)], commit=(0,))).tolist()
    [0, 2]
    """
    return counts_after(problem, policy.schedule(settled_round(policy)))


def limiting_errors(problem: Problem, recurrent: Iterable[int], counts: IntArray) -> FloatArray:
    """Errors in the long run: recurrent tests at their limit, the others frozen.

    Parameters
    ----------
    problem
        With the person and the world.
    recurrent
        Tests that are shown infinitely often.
    counts
        Exposure counts at which the others stop, shape (n,).

    Returns
    -------
    array of shape (n,)
        Truth minus belief, in the world's units.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(2.0)), 1)
    >>> limiting_errors(problem, recurrent=[0], counts=[0, 1]).tolist()
    [0.0, 0.4]
    """
    errors = problem.by_showings.errors(problem.world, counts)
    first = problem.first_errors
    for i in recurrent:
        errors[i] = first[i] * np.sqrt(problem.by_showings.curve_of[i].limit)
    return errors


def tail_losses(
    problem: Problem, recurrent: Iterable[int], counts: IntArray
) -> dict[TestSet, float]:
    """Tail loss of each allowed set of recurrent tests: the loss of a round in the long run.

    Parameters
    ----------
    problem
        With the sets and losses.
    recurrent
        Tests that are shown infinitely often.
    counts
        Exposure counts at which the others stop, shape (n,).

    Returns
    -------
    dict of set to float
        One loss per allowed set within `recurrent`, in the order that breaks ties.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([2.0, 1.0], 0.5, noise_variance=0.25)
    >>> problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), pr.Exactly(1))
    >>> tail_losses(problem, recurrent=[0, 1], counts=[0, 0])
    {(0,): 1.0, (1,): 3.25}
    """
    members = frozenset(recurrent)
    errors = limiting_errors(problem, members, counts)[None, :]
    return {
        shown: float(problem.oracle.loss_of(errors, shown)[0])
        for shown in problem.sets
        if members.issuperset(shown)
    }


def tail_minimisers(problem: Problem, losses: dict[TestSet, float]) -> list[TestSet]:
    """All sets whose tail loss is the smallest, up to rounding.

    Parameters
    ----------
    problem
        The problem of these losses, which determines the tolerance.
    losses
        As returned by `tail_losses`.

    Returns
    -------
    list of tuples of int
        One set, or several that tie.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([2.0, 1.0], 0.5)
    >>> problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), pr.Exactly(1))
    >>> tail_minimisers(problem, tail_losses(problem, recurrent=[0, 1], counts=[0, 0]))
    [(0,)]
    """
    least = min(losses.values())
    slack = tie_slack(problem, least)
    return [shown for shown, loss in losses.items() if loss - least <= slack]


def tie_slack(problem: Problem, loss: float) -> float:
    """The distance within which another loss counts as equal to this one."""
    nothing_shown = float(problem.oracle.loss_of(np.zeros((1, problem.size)), ())[0])
    return max(ROUNDING * abs(loss), _ROUNDING * abs(nothing_shown))


def tied_sets(problem: Problem, policy: Policy) -> list[TestSet]:
    """Sets that would cost exactly as much as the commit set once their tests are learned.

    For each allowed set the tests of both sets are recurrent and the rest are frozen where the
    policy leaves them.

    Parameters
    ----------
    problem
        Whose sets are compared.
    policy
        Whose commit set they are compared with.

    Returns
    -------
    list of tuples of int
        Empty if nothing ties.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, -1.0], 0.5)
    >>> problem = pr.Problem(world, pr.Learner([0.0, 0.5], pr.Geometric(1.1)), 1)
    >>> tied_sets(problem, pr.Stationary((0,)))
    [(1,)]
    """
    commit, length = policy.commit, policy.exploration_length
    if commit is None or length is None or problem.budget.count(problem.size) > _MAX_COMPARED:
        return []
    counts = counts_after(problem, policy.schedule(length))
    frozen = problem.by_showings.errors(problem.world, counts)
    limits = limiting_errors(problem, range(problem.size), counts)
    membership = problem.sets.membership
    both = membership.copy()
    both[:, list(commit)] = True
    errors = np.where(both, limits, frozen)
    of_commit = problem.oracle.loss_of(errors, commit)
    slack = np.maximum(tie_slack(problem, 0.0), ROUNDING * np.abs(of_commit))
    # A set whose floor is already larger cannot tie; that rules out most sets.
    possible = np.flatnonzero(problem.oracle.floors() <= of_commit + slack)
    forms = problem.oracle.forms()
    if forms is not None and isinstance(problem.risk, NumberRisk):
        miss = np.einsum("sri,si->sr", forms.reading[possible], errors[possible])
        variance = forms.floor[possible] + np.sum((forms.shift[possible] + miss) ** 2, axis=1)
        about = problem.risk.expected(variance) + forms.prices[possible]
        # all sets at once with a wider tolerance; the remaining ones are compared one by one
        room = slack[possible] + 10.0 * ROUNDING * np.abs(about)
        possible = possible[np.abs(about - of_commit[possible]) <= room]
    ties = []
    for position in possible:
        shown = problem.sets[int(position)]
        if shown == commit:
            continue
        other = float(problem.oracle.loss_of(errors[position][None, :], shown)[0])
        if abs(other - of_commit[position]) <= slack[position]:
            ties.append(shown)
    return ties
