"""Proving a plan again, slowly.

The value is added up round by round from dense textbook algebra. A dual certificate is re-proven
for every round and every set by a general minimiser and exact one-dimensional minima, from arrays
made anew out of the problem; where a beam raised the bound further, the beam is walked again in
plain NumPy. All of that shares only the definitions with the solvers: the problem itself, with its
curves, its sets and their prices. Other bounds (instant ones, and those of the exact solvers) have
no independent checker: they are worked out a second time by the same code, and
`Verification.independent` is False.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor.certificate import Certificate
from preceptor.linear_certificate import LinearCertificate
from preceptor.people.crowd import Crowd
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.regrets import Regrets
from preceptor.verification.beam_check import beam_again
from preceptor.verification.claim import claim_of
from preceptor.verification.dual_check import check_bound
from preceptor.verification.played import Played, played_value, slow_floor
from preceptor.verification.semidefinite_check import check_semidefinite
from preceptor.verification.slow_value import slow_value

# Relative difference that rounding may make between two ways to add up the same losses.
_ROUNDING = 1e-8
# Where people play, by how many standard errors the average may be off; and by which share more
# where what is expected of them is approximate.
_STANDARD_ERRORS, _APPROXIMATE = 4.5, 0.1


@dataclass(frozen=True)
class Verification:
    """What was checked, and what came out.

    Attributes
    ----------
    value
        The plan's value as found here, by naive evaluation.
    value_ok
        Whether the plan claims the same.
    lower_bound
        The bound as proven here.
    bound_ok
        Whether the plan claims no more.
    how
        How the bound was checked, in words.
    independent
        Whether the bound was proven by code that shares nothing with the solvers, or only worked
        out a second time.
    """

    value: float
    value_ok: bool
    lower_bound: float
    bound_ok: bool
    how: str
    independent: bool

    @property
    def ok(self) -> bool:
        """Whether both the value and the bound stand."""
        return self.value_ok and self.bound_ok


def verify(plan: Plan, problem: Problem | None = None, *, slack: float = 1e-7) -> Verification:
    """Evaluate the policy naively and prove the lower bound again.

    Parameters
    ----------
    plan
        What to check.
    problem
        The problem to check it against; the plan's own if left out.
    slack
        Relative allowance for rounding in the proof of each round.

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
    asked = plan.problem if problem is None else problem
    if not asked.learns_by_showings:
        return _played(plan, asked, slack)
    value = slow_value(asked, plan.policy)
    tabulated = asked.oracle.accuracy * total_weight(asked.discount, asked.horizon)
    value_ok = bool(np.isclose(value, plan.value, rtol=_ROUNDING, atol=tabulated))
    bound, how, independent = _bound_again(plan, asked, slack)
    allowed = slack * max(abs(bound), abs(plan.lower_bound), 1e-300) * 10
    bound_ok = bool(plan.lower_bound <= bound + allowed)
    return Verification(value, value_ok, bound, bound_ok, how, independent)


def _played(plan: Plan, problem: Problem, slack: float) -> Verification:
    """People who do not learn by showings: let them play, and prove the bound again."""
    from preceptor.verification.again import crowd_bound

    found = played_value(problem, plan.policy)
    allowed = _STANDARD_ERRORS * found.standard_error
    allowed += _APPROXIMATE * found.approximate
    value_ok = bool(abs(found.value - plan.value) <= allowed + _ROUNDING * abs(found.value))
    if plan.regrets is not None:
        value_ok = value_ok and _regrets_stand(plan.regrets, problem, found)
    bound, said = slow_floor(problem), "floor of every set added up again"
    independent = True
    if isinstance(plan.certificate, LinearCertificate):
        proven, said = _semidefinite_again(plan.certificate, problem)
        bound = max(bound, proven)
    elif plan.lower_bound > bound * (1.0 + slack):
        # A crowd's bound is the average over its people, some of whom have a better one.
        again, said = crowd_bound(problem)
        bound, independent = max(bound, again), False
    how = (
        f"value played by {found.people:,} simulated people of each kind over {found.rounds:,} "
        f"rounds (± {found.standard_error:.3g}); {said}"
    )
    bound_ok = bool(plan.lower_bound <= bound * (1.0 + slack))
    return Verification(found.value, value_ok, bound, bound_ok, how, independent)


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


def _bound_again(plan: Plan, problem: Problem, slack: float) -> tuple[float, str, bool]:
    from preceptor.verification.again import cheap_bound, has_dual, solved_again

    if isinstance(plan.certificate, Certificate) and has_dual(problem):
        bound, how = _dual_again(plan.certificate, plan, problem, slack)
        if np.isneginf(bound):  # a plan must not carry a certificate that proves nothing
            return bound, how, True
        cheap, _ = cheap_bound(problem)
        return max(bound, cheap), how, bool(bound >= cheap)
    cheap, how = cheap_bound(problem)
    if plan.lower_bound <= cheap * (1 + slack):
        return cheap, how, False
    again, how = solved_again(plan, problem)
    return max(cheap, again), how, False


def _dual_again(
    certificate: Certificate, plan: Plan, problem: Problem, slack: float
) -> tuple[float, str]:
    claim = claim_of(certificate, problem)
    report = check_bound(claim, slack=slack)
    if not report.ok:
        return -np.inf, f"dual certificate FAILS in round {report.worst_round}"
    how = "dual certificate proven again for every set"
    if certificate.beam_layers and plan.lower_bound > report.value * (1 + slack):
        width, layers = certificate.beam_width, certificate.beam_layers
        walked = beam_again(claim, plan.value, width, layers)
        return max(report.value, walked), f"{how}; beam walked again"
    return report.value, how
