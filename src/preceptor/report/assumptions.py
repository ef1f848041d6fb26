"""What a plan takes for granted, as rows of a table: person, budget, time and world."""

from __future__ import annotations

import math

from preceptor.evaluation.expectations import people_of, weights_of
from preceptor.evaluation.mistakes import best_mistakes, best_reader
from preceptor.model.links import LOGISTIC, PROBIT
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.report.mistake_words import costs, named, rates, yes_of
from preceptor.report.phrases import Row
from preceptor.report.scale import scale_of

_LINKS = {
    PROBIT: "probit: yes if the score plus chance is above 0, chance being normal with variance 1",
    LOGISTIC: "logistic: the score is the log odds of yes",
}


def assumptions(plan: Plan) -> list[Row]:
    """Label and sentence for each assumption."""
    problem = plan.problem
    rows = [
        ("Tests per case", problem.budget_in_words()),
        ("Learning", problem.learner.learning_in_words()),
        ("First beliefs", problem.learner.beliefs_in_words(problem.world)),
        ("Unseen tests", problem.learner.imputation_in_words()),
        ("Time", problem.time_in_words()),
    ]
    rows += _yes_no_rows(problem) if problem.is_binary else [_noise_row(problem)]
    if plan.regrets is not None:
        people = people_of(problem).items()
        for (name, person), weight in zip(people, weights_of(problem), strict=True):
            unseen = person.imputation_in_words()
            learning = person.learning_in_words()
            rows.append((f"{weight:.0%}", f"{name}: {learning}; unseen tests {unseen}"))
    return rows


def _yes_no_rows(problem: Problem) -> list[Row]:
    """How common yes is, how answers come about, and what no test tells."""
    world, risk = problem.world, problem.risk
    outcome = world.outcome
    assert outcome is not None
    assert isinstance(risk, YesNoRisk)
    common = f"{yes_of(world)} in {100.0 * outcome.prevalence:.3g}% of all cases"
    if risk.believed_prevalence is not None:
        common += f"; the person takes it to be {100.0 * risk.believed_prevalence:.3g}%"
    if isinstance(risk, Decision):
        answers = f"yes above a probability of {risk.yes_above:.0%}; {costs(risk)}"
    else:
        answers = f"probabilities; {risk.in_words()}"
    everything = tuple(range(world.size))
    area = float(best_reader(problem, everything).area()[0])
    left = f"with all tests and all weights known, the area under the ROC curve is {area:.3f}"
    if isinstance(risk, Decision):
        least = best_mistakes(problem, everything)
        left += f"; still {named(least)} per 100 cases ({rates(least)})"
    return [
        ("Prevalence", common),
        ("Answers", answers),
        ("From score to chance", _LINKS.get(outcome.link, outcome.link)),
        ("What no test tells", left),
    ]


def _noise_row(problem: Problem) -> Row:
    unit = scale_of(problem).unit
    noise = math.sqrt(problem.world.noise_variance)
    spread = math.sqrt(problem.world.outcome_variance)
    share = problem.world.explained_share
    of = f" {unit}" if unit else ""
    said = (
        f"with all tests and all weights known, still off by {noise:.3g}{of}; outcomes have a "
        f"standard deviation of {spread:.3g}, so all tests together explain {share:.0%} of the "
        "variance"
    )
    return ("What no test explains", said)
