"""Proving a plan again, slowly, with code that shares nothing with the solvers.

The value is added up round by round from dense textbook algebra. The dual certificate is
re-proven for every round and every set by a general minimiser and exact one-dimensional minima.
Where a beam raised the bound further, the beam is walked again in plain NumPy, ranked by the
multipliers that were just re-proven. Bounds of exact solvers are checked by solving again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._value import FloatArray
from preceptor.evaluation import negligible_after
from preceptor.plan import Plan
from preceptor.policies import TestSet
from preceptor.problem.problem import Problem

# Relative difference that rounding may make between two ways to add up the same losses.
_ROUNDING = 1e-8


@dataclass(frozen=True)
class Verification:
    """What was checked, and what came out. `ok` only if nothing that was checked failed."""

    value: float
    value_ok: bool
    lower_bound: float
    bound_ok: bool
    how: str

    @property
    def ok(self) -> bool:
        """Both the value and the bound stand."""
        return self.value_ok and self.bound_ok


def verify(plan: Plan, problem: Problem, *, slack: float = 1e-7) -> Verification:
    """Evaluate the policy naively and prove the lower bound again, as far as that is possible."""
    value = slow_value(problem, plan)
    value_ok = bool(np.isclose(value, plan.value, rtol=_ROUNDING))
    bound, how = _bound_again(plan, problem, slack)
    allowed = slack * max(abs(bound), abs(plan.lower_bound), 1e-300) * 10
    return Verification(value, value_ok, bound, plan.lower_bound <= bound + allowed, how)


def slow_value(problem: Problem, plan: Plan) -> float:
    """Discounted loss of the plan's schedule, one dense round after the other."""
    rounds = problem.horizon or min(negligible_after(problem.discount), 200_000)
    counts = np.array(problem.start_counts, dtype=np.int64)
    curves = problem.learner.curve_of
    first = problem.world.coefficients - problem.learner.initial
    total, weight, loss = 0.0, 1.0, 0.0
    for shown in plan.policy.schedule(rounds):
        left = np.array([float(c.phi(m)) for c, m in zip(curves, counts, strict=True)])
        loss = slow_loss(problem, problem.world.coefficients - first * np.sqrt(left), shown)
        total += weight * loss
        weight *= problem.discount
        counts[list(shown)] += 1
    if problem.horizon is None:
        total += weight / (1.0 - problem.discount) * loss
    return total


def slow_loss(problem: Problem, beliefs: FloatArray, shown: TestSet) -> float:
    """One round from first principles: weights on the shown tests, then three moments."""
    if problem.loss.kind != "closed-form":
        errors = (problem.world.coefficients - beliefs)[None, :]
        return float(problem.oracle.loss_of(errors, shown)[0])
    sigma, a = problem.world.covariance, problem.world.coefficients
    imputes = problem.learner.imputing_covariance(problem.world)
    s = list(shown)
    weights = np.linalg.solve(imputes[np.ix_(s, s)], imputes[s] @ beliefs) if s else np.zeros(0)
    variance = (
        problem.world.noise_variance
        + a @ sigma @ a
        - 2.0 * weights @ (sigma @ a)[s]
        + weights @ sigma[np.ix_(s, s)] @ weights
    )
    prices = problem.budget.prices(problem.size)[s].sum()
    return float(problem.risk.expected(max(float(variance), 0.0))) + float(prices)


def _bound_again(plan: Plan, problem: Problem, slack: float) -> tuple[float, str]:
    from preceptor.planning.bounds import instant_bound
    from preceptor.planning.reduction import to_multiplicative, why_not_multiplicative
    from preceptor.planning.restricted import floor_over_all_sets, is_restricted

    if is_restricted(problem):
        return floor_over_all_sets(problem), "floor over all sets, computed again"
    instant = instant_bound(problem)
    certificate = plan.certificate
    if certificate is not None and not why_not_multiplicative(problem):
        from preceptor.multiplicative.check import check_bound
        from preceptor.multiplicative.slow_beam import beam_again

        bound = certificate.to_bound(to_multiplicative(problem))
        report = check_bound(bound, slack=slack)
        if not report.ok:
            return instant, f"dual certificate FAILS in round {report.worst_round}"
        proven, how = max(instant, report.value), "dual certificate proven again for every set"
        if certificate.beam_layers and plan.lower_bound > proven * (1 + slack):
            width, layers = certificate.beam_width, certificate.beam_layers
            walked = beam_again(bound, plan.value, width, layers)
            return max(proven, walked), f"{how}; beam walked again"
        return proven, how
    if plan.lower_bound <= instant * (1 + slack):
        return instant, "instant bound computed again"
    from preceptor.planning import solve

    options = {"length": plan.options["length"]} if plan.method == "truncated" else {}
    if plan.method == "lattice":
        options = {"caps": int(max(plan.options["caps"]))}
    method = plan.method if plan.method in ("finite", "lattice", "truncated") else "auto"
    again = solve(problem, method, **options)
    return max(instant, again.lower_bound), f"solved again with method {again.method!r}"
