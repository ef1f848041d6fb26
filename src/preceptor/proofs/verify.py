"""Check a plan as a sceptic would.

Four claims are checked: that the policy shows only what is allowed, that it costs what the plan
says, that nothing costs less than the plan's lower bound, and that a plan called optimal is
optimal. Losses, values and bounds are recomputed here, in NumPy and from the problem alone; what
the plan says about how it was found is only a hint. The problem's definitions are shared with the
solvers: curves, sets, prices and risks. The result says in words what else is shared, and what
could not be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.progress import OPTIMAL_WITHIN, Status
from preceptor._base.words import listed
from preceptor.errors import InvalidInput
from preceptor.model.certificate import LinearCertificate
from preceptor.model.plan import ALL_POLICIES, FIXED_SCHEDULES, Plan, Regrets
from preceptor.model.problem import Problem
from preceptor.people.crowd import Crowd
from preceptor.proofs.bounds import INSTANT_KINDS, Hints, people_bound, prove_bound
from preceptor.proofs.case_maps import ROUNDING
from preceptor.proofs.losses import ProvenBound
from preceptor.proofs.policy_cost import PolicyCost, person_cost, rounding_of
from preceptor.proofs.semidefinite import check_semidefinite

_ONE_SET = "only one set may be shown, so nothing else can be done"
_ADDED_UP = "was added up again round by round"


@dataclass(frozen=True)
class Verification:
    """Result of the checks; `in_words` says it in sentences.

    Attributes
    ----------
    value
        The plan's value as found here.
    value_ok
        Whether the plan claims the same; where people can only be approximated, whether it claims
        the approximation.
    lower_bound
        The bound as proven here, with rounding subtracted.
    bound_ok
        Whether the plan claims no more.
    how
        How the bound was checked, in words.
    independent
        Whether the bound was proven by code that shares only the problem's definitions with the
        solvers. False where losses come from the problem's own tables or sample.
    policy_ok
        Whether the policy shows only what the budget allows.
    status_ok
        Whether a plan with the status optimal is optimal, as `solve` defines it, and one within
        target is within the target that it states.
    played
        If the plan had to be simulated: the number of simulated people and the result, in words.
    claimed
        The value that the plan claims.
    error
        How far that may be from the policy's true cost: rounding or, for a simulation, its
        difference from the simulated mean and the uncertainty of that mean.
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
        """Whether policy, value, bound and status all hold."""
        return self.policy_ok and self.value_ok and self.bound_ok and self.status_ok

    def in_words(self) -> str:
        """What was checked and how, and what failed.

        Returns
        -------
        str
            A few sentences.

        Examples
        --------
        >>> Verification(2.0, True, 1.9, True, "floors computed again", True).in_words()
        'The policy is allowed. Its value, 2, was added up again round by round. The lower bound \
was proven again (1.9): floors computed again, by independent code.'
        """
        if not self.policy_ok:
            return f"The policy is NOT ALLOWED: {self.how}."
        code = "by independent code" if self.independent else "otherwise by independent code"
        proven = "" if np.isneginf(self.lower_bound) else f" ({self.lower_bound:.8g})"
        bound = (
            f"The lower bound was proven again{proven}: {self.how}, {code}"
            if self.bound_ok
            else f"The lower bound was NOT PROVEN{proven}: {self.how}"
        )
        status = "" if self.status_ok else " Its STATUS claims more than value and bound support."
        return f"The policy is allowed. {self._value_in_words()}. {bound}.{status}"

    def _value_in_words(self) -> str:
        """The value that the plan claims, and what is known about it."""
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
            f"{self.error:.3g}{share}: the approximation was computed again, and the policy "
            f"itself, which costs {self.value:.8g}, {self.played}"
        )


def verify(plan: Plan, problem: Problem | None = None, *, slack: float = 1e-9) -> Verification:
    """Check a plan: its policy, its value, its lower bound and its status.

    Parameters
    ----------
    plan
        The plan to check.
    problem
        The problem to check it against; the plan's own if left out.
    slack
        By which share a claim may exceed what is proven here. Rounding is already subtracted from
        what is proven: of every loss, every sum of a round and every sum over rounds.

    Returns
    -------
    Verification
        Value and bound as found here, whether each holds, and how the bound was checked.

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
    value_ok = _agrees(plan.value, stated, allowed) and all(cost.near for cost in costs)
    if by_showings:
        allowed = rounding_of(asked, plan.policy)
        proven = _of_showings(plan, asked, value, slack, allowed)
    else:
        error += abs(plan.value - value)
        proven = _of_people(plan, asked, alone, costs, slack)
        if plan.regrets is not None:
            value_ok = value_ok and _regrets_hold(plan.regrets, asked, costs)
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
        status_ok=_status_holds(plan, allowed),
        played=_played_in_words(dict(zip(people, costs, strict=True))),
        claimed=plan.value,
        error=error,
    )


def _of_showings(
    plan: Plan, problem: Problem, value: float, slack: float, also: float
) -> ProvenBound:
    """For a person who learns by showings: the plan's own proof, or another one."""
    if isinstance(plan.certificate, LinearCertificate):
        fault = "its certificate is for another kind of person"
        return ProvenBound(-np.inf, fault, fault=fault)
    hints = Hints(plan.method, plan.policy, plan.options, plan.certificate)
    return prove_bound(problem, plan.lower_bound, value, hints, slack, also)


def _of_people(
    plan: Plan, problem: Problem, alone: list[Problem], costs: list[PolicyCost], slack: float
) -> ProvenBound:
    """For all others: a bound for each person, and a semidefinite certificate."""
    crowd, fault = problem.learner, ""
    shares = crowd.weights if isinstance(crowd, Crowd) else np.ones(1)
    found = [people_bound(each) for each in alone]
    bounds, how = np.array([bound for bound, _ in found]), found[0][1]
    bound = float(shares @ bounds)
    if isinstance(crowd, Crowd):
        how = "bounds of all people computed again, one by one"
    if plan.regrets is not None:
        above, unchecked = _regret_bounds(plan.regrets, bounds, costs, slack)
        fault = "bounds of some people are too high" if above else ""
        if unchecked:
            how = f"{how}; better bounds of {listed(unchecked)} are NOT CHECKED"
    if isinstance(plan.certificate, LinearCertificate):
        again, said = _semidefinite_again(plan.certificate, problem, plan.bound_holds_for)
        fault = said if np.isneginf(again) else fault
        if np.isneginf(again) or again > bound:
            bound, how = again, said
    return ProvenBound(bound, how, independent=not problem.is_binary, fault=fault)


def _has_one_set(problem: Problem) -> bool:
    return len(list(islice(problem.budget.subsets(problem.size), 2))) == 1


def _agrees(claimed: float, stated: float, slack: float) -> bool:
    """Whether a claim is finite and equals what should be stated, up to slack."""
    return bool(np.isfinite(claimed) and abs(claimed - stated) <= slack)


def _no_more(claimed: float, proven: float, slack: float, also: float = 0.0) -> bool:
    """Whether a claim is finite and at most what was proven, up to slack."""
    return bool(np.isfinite(claimed) and claimed <= proven + slack * abs(claimed) + also)


def _status_holds(plan: Plan, also: float) -> bool:
    """Whether value and bound are as close as "optimal" or "within target" requires.

    "Optimal" has a fixed tolerance; "within target" takes its own from the plan's options.
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


def _played_in_words(costs: dict[str, PolicyCost]) -> str:
    """Who was simulated, how many times, and the standard error; empty if the value was exact."""
    played = {name: cost.played for name, cost in costs.items() if cost.played is not None}
    if not played:
        return ""
    first = next(iter(played.values()))
    kinds = "" if len(costs) == 1 else f" of each of {listed(list(played))}"
    rest = "" if len(played) == len(costs) else "; the other people's was added up"
    return (
        f"was played by {first.people:,} simulated people{kinds} over {first.rounds:,} rounds "
        f"(± {max(each.standard_error for each in played.values()):.3g}, standard error){rest}"
    )


def _regrets_hold(regrets: Regrets, problem: Problem, costs: list[PolicyCost]) -> bool:
    """Whether people, weights, costs and best plans are consistent with the problem."""
    crowd = problem.learner
    if not isinstance(crowd, Crowd) or regrets.people != crowd.names:
        return False
    shape = (len(regrets.policies), len(costs))
    if regrets.costs.shape != shape or regrets.best.shape != shape[1:]:
        return False
    slack = np.array([cost.slack for cost in costs])
    found = np.array([cost.stated for cost in costs])
    # A plan file does not hold the plan for each person alone: the best listed policy counts.
    best = regrets.costs.min(axis=0)
    return bool(
        np.allclose(regrets.weights, crowd.weights, rtol=ROUNDING, atol=0.0)
        and np.all(np.abs(regrets.costs[0] - found) <= slack)
        and np.all(np.abs(regrets.best - best) <= slack + ROUNDING * np.abs(best))
    )


def _regret_bounds(
    regrets: Regrets, proven: np.ndarray, costs: list[PolicyCost], slack: float
) -> tuple[bool, list[str]]:
    """Whether a person's bound exceeds what was proven, and whose bound was not checked."""
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
    """The bound that a semidefinite certificate proves here, and how it was checked."""
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
