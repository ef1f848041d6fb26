"""The exact value of a policy: expected discounted loss, over finitely many rounds or forever.

A policy that commits is a finite sum plus the cost of one set shown forever, which has a closed
form for squared error (`closed_commit_value`). Otherwise losses are summed until the rest is below
rounding.

For people who do not learn by showings, single or as a crowd, each kind of person computes expected
losses along a schedule (`model/expected.py`); here a policy becomes such a schedule, and a crowd
the average over its people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.checks import count_faults
from preceptor._base.numerics import (
    discounted_sum,
    geometric_sum,
    negligible_after,
    rounds_until,
    total_weight,
    weight_after,
)
from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor.errors import InvalidInput
from preceptor.model.expected import Expected, ReportsErrors
from preceptor.model.person import Person
from preceptor.model.policies import Policy, as_sets, check_sets, exposure_counts, rounds_by_set
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import BLOCK_NUMBERS, MOST_LISTED, SetFamily, TestSet


def people_of(problem: Problem) -> dict[str, Person]:
    """The people that a problem's learner may be, by name."""
    return problem.learner.people


def learner_is_unknown(problem: Problem) -> bool:
    """Whether nothing is known about how the person learns, so that they are the default crowd.

    Parameters
    ----------
    problem
        With any person.

    Returns
    -------
    bool
        False for people from a learner file and for custom crowds.
    """
    return problem.learner.is_default_crowd(problem.world)


def weights_of(problem: Problem) -> FloatArray:
    """Probability of each of these people."""
    return problem.learner.weights


def expectations(problem: Problem) -> tuple[Expected, ...]:
    """Expectations of each person for all allowed sets."""
    return remembered(problem, "expectations", lambda: _expectations(problem, problem.sets))


def expected_costs(problem: Problem, policy: Policy) -> FloatArray:
    """Expected discounted loss of a policy for each person (people,)."""
    used = policy.used_sets()
    people = _expectations(problem, family_of(problem, used))
    where = {shown: position for position, shown in enumerate(used)}
    horizon = problem.horizon
    settles = None if horizon is not None else policy.settles()
    if settles is not None:
        first, repeated = ([where[shown] for shown in part] for part in settles)
        return np.array([each.total(first, problem.discount, tuple(repeated)) for each in people])
    rounds = horizon if horizon is not None else negligible_after(problem.discount)
    schedule = [where[shown] for shown in policy.schedule(rounds)]
    totals = []
    for each in people:
        losses = each.losses(schedule)
        total = discounted_sum(losses, problem.discount)
        if horizon is None:
            total += weight_after(problem.discount, rounds) * float(losses[-1])
        totals.append(total)
    return np.array(totals)


def fixed_costs(problem: Problem, sets: list[TestSet] | None = None) -> FloatArray:
    """Cost of always showing a set, for each set (all by default) and person (sets, people).

    Infinite where errors grow without bound.
    """
    horizon, discount = problem.horizon, problem.discount
    listed = list(problem.sets) if sets is None else sets
    if problem.learns_by_showings:
        counts = np.array(problem.start_counts, dtype=np.int64)
        return np.array([[commit_value(problem, counts, s, horizon)] for s in listed])
    family = family_of(problem, listed)
    people = expectations(problem) if sets is None else _expectations(problem, family)

    def throughout(who: Expected, position: int) -> float:
        if horizon is None:
            return who.total([], discount, (position,))
        return who.total([position] * horizon, discount, ())

    costs = np.array([[throughout(who, i) for who in people] for i in range(len(listed))])
    return np.where(np.isnan(costs), np.inf, costs)


def expected_losses(problem: Problem, schedule: list[TestSet]) -> FloatArray:
    """Loss of each round (rounds,) along a schedule, averaged over people."""
    path, people = expectations_along(problem, schedule)
    return np.asarray(weights_of(problem) @ np.array([each.losses(path) for each in people]))


def expectations_along(
    problem: Problem, schedule: list[TestSet]
) -> tuple[list[int], tuple[Expected, ...]]:
    """A schedule as positions of sets, and the expectations of each person for these sets."""
    used = list(dict.fromkeys(schedule))
    where = {shown: position for position, shown in enumerate(used)}
    path = [where[shown] for shown in schedule]
    return path, _expectations(problem, family_of(problem, used))


def family_of(problem: Problem, sets: list[TestSet]) -> SetFamily:
    """A family of these sets, in this order, at the problem's prices."""
    return SetFamily.of(sets, problem.budget.prices(problem.size))


def _expectations(problem: Problem, sets: SetFamily) -> tuple[Expected, ...]:
    return tuple(
        person.expectation(problem.world, sets, problem.start, problem.risk)
        for person in people_of(problem).values()
    )


# The cost of showing one set for the rest of the time, in closed form.
#
# While S is shown, the error of a shown test i is e_i(t) = e_i β_i^t (β = 1/α for geometric
# learning, 0 for one-shot) and the other errors are constant. Squared loss is a quadratic form in
# the errors, so its discounted sum needs only three kinds of numbers:
#
#     A0 = Σ_t δ^t,   A1_i = Σ_t δ^t β_i^t,   A2_ij = Σ_t δ^t (β_i β_j)^t.
#
# For curves without a constant ratio, `tail_sums` tabulates Σ_t δ^t r_i(p+t) and Σ_t δ^t r_i(p+t)
# r_j(q+t) for all counts p, q at once.


def closed_commit_value(
    problem: Problem, counts: IntArray, shown: tuple[int, ...], rounds: int | None
) -> float | None:
    """Discounted loss of showing `shown` from `counts` on; None if there is no closed form."""
    form = problem.oracle.squared_form_of(shown)
    curves = problem.by_showings.curve_of
    ratios = [curves[i].ratio for i in shown]
    if form is None or any(ratio is None for ratio in ratios):
        return None
    discount = problem.discount
    errors = problem.by_showings.errors(problem.world, counts)
    members = list(shown)
    hidden = [i for i in range(problem.size) if i not in shown]
    beta = np.array(ratios, dtype=np.float64)
    steady = form.shift + form.reading[:, hidden] @ errors[hidden]
    moving = form.reading[:, members] * errors[members]
    a0 = total_weight(discount, rounds)
    a1 = geometric_sum(discount * beta, rounds)
    a2 = geometric_sum(discount * np.outer(beta, beta), rounds)
    constant = (form.floor + form.price + float(steady @ steady)) * a0
    cross = 2.0 * float(steady @ moving @ a1)
    return constant + cross + float(np.sum((moving.T @ moving) * a2))


@dataclass(frozen=True)
class TailSums:
    """Discounted sums of retentions for all exposure counts up to P.

    `zeroth` is A0. `first[i, p]` is Σ δ^t r_i(p+t). `second` gives Σ δ^t r_i(p+t) r_j(q+t): as
    `scale[i, j] r_i(p) r_j(q)` when every curve has a constant ratio, else as the table
    `second[i, j, p, q]` (which then is not empty).
    """

    zeroth: float
    first: FloatArray  # (n, P + 1)
    retention: FloatArray  # (n, P + 1)
    scale: FloatArray  # (n, n)
    second: FloatArray  # (n, n, P + 1, P + 1) or (0, 0, 0, 0)


def tail_sums_bytes(problem: Problem, showings: int) -> int:
    """Memory that `tail_sums` needs."""
    n = problem.size
    if all(curve.ratio is not None for curve in problem.by_showings.curve_of):
        return 16 * n * (showings + 1)
    return 8 * n * n * (showings + 1) ** 2


def tail_sums(problem: Problem, showings: int, rounds: int | None) -> TailSums:
    """Tables for counts up to `showings` beyond the start, over `rounds` rounds or forever."""
    n, discount = problem.size, problem.discount
    ratios = [curve.ratio for curve in problem.by_showings.curve_of]
    a0 = total_weight(discount, rounds)
    if all(ratio is not None for ratio in ratios):
        beta = np.array(ratios, dtype=np.float64)
        retention = problem.by_showings.retention_table(problem.start_counts, showings)
        first = retention * geometric_sum(discount * beta, rounds)[:, None]
        scale = geometric_sum(discount * np.outer(beta, beta), rounds)
        return TailSums(a0, first, retention, scale, np.empty((0, 0, 0, 0)))
    from preceptor.model._loss_kernels import fill_tail_tables

    length = negligible_after(discount) if rounds is None else rounds
    if discount < 1.0:
        length = min(length, negligible_after(discount))
    long = problem.by_showings.retention_table(problem.start_counts, showings + length)
    first = np.empty((n, showings + 1))
    second = np.empty((n, n, showings + 1, showings + 1))
    fill_tail_tables(long, discount, length, first, second)
    retention = np.ascontiguousarray(long[:, : showings + 1])
    return TailSums(a0, first, retention, np.empty((0, 0)), second)


def evaluate(problem: Problem, policy: Policy) -> float:
    """Expected discounted loss of a policy from the problem's start, exact up to rounding.

    Parameters
    ----------
    problem
        World, person, budget, risk and time.
    policy
        The policy to evaluate.

    Returns
    -------
    float
        In units of the risk; comparable with `Plan.value`.

    Raises
    ------
    InvalidPolicy
        The problem does not allow what the policy shows.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> learner = pr.Learner([0.2, 1.3], pr.Geometric(1.10))
    >>> round(pr.evaluate(pr.Problem(world, learner, 1), pr.Stationary((0,))), 2)
    36.26
    """
    policy.check(problem)
    horizon, discount = problem.horizon, problem.discount
    if not problem.learns_by_showings:
        return float(weights_of(problem) @ expected_costs(problem, policy))
    if horizon is not None:
        return discounted_sum(losses_along(problem, policy.schedule(horizon)), discount)
    length, commit = policy.exploration_length, policy.commit
    if length is not None and commit is not None:
        prefix = policy.schedule(length)
        head = discounted_sum(losses_along(problem, prefix), discount)
        tail = commit_value(problem, counts_after(problem, prefix), commit)
        return head + discount**length * tail
    rounds = negligible_after(discount)
    losses = losses_along(problem, policy.schedule(rounds))
    return discounted_sum(losses, discount) + weight_after(discount, rounds) * float(losses[-1])


def losses_along(problem: Problem, schedule: list[TestSet]) -> FloatArray:
    """Loss of each round (rounds,) along a schedule from the start."""
    if not problem.learns_by_showings:
        return expected_losses(problem, schedule)
    counts = running_counts(problem, schedule)[:-1]
    losses = np.empty(len(schedule))
    step = BLOCK_NUMBERS // problem.size
    for shown, rounds in rounds_by_set(schedule).items():
        for start in range(0, len(rounds), step):
            part = rounds[start : start + step]
            errors = problem.by_showings.errors(problem.world, counts[part])
            losses[part] = problem.oracle.loss_of(errors, shown)
    return losses


def running_counts(problem: Problem, schedule: list[TestSet]) -> IntArray:
    """Exposure counts before each round and after the last, shape (rounds + 1, n)."""
    counts: IntArray = exposure_counts(schedule, problem.size)
    counts += np.array(problem.start_counts)
    return counts


def counts_after(problem: Problem, schedule: list[TestSet]) -> IntArray:
    """Exposure counts (n,) after the whole schedule."""
    counts = np.array(problem.start_counts, dtype=np.int64)
    for shown, rounds in rounds_by_set(schedule).items():
        counts[list(shown)] += len(rounds)
    return counts


def commit_value(
    problem: Problem, counts: IntArray, shown: TestSet, rounds: int | None = None
) -> float:
    """Discounted loss of showing one set from `counts` on, for `rounds` rounds or forever.

    For people who learn by showings.
    """
    closed = closed_commit_value(problem, counts, shown, rounds)
    if closed is not None:
        return closed
    length = rounds if rounds is not None else negligible_after(problem.discount)
    moves = np.zeros(problem.size, dtype=np.int64)
    moves[list(shown)] = 1
    total, last, step = 0.0, 0.0, BLOCK_NUMBERS // problem.size
    for start in range(0, length, step):
        times = np.arange(start, min(start + step, length))
        errors = problem.by_showings.errors(problem.world, counts + times[:, None] * moves)
        losses = problem.oracle.loss_of(errors, shown)
        total += problem.discount**start * discounted_sum(losses, problem.discount)
        last = float(losses[-1])
    return total if rounds is not None else total + weight_after(problem.discount, length) * last


def worst_loss(problem: Problem, sets: Iterable[TestSet]) -> float:
    """Upper bound on the loss of a round that shows one of `sets`, whatever was shown before.

    Errors only shrink, so it is enough to bound the loss while every error is at most its initial
    size, whatever the signs.
    """
    sizes = np.abs(problem.initial_errors)
    return max(problem.oracle.ceiling_of(sizes, shown) for shown in sets)


def worst_loss_of_all(problem: Problem) -> float:
    """The same for all allowed sets, at once if their losses have a form."""
    forms, risk = problem.oracle.forms(), problem.risk
    if forms is None or not isinstance(risk, NumberRisk) or not risk.is_increasing:
        return worst_loss(problem, problem.sets)
    largest = np.abs(forms.shift) + np.abs(forms.reading) @ np.abs(problem.initial_errors)
    variance = forms.floor + np.sum(largest * largest, axis=1)
    return float(np.max(risk.expected(variance) + forms.prices))


# On an infinite horizon, rounds are listed until the rest has this share of the total weight.
_UNLISTED = 0.01


def losses(
    problem: Problem, shown: Policy | Sequence[Sequence[int]], rounds: int | None = None
) -> FloatArray:
    """Expected loss of each round, not discounted.

    Parameters
    ----------
    problem
        World, person, budget, risk and time.
    shown
        A policy, or the sets of the first rounds in order.
    rounds
        How many rounds. If left out: all of them; on an infinite horizon, until the rest has one
        per cent of the total weight.

    Returns
    -------
    array of shape (rounds,)
        In units of the risk, averaged over the people of a crowd. Over all rounds the discounted
        sum is what `evaluate` gives.

    Raises
    ------
    InvalidInput
        An invalid number of rounds.
    InvalidPolicy
        The problem does not allow the sets.

    Examples
    --------
    >>> import preceptor as pr
    >>> problem = pr.Problem(pr.World([1.0], [[1.0]], 0.5), pr.Learner([0.0], pr.Geometric(2.0)), 1)
    >>> pr.losses(problem, [(0,), (0,), ()]).tolist()
    [1.5, 0.75, 1.5]
    """
    return losses_along(problem, schedule_of(problem, shown, rounds))


def schedule_of(
    problem: Problem, shown: Policy | Sequence[Sequence[int]], rounds: int | None
) -> list[TestSet]:
    """The sets of the first rounds, checked against the problem."""
    InvalidInput.raise_if(count_faults(1, or_none=True, rounds=rounds))
    longest = problem.horizon
    if not isinstance(shown, Policy):
        sets = as_sets(shown)
        longest = len(sets) if longest is None else min(len(sets), longest)
    if rounds is not None and longest is not None and rounds > longest:
        raise InvalidInput(f"rounds: {rounds}, there are only {longest}")
    if isinstance(shown, Policy):
        shown.check(problem)
        return shown.schedule(_rounds_listed(problem) if rounds is None else rounds)
    check_sets(sets, problem)
    return sets[: longest if rounds is None else rounds]


def _rounds_listed(problem: Problem) -> int:
    if problem.horizon is not None:
        return problem.horizon
    return min(rounds_until(problem.discount, _UNLISTED), MOST_LISTED)


def course(problem: Problem, policy: Policy, rounds: int | None, by_person: bool) -> dict[str, Any]:
    """Columns of a table with one row per round (and person): see `Plan.to_frame`."""
    schedule = schedule_of(problem, policy, rounds)
    names = list(people_of(problem))
    losses_of, errors = people_along(problem, schedule)
    if not by_person:
        shares = weights_of(problem)
        names, losses_of = [""], [losses_along(problem, schedule)]
        errors = [np.tensordot(shares, np.array(errors), axes=1)]
    world = problem.world
    counts = running_counts(problem, schedule)[:-1]
    blocks, length = len(names), len(schedule)
    columns: dict[str, Any] = {}
    if by_person:
        columns["person"] = np.repeat(np.array(names, dtype=object), length)
    columns["round"] = np.tile(np.arange(length), blocks)
    shown = [" + ".join(world.name_of(tests)) or "nothing" for tests in schedule]
    columns["shown"] = shown * blocks
    columns["loss"] = np.concatenate(losses_of)
    for name, block in zip(world.tests, world.blocks, strict=True):
        columns[f"count:{name}"] = np.tile(counts[:, block[0]], blocks)
    for i, name in enumerate(world.labels):
        columns[f"belief:{name}"] = np.concatenate(
            [world.coefficients[i] - e[:, i] for e in errors]
        )
    return columns


def people_along(
    problem: Problem, schedule: list[TestSet]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """For each person the losses (rounds,) and expected errors (rounds, n) before each round."""
    if problem.learns_by_showings:
        counts = running_counts(problem, schedule)[:-1]
        return [losses_along(problem, schedule)], [
            problem.by_showings.errors(problem.world, counts)
        ]
    path, people = expectations_along(problem, schedule)
    errors = [_errors_of(each, path, problem.size) for each in people]
    return [each.losses(path) for each in people], errors


def _errors_of(person: Expected, path: list[int], size: int) -> FloatArray:
    """Expected errors (rounds, n); NaN if only the answers of a person are known."""
    if isinstance(person, ReportsErrors):
        return person.expected_errors(path)
    return np.full((len(path), size), np.nan)
