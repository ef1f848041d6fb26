"""Plan files as commands read them, with what somebody should know who changed one by hand."""

from __future__ import annotations

from pathlib import Path

import preceptor
from preceptor.cli._console import fail, say, spinner
from preceptor.plan import Plan
from preceptor.verification import Verification

# Relative difference that rounding and older versions may make.
_SLACK = 1e-6
# Rounds times tests up to which the value is worked out again without anybody waiting for it.
_QUICK = 1_000_000


def load_plan(path: Path) -> Plan:
    """The plan in a file; says so if its value is not what its schedule costs."""
    plan = Plan.load(path)
    problem, length = plan.problem, plan.exploration_length or 0
    work = max(problem.horizon or 1_000, length) * problem.size
    # Of other people the value may be approximate, and working it out takes long.
    exact = problem.learns_by_showings and isinstance(problem.loss, preceptor.ClosedForm)
    if exact and work <= _QUICK:
        costs = preceptor.evaluate(problem, plan.policy)
        if abs(costs - plan.value) > _SLACK * max(abs(costs), abs(plan.value)):
            say(
                f"Note: {path}: says that the plan costs {plan.value:.6g}, but its schedule costs "
                f"{costs:.6g}; the file was changed, solve the problem again"
            )
    return plan


def check_again(plan: Plan) -> None:
    """Prove value and lower bound again, slowly."""
    with spinner("checking again"):
        proof = preceptor.verify(plan)
    report_proof(proof)


def report_proof(proof: Verification) -> None:
    """Say that a proof holds; a plan whose proof fails is not given out."""
    if not proof.ok:
        fail(f"this plan does not hold. {proof.in_words()} Please report this", code=1)
    say(f"Checked again, and it holds. {proof.in_words()}")
