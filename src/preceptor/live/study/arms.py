"""Arms ready to run: each policy as a plan and, unless chance decides, as a schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from preceptor._base.progress import Progress, Status, report
from preceptor.advice.alternatives import best_fixed_set
from preceptor.learners.case_choice import Plausibility
from preceptor.learners.case_policy import CaseAware
from preceptor.live.study import config
from preceptor.live.study.study import Study
from preceptor.model.evaluation import evaluate
from preceptor.model.plan import Plan
from preceptor.model.policies import ExploreThenRepeat, Policy, Stationary
from preceptor.model.sets import TestSet
from preceptor.planning.candidate_sets import most_predictive_set
from preceptor.planning.solvers import solve, solver_named
from preceptor.simulation.cases import Stream, stream
from preceptor.simulation.choosing import RandomOrder

# Policies that need a plan of the problem; the others are only compared with one.
_SOLVED = ("plan", "adaptive", "case-aware", "random order")


@dataclass(frozen=True, eq=False)
class Arm:
    """A policy that can be followed.

    Attributes
    ----------
    name, policy
        As in the study file.
    plan
        The plan file of the policy; a fixed set is a plan, too. Where chance or answers decide, it
        is the plan of the problem.
    chooser
        What `simulation.rollout` plays for this arm; None where a tutor decides.
    in_view
        The policy of an arm that looks at each case before it chooses; None for other arms.
    pool
        Number of cases that the arm picks from; None if cases come as they come.
    value, gap
        Cost of the policy for the problem's person, and a bound on its relative excess over the
        optimum; None if unknown.
    """

    name: str
    policy: str
    plan: str
    chooser: Policy | RandomOrder | None
    value: float | None
    gap: float | None
    in_view: CaseAware | None = None
    pool: int | None = None

    @property
    def is_adaptive(self) -> bool:
        """Whether what is shown depends on the person's answers."""
        return self.chooser is None

    def schedule(self, rounds: int, seed: int, place: int) -> list[TestSet] | None:
        """The sets shown in training at a place; None where a tutor decides."""
        if self.chooser is None:
            return None
        if isinstance(self.chooser, RandomOrder):
            return self.chooser.schedule_for(rounds, stream(seed, place, Stream.CHOICES))
        return self.chooser.schedule(rounds)


def make_arms(study: Study, progress: Progress | None = None) -> tuple[Arm, ...]:
    """Make the arms of a study, solving its problem where needed.

    Parameters
    ----------
    study
        The study.
    progress
        Called before each arm.

    Returns
    -------
    tuple of Arm
        In the order of the file.
    """
    arms = study.configuration.arm
    plans: dict[tuple[str, float], Plan] = {}
    for number, arm in enumerate(arms):
        report(progress, f"arm {arm.name}", done=number / len(arms))
        key = (arm.method, arm.time_limit)
        if arm.policy in _SOLVED and key not in plans:
            plans[key] = _solved(study, arm.method, arm.time_limit)
    # The best lower bound found, for arms whose policy is given.
    known = max(plans.values(), key=lambda plan: plan.lower_bound, default=None)
    if known is None:
        known = _solved(study, "stationary")
    return tuple(_make(study, arm, plans.get((arm.method, arm.time_limit), known)) for arm in arms)


def kept_arms(study: Study, plans: Mapping[str, str]) -> tuple[Arm, ...]:
    """Rebuild the arms of an open study from its stored plans; nothing is solved.

    Parameters
    ----------
    study
        The study.
    plans
        The plan file of each arm, by the arm's name.

    Returns
    -------
    tuple of Arm
        As `make_arms` made them.
    """
    return tuple(
        _arm(study, arm, Plan.from_json(plans[arm.name]), plans[arm.name])
        for arm in study.configuration.arm
    )


def _arm(study: Study, arm: config.ArmConfig, plan: Plan, body: str) -> Arm:
    """The arm that follows a plan, chance, or a tutor."""
    if arm.policy in ("adaptive", "case-aware"):
        return Arm(arm.name, arm.policy, body, None, None, None, in_view_of(arm), arm.pool)
    if arm.policy == "random order":
        return Arm(arm.name, arm.policy, body, RandomOrder.of(study.problem), None, None)
    gap = plan.gap if math.isfinite(plan.gap) else None
    return Arm(arm.name, arm.policy, body, plan.policy, plan.value, gap)


def in_view_of(arm: config.ArmConfig) -> CaseAware | None:
    """The policy of an arm that looks at cases."""
    if arm.policy != CaseAware.kind:
        return None
    picks = None
    if arm.pool is not None:
        said = config.PlausibleCases() if arm.plausible is None else arm.plausible
        picks = Plausibility(**said.model_dump())
    knows = "case" if arm.knows is None else tuple(arm.knows)
    return CaseAware(arm.tau, knows, arm.alone, plausible=picks)


def _make(study: Study, arm: config.ArmConfig, best: Plan) -> Arm:
    plan = best if arm.policy in _SOLVED else _given(study, arm, best)
    return _arm(study, arm, plan, plan.to_json())


def _given(study: Study, arm: config.ArmConfig, best: Plan) -> Plan:
    """A policy from the file, as a plan with the bound of the best one."""
    fixed = _fixed(study, arm)
    return replace(
        best,
        policy=fixed,
        value=evaluate(study.problem, fixed),
        status=Status.BOUNDED,
        reason=f"The study's arm {arm.name} ({arm.policy}).",
        notes=(),
        certificate=None,
        regrets=None,
    )


def _solved(study: Study, method: str, time_limit: float = math.inf) -> Plan:
    takes = "time_limit" in solver_named(method).options
    limit = {"time_limit": time_limit} if takes else {}
    plan = solve(study.problem, method=method, **limit)
    # Durations are left out: the same study gives the same files.
    return replace(plan, seconds=0.0, compiled=0.0, proved=0.0)


def _fixed(study: Study, arm: config.ArmConfig) -> Policy:
    if arm.policy == "best fixed":
        return Stationary(best_fixed_set(study.problem))
    if arm.policy == "most predictive":
        return Stationary(most_predictive_set(study.problem))
    sets = [
        tuple(sorted(study.columns(each.show))) for each in arm.sets for _ in range(each.rounds)
    ]
    return ExploreThenRepeat(tuple(sets[:-1]), (sets[-1],))
