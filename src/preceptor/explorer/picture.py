"""What a page shows of one choice: a plan found in a moment, or one with its proof.

Everything here is plain data, so that it can be worked out in a process of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor._base.words import sentence
from preceptor.advice.alternatives import Alternative, alternatives
from preceptor.evaluation.value import evaluate
from preceptor.explorer.choice import Choice, command_of, problem_of, toml_of
from preceptor.explorer.ground import Ground
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.planning.search import improved
from preceptor.report import figures
from preceptor.report.advice_words import in_numbers
from preceptor.report.scale import scale_of
from preceptor.report.tables import certificate_rows, rival_rows
from preceptor.report.words import sections

# Seconds of search while a slider moves (of computing, so that a busy machine draws the same), and
# of searching and proving once it rests.
QUICK, PROVING = 0.12, 2.0
# States x sets x sets that a beam goes through in no time to speak of.
_BEAM_WORK = 300_000
# Random orders that are averaged over while a slider moves; afterwards as in a report.
_FEW_ORDERS = 4
# Rows of the certificate that are about this plan, not about checking it again.
_ROWS = 5


def quick_plan(ground: Ground, choice: Choice) -> Plan:
    """The best plan that a tenth of a second finds, from a narrow beam where there is one."""
    problem = problem_of(ground, choice)
    with one_blas_thread():
        if not problem.learns_by_showings:
            return solve(problem, "search", time_limit=QUICK)
        states = _BEAM_WORK // len(problem.sets) ** 2
        layers, width = int(np.clip(states, 1, 60)), int(np.clip(states // 60, 2, 30))
        plan = solve(problem, "beam", width=width, layers=layers)
        policy = improved(problem, plan.policy, seconds=QUICK)
        value = evaluate(problem, policy)
        return replace(plan, policy=policy, value=value, method="search").settled()


def proven_plan(ground: Ground, choice: Choice) -> Plan:
    """The best plan of two seconds, and how far from the best possible it can be at most."""
    with one_blas_thread():
        return solve(problem_of(ground, choice), "auto", time_limit=PROVING, seed=0)


def picture(ground: Ground, choice: Choice, plan: Plan, *, is_proven: bool) -> dict[str, Any]:
    """A plan as figures, sentences and rows of tables.

    Parameters
    ----------
    ground, choice
        What is explored, and where its sliders are.
    plan
        For that choice.
    is_proven
        Whether more than a moment was taken to prove something about it.

    Returns
    -------
    dict
        Plain data for a template.
    """
    with one_blas_thread():
        rivals = alternatives(plan) if is_proven else alternatives(plan, orders=_FEW_ORDERS)
    drawn = {
        "timeline": figures.timeline(plan),
        "losses": figures.losses(plan, rivals),
        "learning": figures.learning(plan),
    }
    told = dict(sections(plan))["What to show"]
    return {
        "saving": _saving(plan, rivals),
        "worth": " ".join(in_numbers(plan, rivals)),
        "to_show": [part for part in told if isinstance(part, str)],
        "phases": [list(part) for part in told if not isinstance(part, str)],
        "figures": drawn,
        "rivals": [row._asdict() for row in rival_rows(plan, rivals)],
        "scale": scale_of(plan.problem).axis,
        "certificate": [list(row) for row in certificate_rows(plan, None)[:_ROWS]],
        "gap": sentence(plan.how_sure()),
        "is_proven": is_proven,
        "command": command_of(ground, choice),
        "toml": toml_of(ground, choice),
        "value": plan.value,
        "lower_bound": plan.lower_bound,
    }


def _saving(plan: Plan, rivals: tuple[Alternative, ...]) -> str:
    """Against the best fixed set, which needs no plan."""
    fixed = rivals[0]
    what = scale_of(plan.problem).what
    if scale_of(plan.problem).is_squared:
        what = "squared error"
    saved = 1.0 - plan.value / fixed.value if fixed.value > 0.0 else 0.0
    share = f"{max(saved, 0.0):.1%}"
    if share == "0.0%":
        return "This plan saves nothing against always showing the best fixed set."
    return f"This plan saves {share} of the {what} of always showing the best fixed set."
