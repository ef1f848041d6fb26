"""Who would lose by a plan: policies beside people, against the best plan found for each of them.

A plan is made for somebody who learns by showings, as the sliders say. Most people learn
otherwise; `Crowd.default` has kinds that seem likely without a log, and one plan for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor.evaluation.value import evaluate
from preceptor.explorer.choice import Choice, problem_of
from preceptor.explorer.ground import Ground
from preceptor.people.crowd import Crowd
from preceptor.plan import Plan
from preceptor.planning import solve
from preceptor.policies import Stationary
from preceptor.report.people_words import share

# Seconds in which everybody's own plan and one for all are searched, as `preceptor plan` does.
SECONDS = 4.0
POLICIES = ("This plan", "The plan for everybody", "Best fixed set", "Most predictive tests")


def losers(ground: Ground, choice: Choice, plan: Plan, seconds: float = SECONDS) -> dict[str, Any]:
    """What each policy costs each person beyond the best plan found for them.

    Parameters
    ----------
    ground, choice
        What is explored, and where its sliders are.
    plan
        For that choice.
    seconds
        How long to search.

    Returns
    -------
    dict
        Plain data for a template: people, rows of regrets, and what to make of them.
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
        planned = [evaluate(problem, common.policy), *_rivals(plan, common)]
    everybody, predictive, fixed = common.regrets.costs[:3]
    costs = np.array([own, everybody, fixed, predictive])
    best = np.minimum(common.regrets.best, costs.min(axis=0))
    regrets = np.maximum(costs / best - 1.0, 0.0)
    # The person whom the sliders describe comes first; the plan is the best found for them.
    theirs = np.maximum(np.array([plan.value, *planned]) / min(plan.value, *planned) - 1.0, 0.0)
    worst = int(np.argmax(regrets[0]))
    loses = share(regrets[0, worst]) != share(0.0)
    rows = [
        {
            "name": name,
            "how": person.learning_in_words(),
            "weight": f"{weight:.0%}",
            "regrets": [share(value) for value in regrets[:, column]],
            "is_worst": loses and column == worst,
        }
        for column, (name, person, weight) in enumerate(
            zip(crowd.names, crowd.people.values(), crowd.weights, strict=True)
        )
    ]
    first = {
        "name": "as the sliders say",
        "how": problem.learner.learning_in_words(),
        "weight": "",
        "regrets": [share(value) for value in theirs],
        "is_worst": False,
    }
    means = regrets @ crowd.weights
    return {
        "policies": list(POLICIES),
        "people": [first, *rows],
        "average": [share(value) for value in means],
        "words": _words(crowd.names[worst], regrets[:, worst], regrets) if loses else _NOBODY,
    }


_NOBODY = (
    "Nobody was found to lose by this plan, however they learn, as far as a few seconds of search "
    "can tell."
)


def _words(name: str, lost: Any, regrets: Any) -> str:
    """Who loses most, and what would be better for somebody of whom one knows nothing."""
    said = (
        f"Somebody who learns otherwise may lose by this plan: most of all a person of the kind "
        f"“{name}”, {share(lost[0])} beyond the best plan found for them."
    )
    least = float(regrets[1].max())
    if least < float(regrets[0].max()):
        said += (
            f" Where one does not know how somebody learns, the plan for everybody holds that to "
            f"{share(least)}; “preceptor plan” makes it unless told who the person is."
        )
    return said


def _rivals(plan: Plan, common: Plan) -> list[float]:
    """What the crowd's two fixed sets cost the person whom the sliders describe."""
    from preceptor.advice.alternatives import best_fixed_set, most_predictive_set

    assert common.regrets is not None
    fixed = best_fixed_set(common.problem, common.regrets.best)
    predictive = most_predictive_set(plan.problem)
    return [evaluate(plan.problem, Stationary(shown)) for shown in (fixed, predictive)]
