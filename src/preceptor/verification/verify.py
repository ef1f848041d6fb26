"""Checking a plan as a sceptic would.

Four things are looked at: that the policy shows only what is allowed, that it costs what the plan
says, that nothing can cost less than the plan's lower bound, and that a plan which calls itself
optimal is. Losses, values and bounds are worked out here anew, in NumPy and from the problem alone;
what the plan says about how it was found is a hint. The problem's own definitions are shared with
the solvers: its curves, sets, prices and risks. What else is shared, and what could not be checked,
is said in words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.discounting import total_weight
from preceptor._base.progress import Status
from preceptor.certificate import Certificate, PotentialCertificate
from preceptor.errors import InvalidInput
from preceptor.linear_certificate import LinearCertificate
from preceptor.people.crowd import Crowd
from preceptor.plan import Plan
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.regrets import Regrets
from preceptor.verification.played import Played, played_value
from preceptor.verification.proofs import Hints, people_bound, prove_bound
from preceptor.verification.semidefinite_check import check_semidefinite
from preceptor.verification.slow_value import slow_value

# Relative difference that rounding may make between two ways to add up the same losses.
_ROUNDING = 1e-9
# Of what should cancel, the share that rounding may leave, or take off what is proven.
_EPSILON = 1e-12
# The largest gap of a plan that calls itself optimal and does not say to which tolerance.
_OPTIMAL = 1e-8
# Where people play, by how many standard errors the average may be off; and by which share more
# where what is expected of them is approximate.
_STANDARD_ERRORS, _APPROXIMATE = 4.5, 0.1


@dataclass(frozen=True)
class Verification:
    """What was checked, and what came out; `in_words` says it in sentences.

    Attributes
    ----------
    value
        The plan's value as found here, round by round.
    value_ok
        Whether the plan claims the same.
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
        Whether a plan that calls itself optimal, or within target, is: to the tolerance that it
        states.
    played
        Where people had to play the plan: how many did, and how sure their average is.
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
        added = self.played or "was added up again round by round"
        cost = f"{self.value:.8g}"
        value = (
            f"Its value, {cost}, {added}"
            if self.value_ok
            else f"Its value DOES NOT HOLD: it is {cost}, which {added}"
        )
        code = "by code of its own" if self.independent else "otherwise by code of its own"
        proven = "" if np.isneginf(self.lower_bound) else f" ({self.lower_bound:.8g})"
        bound = (
            f"The lower bound was proven again{proven}: {self.how}, {code}"
            if self.bound_ok
            else f"The lower bound was NOT PROVEN{proven}: {self.how}"
        )
        status = "" if self.status_ok else " Its STATUS claims more than value and bound say."
        return f"The policy is allowed. {value}. {bound}.{status}"


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
    except InvalidInput as error:
        return Verification(
            np.nan, False, -np.inf, False, str(error), independent=True, policy_ok=False
        )
    if not asked.learns_by_showings:
        return _played(plan, asked, slack)
    value = slow_value(asked, plan.policy)
    tabulated = asked.oracle.accuracy * total_weight(asked.discount, asked.horizon)
    allowed = tabulated + _cancelled(asked, plan.policy)
    value_ok = bool(np.isclose(value, plan.value, rtol=_ROUNDING, atol=allowed))
    hints = Hints(plan.method, value, plan.policy, plan.options, _own_certificate(plan))
    if isinstance(plan.certificate, LinearCertificate):
        return Verification(
            value, value_ok, -np.inf, False, "its certificate is about other people", True
        )
    proven = prove_bound(asked, plan.lower_bound, hints, slack, allowed)
    bound_ok = _no_more(plan.lower_bound, proven.bound, slack, allowed + proven.rounding)
    return Verification(
        value,
        value_ok,
        proven.bound,
        bound_ok,
        proven.how,
        proven.independent,
        status_ok=_status_stands(plan, allowed),
    )


def _cancelled(problem: Problem, policy: Policy) -> float:
    """What rounding leaves of losses that should cancel, over all rounds.

    Small costs are differences of what the outcome varies by and of what the person would say,
    and no better known.
    """
    sizes = np.abs(problem.initial_errors)
    largest = max(problem.oracle.ceiling_of(sizes, shown) for shown in {(), *policy.used_sets()})
    return _EPSILON * largest * total_weight(problem.discount, problem.horizon)


def _own_certificate(plan: Plan) -> Certificate | PotentialCertificate | None:
    found = plan.certificate
    return None if isinstance(found, LinearCertificate) else found


def _no_more(claimed: float, proven: float, slack: float, also: float = 0.0) -> bool:
    """Whether a claim is a number and no more than what was proven, but for slack."""
    return bool(np.isfinite(claimed) and claimed <= proven + slack * abs(claimed) + also)


def _status_stands(plan: Plan, also: float) -> bool:
    """Whether value and bound are as close as "optimal" or "within target" says they are."""
    names = {Status.OPTIMAL: "tolerance", Status.WITHIN_TARGET: "target_gap"}
    if plan.status not in names:
        return True
    stated = plan.options.get(names[plan.status], 0.0)
    if not is_number(stated):
        return False
    allowed = max(_OPTIMAL, 2.0 * float(stated)) * abs(plan.value) + 3.0 * also
    return bool(plan.value - plan.lower_bound <= allowed)


def _played(plan: Plan, problem: Problem, slack: float) -> Verification:
    """People who do not learn by showings: let them play, and prove the bound again."""
    found = played_value(problem, plan.policy)
    allowed = _STANDARD_ERRORS * found.standard_error
    allowed += _APPROXIMATE * found.approximate
    value_ok = bool(abs(found.value - plan.value) <= allowed + _ROUNDING * abs(found.value))
    if plan.regrets is not None:
        value_ok = value_ok and _regrets_stand(plan.regrets, problem, found)
    bound, how = people_bound(problem)
    bound_fault = False
    if isinstance(plan.certificate, LinearCertificate):
        proven, said = _semidefinite_again(plan.certificate, problem)
        bound_fault = bool(np.isneginf(proven))
        if bound_fault or proven > bound:
            bound, how = proven, said
    played = (
        f"was played by {found.people:,} simulated people of each kind over {found.rounds:,} "
        f"rounds (± {found.standard_error:.3g})"
    )
    return Verification(
        found.value,
        value_ok,
        bound,
        _no_more(plan.lower_bound, bound, slack) and not bound_fault,
        how,
        independent=not problem.is_binary,
        status_ok=_status_stands(plan, 0.0),
        played=played,
    )


def _regrets_stand(regrets: Regrets, problem: Problem, found: Played) -> bool:
    """Whether the people are the problem's, cost what they do when they play, and add up."""
    crowd = problem.learner
    if not isinstance(crowd, Crowd) or regrets.people != crowd.names:
        return False
    allowed = _STANDARD_ERRORS * found.errors + _APPROXIMATE * found.means * found.inexact
    return bool(
        np.allclose(regrets.weights, crowd.weights)
        and np.all(np.abs(regrets.costs[0] - found.means) <= allowed + _ROUNDING * found.means)
        and np.all(regrets.best <= regrets.costs[0] * (1.0 + _ROUNDING))
        and np.all(regrets.bounds <= regrets.best * (1.0 + _ROUNDING))
        and np.all(np.isclose(regrets.best, regrets.costs.min(axis=0), rtol=0.05))
    )


def _semidefinite_again(certificate: LinearCertificate, problem: Problem) -> tuple[float, str]:
    """What a semidefinite certificate proves about this problem, and how that was checked."""
    if (certificate.discount, certificate.horizon) != (problem.discount, problem.horizon):
        return -np.inf, "semidefinite certificate is about another discount or horizon"
    report = check_semidefinite(
        certificate, problem.learner, problem.world, problem.sets, problem.start
    )
    if not report.ok:
        return -np.inf, f"semidefinite certificate FAILS: {report.why}"
    return report.bound, "semidefinite certificate proven again for every set and step"
