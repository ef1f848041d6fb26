"""What the explorer's workers compute: a quick plan, one with its proof, and who would lose by it.

Plain data in, plain data out: `TASKS` run in worker processes, and templates draw their results.
The explorer's plan is for a person who learns by showings. Most people learn differently;
`Crowd.default` has kinds that are plausible without a log, and one plan for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from preceptor._base.parallel import one_blas_thread
from preceptor._base.words import sentence
from preceptor.advice.alternatives import Alternative, alternatives, best_fixed_set
from preceptor.advice.planning import PEOPLE_SECONDS
from preceptor.live.explorer.ground import (
    FIRST,
    Choice,
    Ground,
    command_of,
    preset,
    problem_of,
    read_choice,
)
from preceptor.model.evaluation import evaluate
from preceptor.model.plan import Plan
from preceptor.model.policies import Stationary
from preceptor.people.crowd import Crowd
from preceptor.planning.candidate_sets import most_predictive_set
from preceptor.planning.search import improved
from preceptor.planning.solvers import solve
from preceptor.report import figures, schedule_view
from preceptor.report.advice_words import in_numbers
from preceptor.report.mistakes_and_people import regret_in_words
from preceptor.report.phrases import scale_of
from preceptor.report.tables import certificate_rows, rival_rows
from preceptor.report.words import sections

# CPU seconds of search while a slider moves; seconds of search and proof once it rests.
QUICK, PROVING = 0.12, 2.0


def quick_plan(ground: Ground, choice: Choice) -> Plan:
    """The best plan found in a tenth of a second, starting from a narrow beam if possible.

    From such a start a busy machine finds a good plan, too, and a beam of so few states takes
    negligible time.
    """
    problem = problem_of(ground, choice)
    with one_blas_thread():
        if not problem.learns_by_showings:
            return solve(problem, "search", time_limit=QUICK)
        states = 300_000 // len(problem.sets) ** 2
        layers, width = int(np.clip(states, 1, 60)), int(np.clip(states // 60, 2, 30))
        plan = solve(problem, "beam", width=width, layers=layers)
        policy = improved(problem, plan.policy, seconds=QUICK)
        value = evaluate(problem, policy)
        return replace(plan, policy=policy, value=value, method="search").settled()


def proven_plan(ground: Ground, choice: Choice) -> Plan:
    """The best plan found in two seconds, with a bound on its gap."""
    with one_blas_thread():
        return solve(problem_of(ground, choice), "auto", time_limit=PROVING, seed=0)


def picture(ground: Ground, choice: Choice, plan: Plan, *, is_proven: bool) -> dict[str, Any]:
    """Present a plan as figures, sentences and table rows.

    Parameters
    ----------
    ground, choice
        What is explored, and the slider values.
    plan
        The plan for that choice.
    is_proven
        Whether the plan comes with a proof.

    Returns
    -------
    dict
        Plain data for a template.
    """
    with one_blas_thread():
        # While a slider moves, random orders are averaged over the fewest that have an error.
        rivals = alternatives(plan) if is_proven else alternatives(plan, orders=2)
    drawn = {
        "timeline": schedule_view.timeline(plan),
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
        # The others are about verifying it.
        "certificate": [list(row) for row in certificate_rows(plan, None)[:5]],
        "gap": sentence(plan.how_sure()),
        "is_proven": is_proven,
        "command": command_of(ground, choice),
        "toml": problem_of(ground, choice).to_toml(),
        "value": plan.value,
        "lower_bound": plan.lower_bound,
    }


def _saving(plan: Plan, rivals: tuple[Alternative, ...]) -> str:
    """Saving relative to the best fixed set, which needs no plan."""
    fixed = rivals[0]
    what = scale_of(plan.problem).what
    if scale_of(plan.problem).is_squared:
        what = "squared error"
    saved = 1.0 - plan.value / fixed.value if fixed.value > 0.0 else 0.0
    share = f"{max(saved, 0.0):.1%}"
    if share == "0.0%":
        return "This plan saves nothing against always showing the best fixed set."
    return f"This plan saves {share} of the {what} of always showing the best fixed set."


POLICIES = ("This plan", "The plan for everybody", "Best fixed set", "Most predictive tests")


def regret_by_person(
    ground: Ground, choice: Choice, plan: Plan, seconds: float = PEOPLE_SECONDS
) -> dict[str, Any]:
    """Regret of each policy for each kind of person, relative to the best plan found for them.

    Parameters
    ----------
    ground, choice
        What is explored, and the slider values.
    plan
        The plan for that choice.
    seconds
        Search time.

    Returns
    -------
    dict
        Plain data for a template: people, rows of regrets, and a conclusion.
    """
    problem = problem_of(ground, choice)
    crowd = Crowd.default(
        problem.world, problem.learner.initial, half_life=choice.half_life, tests=choice.tests
    )
    with one_blas_thread():
        common = solve(problem.replace(learner=crowd), "auto", time_limit=seconds, seed=0)
        assert common.regrets is not None, "a plan for a crowd has regrets"
        own = [
            evaluate(problem.replace(learner=person), plan.policy)
            for person in crowd.people.values()
        ]
        fixed_set = best_fixed_set(common.problem, common.regrets.best)
        sets = (fixed_set, most_predictive_set(problem))
        policies = (plan.policy, common.policy, *map(Stationary, sets))
        theirs = [evaluate(problem, policy) for policy in policies]
    everybody, predictive, fixed = common.regrets.costs[:3]
    # The person that the sliders describe comes first; the plan is the best found for them.
    costs = np.column_stack([theirs, np.array([own, everybody, fixed, predictive])])
    best = np.minimum([np.inf, *common.regrets.best], costs.min(axis=0))
    regrets = np.maximum(costs / best - 1.0, 0.0)
    worst = 1 + int(np.argmax(regrets[0, 1:]))
    loses = regret_in_words(regrets[0, worst]) != regret_in_words(0.0)
    people = {"as the sliders say": problem.learner, **crowd.people}
    rows = [
        {
            "name": name,
            "how": person.learning_in_words(),
            "weight": f"{crowd.weights[column - 1]:.0%}" if column else "",
            "regrets": [regret_in_words(value) for value in regrets[:, column]],
            "is_worst": loses and column == worst,
        }
        for column, (name, person) in enumerate(people.items())
    ]
    means, crowds = regrets[:, 1:] @ crowd.weights, regrets[:, 1:]
    return {
        "policies": list(POLICIES),
        "people": rows,
        "average": [regret_in_words(value) for value in means],
        "words": _words(crowd.names[worst - 1], regrets[:, worst], crowds) if loses else _NO_LOSERS,
    }


_NO_LOSERS = "As far as a few seconds of search can tell, no kind of person loses by this plan."


def _words(name: str, lost: Any, regrets: Any) -> str:
    """Who loses most, and what is better if nothing is known about a person."""
    said = (
        f"A person who learns differently may lose by this plan, most of all the kind “{name}”: "
        f"{regret_in_words(lost[0])} beyond the best plan found for them."
    )
    least = float(regrets[1].max())
    if least < float(regrets[0].max()):
        said += (
            f" If it is not known how a person learns, the plan for everybody limits this to "
            f"{regret_in_words(least)}; “preceptor plan” makes it unless the person is named."
        )
    return said


def ready() -> dict[str, Any]:
    """Confirm that the worker has started, with kernels compiled."""
    draw(FIRST, None, {})
    return {}


def draw(preset: str, own: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """A quick plan for the slider values; `own` is the ground as JSON, unless it is a preset."""
    ground, choice = _asked(preset, own, said)
    return picture(ground, choice, quick_plan(ground, choice), is_proven=False)


def prove(preset: str, own: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """A plan with its proof, in a few seconds."""
    ground, choice = _asked(preset, own, said)
    return picture(ground, choice, _proven(own, choice.to_query(preset)), is_proven=True)


def lose(preset: str, own: str | None, said: Mapping[str, str]) -> dict[str, Any]:
    """Who would lose by that plan."""
    ground, choice = _asked(preset, own, said)
    return regret_by_person(ground, choice, _proven(own, choice.to_query(preset)))


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (ready, draw, prove, lose)
}


def _asked(name: str, own: str | None, said: Mapping[str, str]) -> tuple[Ground, Choice]:
    ground = preset(name) if own is None else Ground.from_json(own)
    return ground, read_choice(said, ground)


@lru_cache(maxsize=32)
def _proven(own: str | None, query: str) -> Plan:
    """The plan with its proof, cached for `lose`; `query` has the slider values."""
    said = dict(parse_qsl(query))
    return proven_plan(*_asked(said["preset"], own, said))
