"""Checking a plan as a sceptic would.

Four things are looked at: that the policy shows only what is allowed, that it costs what the plan
says, that nothing can cost less than the plan's lower bound, and that a plan which calls itself
optimal is. Losses, values and bounds are worked out here anew, in NumPy and from the problem alone;
what the plan says about how it was found is a hint. The problem's own definitions are shared with
the solvers: its curves, sets, prices and risks. What else is shared, and what could not be checked,
is said in words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.progress import OPTIMAL_WITHIN, Status
from preceptor._base.words import listed
from preceptor.certificate import LinearCertificate
from preceptor.errors import InvalidInput
from preceptor.people.crowd import Crowd
from preceptor.plan import ALL_POLICIES, FIXED_SCHEDULES, Plan
from preceptor.problem import Problem
from preceptor.regrets import Regrets
from preceptor.verification.case_maps import ROUNDING
from preceptor.verification.proofs import (
    INSTANT_KINDS,
    Hints,
    Proven,
    people_bound,
    prove_bound,
)
from preceptor.verification.semidefinite_check import check_semidefinite
from preceptor.verification.slow_people import Cost, person_cost, rounding_of

_ONE_SET = "only one set may be shown, so nothing else can be done"
_ADDED_UP = "was added up again round by round"


@dataclass(frozen=True)
class Verification:
    """What was checked, and what came out; `in_words` says it in sentences.

    Attributes
    ----------
    value
        The plan's value as found here.
    value_ok
        Whether the plan claims the same, or where people can only be approximated, what that gives.
    lower_bound
        The bound as proven here, rounding taken off.
    bound_ok
        Whether the plan claims no more.
    how
        How the bound was checked, in words.
    independent
        Whether the bound was proven by code that shares only the problem's definitions with the
        solvers. False where charges come from the problem's own tables or sample.
    policy_ok
        Whether the policy shows only what the budget allows.
    status_ok
        Whether a plan that calls itself optimal is, as `solve` understands it; and one that calls
        itself within target, to the target that it states.
    played
        Where people had to play the plan: how many did, and what came out, in words.
    claimed
        The value that the plan claims.
    error
        How far that may be from what the policy really costs: rounding, or where people had to
        play, by what their average differs from it and how sure that is.
    """

    value: float
    value_ok: bool
    lower_bound: float
    bound_ok: bool
    how: str
    independent: bool
    policy_ok: bool = True
    status_ok: bool = True
    played: str = ""
    claimed: float | None = None
    error: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether policy, value, bound and status all stand."""
        return self.policy_ok and self.value_ok and self.bound_ok and self.status_ok

    def in_words(self) -> str:
        """What was checked and how, and what did not hold.

        Returns
        -------
        str
            A few sentences.

        Examples
        --------
        >>> Verification(2.0, True, 1.9, True, "floors computed again", True).in_words()
        'The policy is allowed. Its value, 2, was added up again round by round. The lower bound \
was proven again (1.9): floors computed again, by code of its own.'
        """
        if not self.policy_ok:
            return f"The policy is NOT ALLOWED: {self.how}."
        code = "by code of its own" if self.independent else "otherwise by code of its own"
        proven = "" if np.isneginf(self.lower_bound) else f" ({self.lower_bound:.8g})"
        bound = (
            f"The lower bound was proven again{proven}: {self.how}, {code}"
            if self.bound_ok
            else f"The lower bound was NOT PROVEN{proven}: {self.how}"
        )
        status = "" if self.status_ok else " Its STATUS claims more than value and bound say."
        return f"The policy is allowed. {self._value_in_words()}. {bound}.{status}"

    def _value_in_words(self) -> str:
        """The number that the plan names, and what is known about it."""
        claimed = f"{self.value if self.claimed is None else self.claimed:.8g}"
        if not self.value_ok:
            found = f"it is {self.value:.8g}, which {self.played or _ADDED_UP}"
            return f"Its value, {claimed}, DOES NOT HOLD: {found}"
        if not self.played:
            off = f", and is off by no more than {self.error:.2g}" if self.error else ""
            return f"Its value, {claimed}, {_ADDED_UP}{off}"
        share = f" ({self.error / abs(self.value):.2g} of it)" if self.value else ""
        return (
            f"Its value, {claimed}, is approximate, and may be off by up to "
            f"{self.error:.3g}{share}: the approximation was worked out again, and what people "
            f"cost, {self.value:.8g}, {self.played}"
        )


def verify(plan: Plan, problem: Problem | None = None, *, slack: float = 1e-9) -> Verification:
    """Check a plan again: its policy, its value, its lower bound and its status.

    Parameters
    ----------
    plan
        What to check.
    problem
        The problem to check it against; the plan's own if left out.
    slack
        By which share a claim may exceed what is proven here. What is proven already has rounding
        taken off: of every loss, every sum of a round and every sum over rounds.

    Returns
    -------
    Verification
        Value and bound as found here, whether each stands, and how the bound was checked.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=9))
    >>> pr.verify(plan).ok
    True
    """
    if not isinstance(plan, Plan):
        raise TypeError(f"verify: got {type(plan).__name__}, expected a Plan (see Plan.load)")
    if not (is_number(slack) and 0.0 <= slack < 1.0):
        raise InvalidInput(f"slack: {slack!r}, must be a number of at least 0 and below 1")
    asked = plan.problem if problem is None else problem
    try:
        plan.policy.check(asked)
    except InvalidInput as fault:
        return Verification(
            np.nan, False, -np.inf, False, str(fault), True, policy_ok=False, claimed=plan.value
        )
    crowd, by_showings = asked.learner, asked.learns_by_showings
    people = crowd.people if isinstance(crowd, Crowd) else {crowd.kind: crowd}
    shares = crowd.weights if isinstance(crowd, Crowd) else np.ones(1)
    alone = [asked.replace(learner=person) for person in people.values()]
    costs = [person_cost(each, plan.policy) for each in alone]
    value, error, stated, allowed = (
        float(shares @ [getattr(cost, name) for cost in costs])
        for name in ("value", "error", "stated", "slack")
    )
    value_ok = _stands(plan.value, stated, allowed) and all(cost.near for cost in costs)
    if by_showings:
        allowed = rounding_of(asked, plan.policy)
        proven = _of_showings(plan, asked, value, slack, allowed)
    else:
        error += abs(plan.value - value)
        proven = _of_people(plan, asked, alone, costs, slack)
        if plan.regrets is not None:
            value_ok = value_ok and _regrets_stand(plan.regrets, asked, costs)
    if _has_one_set(asked) and stated > proven.bound:
        proven = replace(proven, bound=stated, how=_ONE_SET)
    within = _no_more(plan.lower_bound, proven.bound, slack, allowed + proven.rounding)
    return Verification(
        value,
        value_ok,
        proven.bound,
        within and not proven.fault,
        proven.how,
        proven.independent,
        status_ok=_status_stands(plan, allowed),
        played=_played_in_words(dict(zip(people, costs, strict=True))),
        claimed=plan.value,
        error=error,
    )


def _of_showings(plan: Plan, problem: Problem, value: float, slack: float, also: float) -> Proven:
    """Somebody who learns by showings: the plan's own proof, or another one."""
    if isinstance(plan.certificate, LinearCertificate):
        fault = "its certificate is about other people"
        return Proven(-np.inf, fault, fault=fault)
    hints = Hints(plan.method, value, plan.policy, plan.options, plan.certificate)
    return prove_bound(problem, plan.lower_bound, hints, slack, also)


def _of_people(
    plan: Plan, problem: Problem, alone: list[Problem], costs: list[Cost], slack: float
) -> Proven:
    """Everybody else: bounds of each of them, and a semidefinite certificate."""
    crowd, fault = problem.learner, ""
    shares = crowd.weights if isinstance(crowd, Crowd) else np.ones(1)
    found = [people_bound(each) for each in alone]
    bounds, how = np.array([bound for bound, _ in found]), found[0][1]
    bound = float(shares @ bounds)
    if isinstance(crowd, Crowd):
        how = "bounds of all people computed again, one by one"
    if plan.regrets is not None:
        above, unchecked = _regret_bounds(plan.regrets, bounds, costs, slack)
        fault = "bounds of single people are too high" if above else ""
        if unchecked:
            how = f"{how}; better bounds of {listed(unchecked)} are NOT CHECKED"
    if isinstance(plan.certificate, LinearCertificate):
        again, said = _semidefinite_again(plan.certificate, problem, plan.bound_holds_for)
        fault = said if np.isneginf(again) else fault
        if np.isneginf(again) or again > bound:
            bound, how = again, said
    return Proven(bound, how, independent=not problem.is_binary, fault=fault)


def _has_one_set(problem: Problem) -> bool:
    return len(list(islice(problem.budget.subsets(problem.size), 2))) == 1


def _stands(claimed: float, stated: float, slack: float) -> bool:
    """Whether a claim is a number and the one that should be stated."""
    return bool(np.isfinite(claimed) and abs(claimed - stated) <= slack)


def _no_more(claimed: float, proven: float, slack: float, also: float = 0.0) -> bool:
    """Whether a claim is a number and no more than what was proven, but for slack."""
    return bool(np.isfinite(claimed) and claimed <= proven + slack * abs(claimed) + also)


def _status_stands(plan: Plan, also: float) -> bool:
    """Whether value and bound are as close as "optimal" or "within target" says they are.

    What is optimal is not for a plan to say, but what was asked for is: only the second has a
    tolerance among the plan's options.
    """
    if plan.status is Status.OPTIMAL:
        allowed = OPTIMAL_WITHIN
    elif plan.status is Status.WITHIN_TARGET:
        tolerance = plan.options.get("tolerance", 0.0)
        target = plan.options.get("target_gap", tolerance)
        if not is_number(target):
            return False
        allowed = max(OPTIMAL_WITHIN, 2.0 * float(target))
    else:
        return True
    return bool(plan.value - plan.lower_bound <= allowed * abs(plan.value) + 3.0 * also)


def _played_in_words(costs: dict[str, Cost]) -> str:
    """Who had to play, how many of them, and how sure that is; empty if nobody had to."""
    played = {name: cost.played for name, cost in costs.items() if cost.played is not None}
    if not played:
        return ""
    first = next(iter(played.values()))
    whom = "" if len(costs) == 1 else f" of each of {listed(list(played))}"
    rest = "" if len(played) == len(costs) else "; the other people's was added up"
    return (
        f"was played by {first.people:,} simulated people{whom} over {first.rounds:,} rounds "
        f"(± {max(each.standard_error for each in played.values()):.3g}, standard error){rest}"
    )


def _regrets_stand(regrets: Regrets, problem: Problem, costs: list[Cost]) -> bool:
    """Whether the people are the problem's, cost what is stated, and add up."""
    crowd = problem.learner
    if not isinstance(crowd, Crowd) or regrets.people != crowd.names:
        return False
    shape = (len(regrets.policies), len(costs))
    if regrets.costs.shape != shape or regrets.best.shape != shape[1:]:
        return False
    slack = np.array([cost.slack for cost in costs])
    found = np.array([cost.stated for cost in costs])
    # Plans of their own are not part of a plan file; the best of all policies listed is the best.
    best = regrets.costs.min(axis=0)
    return bool(
        np.allclose(regrets.weights, crowd.weights, rtol=ROUNDING, atol=0.0)
        and np.all(np.abs(regrets.costs[0] - found) <= slack)
        and np.all(np.abs(regrets.best - best) <= slack + ROUNDING * np.abs(best))
    )


def _regret_bounds(
    regrets: Regrets, proven: np.ndarray, costs: list[Cost], slack: float
) -> tuple[bool, list[str]]:
    """Whether a person's bound is more than was proven, and whose is known by other means."""
    bounds, unchecked = regrets.bounds, []
    if bounds.shape != proven.shape or len(regrets.bound_kinds) != proven.size:
        return True, []
    for i, (bound, cost) in enumerate(zip(bounds, costs, strict=True)):
        if _no_more(float(bound), float(proven[i]), slack, cost.slack):
            continue
        above = not _no_more(float(bound), float(regrets.best[i]), slack, cost.slack)
        if above or regrets.bound_kinds[i] in INSTANT_KINDS:
            return True, []
        unchecked.append(regrets.people[i])
    return False, unchecked


def _semidefinite_again(
    certificate: LinearCertificate, problem: Problem, holds_for: str
) -> tuple[float, str]:
    """What a semidefinite certificate proves about this problem, and how that was checked."""
    if (certificate.discount, certificate.horizon) != (problem.discount, problem.horizon):
        return -np.inf, "semidefinite certificate is about another discount or horizon"
    report = check_semidefinite(
        certificate, problem.learner, problem.world, problem.sets, problem.start
    )
    if not report.ok:
        return -np.inf, f"semidefinite certificate FAILS: {report.why}"
    if holds_for == ALL_POLICIES and not report.adaptive:
        return -np.inf, f"semidefinite certificate holds for {FIXED_SCHEDULES} only"
    reach = ALL_POLICIES if report.adaptive else FIXED_SCHEDULES
    how = f"semidefinite certificate proven again for every set and step, for {reach}"
    return report.bound, how
