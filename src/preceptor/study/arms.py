"""Arms made ready: each policy as a plan and, where nothing is left to chance, as a schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from preceptor._base.progress import Progress, Status, report
from preceptor.advice.alternatives import best_fixed_set, most_predictive_set
from preceptor.evaluation import evaluate
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.planning import SOLVERS, solve
from preceptor.policies import ExploreThenRepeat, Policy, Stationary
from preceptor.simulation.cases import Stream, stream
from preceptor.simulation.choosing import RandomOrder
from preceptor.study import config
from preceptor.study.study import Study

# Policies that need a plan of the problem; all others are given, and only held against one.
_SOLVED = ("plan", "adaptive", "random order")


@dataclass(frozen=True, eq=False)
class Arm:
    """A policy that can be followed.

    Attributes
    ----------
    name, policy
        As in the study file.
    plan
        The plan file of the policy; a fixed set is a plan too. Where chance or answers decide, the
        plan for the problem, which says what is known.
    chooser
        What `simulation.rollout` plays for this arm; None where a tutor decides.
    value, gap
        What the policy costs the problem's person, and by which share that can be above the best
        possible; None where nobody knows.
    """

    name: str
    policy: str
    plan: str
    chooser: Policy | RandomOrder | None
    value: float | None
    gap: float | None

    @property
    def is_adaptive(self) -> bool:
        """Whether what is shown depends on the person's answers."""
        return self.chooser is None

    def schedule(self, rounds: int, seed: int, place: int) -> list[TestSet] | None:
        """What the person at this place is shown in training; None where a tutor decides."""
        if self.chooser is None:
            return None
        if isinstance(self.chooser, RandomOrder):
            return self.chooser.schedule_for(rounds, stream(seed, place, Stream.CHOICES))
        return self.chooser.schedule(rounds)


def make_arms(study: Study, progress: Progress | None = None) -> tuple[Arm, ...]:
    """Solve what has to be solved.

    Parameters
    ----------
    study
        Whose arms are meant.
    progress
        Told how far it is.

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
    # What nobody goes below, for arms that are given: from whatever was solved for the others.
    known = max(plans.values(), key=lambda plan: plan.lower_bound, default=None)
    if known is None:
        known = _solved(study, "stationary")
    return tuple(_make(study, arm, plans.get((arm.method, arm.time_limit), known)) for arm in arms)


def kept_arms(study: Study, plans: Mapping[str, str]) -> tuple[Arm, ...]:
    """The arms of a study that was opened, from the plans that were kept; nothing is solved.

    Parameters
    ----------
    study
        Whose arms are meant.
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


def _arm(study: Study, arm: config.Policy, plan: Plan, body: str) -> Arm:
    """The arm that follows a plan, or that leaves what is shown to chance or to a tutor."""
    if arm.policy == "adaptive":
        return Arm(arm.name, arm.policy, body, None, None, None)
    if arm.policy == "random order":
        return Arm(arm.name, arm.policy, body, RandomOrder.of(study.problem), None, None)
    gap = plan.gap if math.isfinite(plan.gap) else None
    return Arm(arm.name, arm.policy, body, plan.policy, plan.value, gap)


def _make(study: Study, arm: config.Policy, best: Plan) -> Arm:
    plan = best if arm.policy in _SOLVED else _given(study, arm, best)
    return _arm(study, arm, plan, plan.to_json())


def _given(study: Study, arm: config.Policy, best: Plan) -> Plan:
    """A policy that the file names, as a plan that is held against the best one."""
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
    takes = "time_limit" in SOLVERS[method].options if method in SOLVERS else True
    limit = {"time_limit": time_limit} if takes else {}
    plan = solve(study.problem, method=method, **limit)
    # How long it took is no part of what is frozen: the same study gives the same files.
    return replace(plan, seconds=0.0, compiled=0.0, proved=0.0)


def _fixed(study: Study, arm: config.Policy) -> Policy:
    if arm.policy == "best fixed":
        return Stationary(best_fixed_set(study.problem))
    if arm.policy == "most predictive":
        return Stationary(most_predictive_set(study.problem))
    sets = [
        tuple(sorted(study.columns(each.show))) for each in arm.sets for _ in range(each.rounds)
    ]
    return ExploreThenRepeat(tuple(sets[:-1]), (sets[-1],))
