"""What a plan takes for granted, as rows of a table: person, budget, time and world."""

from __future__ import annotations

import math

from preceptor.evaluation.expectations import people_of, weights_of
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.report.phrases import Row
from preceptor.report.scale import scale_of


def assumptions(plan: Plan) -> list[Row]:
    """Label and sentence for each assumption."""
    problem = plan.problem
    rows = [
        ("Tests per case", problem.budget_in_words()),
        ("Learning", problem.learner.learning_in_words()),
        ("First beliefs", problem.learner.beliefs_in_words(problem.world)),
        ("Unseen tests", problem.learner.imputation_in_words()),
        ("Time", problem.time_in_words()),
        ("What no test explains", _noise_words(problem)),
    ]
    if plan.regrets is not None:
        people = people_of(problem).items()
        for (name, person), weight in zip(people, weights_of(problem), strict=True):
            unseen = person.imputation_in_words()
            learning = person.learning_in_words()
            rows.append((f"{weight:.0%}", f"{name}: {learning}; unseen tests {unseen}"))
    return rows


def _noise_words(problem: Problem) -> str:
    unit = scale_of(problem).unit
    noise = math.sqrt(problem.world.noise_variance)
    spread = math.sqrt(problem.world.outcome_variance)
    share = problem.world.explained_share
    of = f" {unit}" if unit else ""
    return (
        f"with all tests and all weights known, still off by {noise:.3g}{of}; outcomes have a "
        f"standard deviation of {spread:.3g}, so all tests together explain {share:.0%} of the "
        "variance"
    )
