"""More sets than can be listed: plan with the promising ones, bound over all of them.

A hundred tests, five at a time, are 79 million sets. We plan with a few hundred candidates: those
that read best once everything is learned, those that read best now, and their neighbours by one
exchange; then with the neighbours of the sets that the plan uses, until nothing gets better.

The lower bound still covers every set: each is looked at (`streamed_floors`), as far as there is
time for that. Beyond it, in units of standard deviations let α be the coefficients,
R = λI + BB' the correlations with λ their smallest eigenvalue: every test is its own noise of
variance λ plus a mix B_i'f of common factors, |B_i|² = 1 - λ. Whoever sees k tests cannot know the
own noise of the others, λ Σ_{i∉S} α_i², nor the factors well: their precision grows by at most
(1 - λ)/λ a test, and the hidden tests together weigh the factors by at least
|B'α| - sqrt(1 - λ) Σ_{i∈S} |α_i|. The least of each part over all sets adds up to a floor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.progress import Progress, Status, report
from preceptor._base.values import FloatArray
from preceptor.evaluation.value import evaluate
from preceptor.loss import ClosedForm
from preceptor.model.budgets import Budget
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.planning.anytime import Stop, Watch, never
from preceptor.planning.shape import shape_of
from preceptor.planning.streamed_floors import charge_of_best, least_round
from preceptor.policies import Policy
from preceptor.problem import Problem

_KEPT = 250
_ROUNDS_OF_GROWTH = 6
# Share of the time left that searches may take.
_USED = 0.9
# Finding candidates may take all the time there is; a first plan is made all the same.
_LEAST_SECONDS = 0.05
# Share of the time that looking at every set may take, and that finding candidates may.
FLOOR_SHARE, CLIMB_SHARE = 0.4, 0.2
# Exchanges of one test for another that are looked at from one set: all of 100 tests with any
# number shown; with more than that, tests are added only, which takes seconds as it is.
_MOST_EXCHANGES = 2_500
# Numbers (sets x tests shown x tests) that candidates may have: every step of a search goes through
# them, and with 300 of 300 tests 500 candidates took five times the time limit.
_MOST_NUMBERS, _FEWEST = 5_000_000, 50
# Sets are judged so many at a time, so that little is done after the time is up.
_JUDGED = 256


def solve_restricted(
    problem: Problem,
    solver: Callable[[Problem, float | None], Plan],
    watch: Watch,
    progress: Progress | None,
) -> Plan:
    """Plan with candidates, let the plan's own sets breed new ones, and repeat.

    `solver` plans a problem with listed sets in that many seconds.
    """
    # First, since it is known beforehand how long that takes; a search takes what is left.
    with watch.proving():
        floor = floor_over_all_sets(problem, watch.share(FLOOR_SHARE))
    candidates = first_candidates(problem, watch.until(CLIMB_SHARE))
    best: Plan | None = None
    for turn in range(_ROUNDS_OF_GROWTH):
        # a little is kept for what comes after: evaluating, and finding neighbours
        share, before = _USED * watch.left / (_ROUNDS_OF_GROWTH - turn), watch.seconds
        plan = _plan_with(problem, candidates, solver, share)
        took, known = watch.seconds - before, np.inf if best is None else best.value
        best = plan if best is None else _better(best, plan)
        report(progress, "widening", done=(turn + 1) / _ROUNDS_OF_GROWTH, value=best.value)
        # half a search is worth little
        if best.status is Status.INTERRUPTED or watch.interrupted or watch.left < 0.5 * took:
            break
        new = candidates | neighbours(problem, best.policy.used_sets())
        if new == candidates or best.value >= known * (1 - 1e-6):
            if np.isfinite(watch.left):  # no set nearby helps; a longer search may
                longer = _plan_with(problem, candidates, solver, _USED * watch.left)
                best = _better(best, longer)
            break
        keep = set(best.policy.used_sets())
        candidates = keep | most_promising(problem, new, 3 * _KEPT, watch.until(CLIMB_SHARE))
    assert best is not None
    plan = _over_all_sets(problem, best, len(candidates), floor)
    return replace(plan, seconds=watch.seconds, proved=watch.proved)


def _plan_with(
    problem: Problem,
    candidates: set[TestSet],
    solver: Callable[[Problem, float | None], Plan],
    seconds: float,
) -> Plan:
    """The best plan found with these sets alone."""
    small = problem.replace(budget=listed(problem, candidates))
    return solver(small, max(seconds, _LEAST_SECONDS) if np.isfinite(seconds) else None)


def _better(best: Plan, plan: Plan) -> Plan:
    """The cheaper of two plans; how the later one ended is how it all ended."""
    return plan if plan.value < best.value else replace(best, status=plan.status)


def _over_all_sets(problem: Problem, plan: Plan, candidates: int, floor: float) -> Plan:
    """The same policy for the whole problem, with a bound that holds for every set."""
    policy: Policy = plan.policy
    value = evaluate(problem, policy)
    status = Status.BOUNDED if plan.status is Status.OPTIMAL else plan.status
    note = (
        f"Planned with {candidates:,} promising sets out of {problem.budget.count(problem.size):,}"
        "; the lower bound covers all of them."
    )
    return replace(
        plan,
        problem=problem,
        value=value,
        lower_bound=floor,
        status=status,
        notes=(*plan.notes, note),
        certificate=None,
    ).settled()


def floor_over_all_sets(problem: Problem, seconds: float | None = None) -> float:
    """What no round can avoid, whichever set is shown, discounted over all rounds.

    Over every set one by one if that takes no more than `seconds`, else from eigenvalues.
    """
    least = least_round(problem) if seconds is None else least_round(problem, seconds)
    if least is None:
        least = _least_by_eigenvalues(problem)
    return float(total_weight(problem.discount, problem.horizon) * least)


def _least_by_eigenvalues(problem: Problem) -> float:
    """A floor of all rounds in no time, at any size; 0 where losses are not in closed form."""
    world, risk = problem.world, problem.risk
    if not isinstance(problem.loss, ClosedForm):
        return 0.0
    if isinstance(risk, NumberRisk) and not risk.is_increasing:
        return 0.0
    scale = np.sqrt(np.diag(world.covariance))
    correlation = world.covariance / np.outer(scale, scale)
    own = 0.999999 * float(np.linalg.eigvalsh(correlation)[0])  # a hair less, for rounding
    weights = np.sort(np.abs(world.coefficients * scale))
    k = shape_of(problem).most_shown
    noise = own * float(np.sum(weights[: problem.size - k] ** 2))
    alpha = world.coefficients * scale
    common = float(np.sqrt(max(alpha @ correlation @ alpha - own * alpha @ alpha, 0.0)))
    unseen = max(common - np.sqrt(1.0 - own) * float(weights[problem.size - k :].sum()), 0.0)
    hidden = noise + unseen**2 / (1.0 + k * (1.0 - own) / own)
    return float(charge_of_best(problem, np.array([world.noise_variance + hidden]))[0])


def listed(problem: Problem, candidates: Iterable[TestSet]) -> Budget:
    """A budget of these sets at the same prices."""
    return problem.budget.listing(candidates)


def first_candidates(problem: Problem, stop: Stop = never) -> set[TestSet]:
    """Sets that read best once all is learned, sets that read best now, and what is near them.

    Whatever is found when it is time to stop, and the fullest set, which is found at once.
    """
    found: set[TestSet] = set()
    for criterion in (_when_learned, _now):
        found |= _climb(problem, criterion, stop)
    fullest = {_fullest(problem)}
    return fullest | most_promising(problem, found, 2 * _KEPT, stop) if found else fullest


def most_promising(
    problem: Problem, sets: set[TestSet], how_many: int, stop: Stop = never
) -> set[TestSet]:
    """The best by each criterion, of those that could be judged in time."""
    affordable = _MOST_NUMBERS // (shape_of(problem).most_shown * problem.size)
    how_many = min(how_many, max(affordable, _FEWEST))
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
    """Sets and what they cost by a criterion, as many as there is time for."""
    # By size, since a family of sets takes as much room for each as for its widest.
    ordered = sorted(sets, key=lambda shown: (len(shown), shown))
    names: list[TestSet] = []
    costs: list[FloatArray] = []
    for first in range(0, len(ordered), _JUDGED):
        if names and stop():
            break
        small = problem.replace(budget=listed(problem, ordered[first : first + _JUDGED]))
        names += list(small.sets)
        costs.append(criterion(small))
    return names, np.concatenate(costs)


def _fullest(problem: Problem) -> TestSet:
    """The tests that tell most about the outcome one by one, as many as may be shown."""
    world = problem.world
    told = np.abs(world.covariance @ world.coefficients) / np.sqrt(np.diag(world.covariance))
    return problem.budget.maximise(told + np.finfo(np.float64).tiny)


def neighbours(problem: Problem, sets: Iterable[TestSet]) -> set[TestSet]:
    """Everything one exchange, addition or removal away that the budget allows."""
    near: set[TestSet] = set()
    for shown in sets:
        for base in [shown, *_with_one_less(problem, shown)]:
            near.add(base)
            near |= _with_one_more(problem, base)
    return {shown for shown in near if problem.budget.allows(shown)}


def _climb(
    problem: Problem, criterion: Callable[[Problem], FloatArray], stop: Stop
) -> set[TestSet]:
    """Greedy additions, then exchanges, while the criterion falls; all that was best on the way."""
    shown: TestSet = ()
    seen: set[TestSet] = set()
    value = np.inf
    for _ in range(4 * shape_of(problem).most_shown + 4):
        # A budget of exactly k allows no smaller sets, but they are on the way to those of size k.
        names, costs = _judged(problem, _any_neighbours(problem, shown), criterion, stop)
        order = np.argsort(costs, kind="stable")
        seen |= {names[int(i)] for i in order[:_KEPT]}
        best = int(order[0])
        if stop() or (costs[best] >= value and problem.budget.allows(shown)):
            break
        value, shown = float(costs[best]), names[best]
    return {s for s in seen if problem.budget.allows(s)}


def _any_neighbours(problem: Problem, shown: TestSet) -> set[TestSet]:
    limit = shape_of(problem).most_shown
    near = _with_one_more(problem, shown)
    if len(shown) * (problem.size - len(shown)) <= _MOST_EXCHANGES:
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
    row: FloatArray = problem.oracle.losses(problem.initial_errors[None, :])[0]
    return row
