"""What a plan takes for granted, as rows of a table: person, budget, time and world."""

from __future__ import annotations

import math

import numpy as np

from preceptor._base.discounting import cases_to_come
from preceptor._base.words import counted
from preceptor.model.budgets import AtMost, Budget, Exactly, Knapsack
from preceptor.model.grouped import Grouped
from preceptor.people.curves import Curve, Geometric, OneShot, PowerLaw
from preceptor.people.learner import Learner
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.report.phrases import Row, cases
from preceptor.report.scale import scale_of


def assumptions(plan: Plan) -> list[Row]:
    """Label and sentence for each assumption."""
    problem = plan.problem
    rows = [
        ("Tests a case", _budget_words(problem.budget, problem.size)),
        ("Learning", _learning_words(problem.learner)),
        ("First beliefs", _belief_words(problem)),
        ("Unseen tests", _imputation_words(problem.learner)),
        ("Time", _time_words(problem)),
        ("What nobody can predict", _noise_words(problem)),
    ]
    return rows


def _budget_words(budget: Budget, tests: int) -> str:
    if isinstance(budget, Grouped):
        return _budget_words(budget.budget, len(budget.blocks))
    if isinstance(budget, AtMost):
        text = f"at most {budget.k} of {tests}"
    elif isinstance(budget, Exactly):
        text = f"exactly {budget.k} of {tests}"
    elif isinstance(budget, Knapsack):
        text = f"as many of {tests} as cost at most {budget.limit:g} together"
    else:
        text = f"one of {counted(budget.count(tests), 'listed set')}"
    priced = np.any(budget.prices(tests))
    return f"{text}; each showing has a price, in units of the loss" if priced else text


def _learning_words(learner: Learner) -> str:
    curves = set(learner.curve_of)
    if len(curves) > 1:
        return f"a curve of its own for each test ({counted(len(curves), 'different one')})"
    return curve_words(curves.pop())


def curve_words(curve: Curve) -> str:
    """A curve in words.

    >>> curve_words(Geometric.from_half_life(14))
    'the error of a weight halves every 14 showings'
    """
    if isinstance(curve, Geometric):
        if curve.alpha == 1.0:
            return "nothing is ever learned"
        text = f"the error of a weight halves every {math.log(2) / math.log(curve.alpha):.3g}"
        text += " showings"
    elif isinstance(curve, PowerLaw):
        text = f"the squared error of a weight falls as (showings + 1)^-{curve.exponent:g}"
    elif isinstance(curve, OneShot):
        text = "one showing teaches the weight"
    else:
        text = f"a curve of kind {curve.kind}"
    if curve.floor:
        text += f"; {math.sqrt(curve.floor):.0%} of the error always stays"
    return text


def _belief_words(problem: Problem) -> str:
    initial, truth = problem.learner.initial, problem.world.coefficients
    if not np.any(initial):
        return "a novice who predicts the average, whatever the tests say"
    start = problem.world.outcome_variance - problem.world.noise_variance
    error = truth - initial
    left = float(error @ problem.world.covariance @ error)
    share = left / start if start > 0 else 0.0
    return (
        "weights of their own; shown every test they would miss "
        f"{share:.0%} of the variance that tests explain"
    )


def _imputation_words(learner: Learner) -> str:
    if isinstance(learner.imputation, np.ndarray):
        return "filled in from a covariance of the person's own"
    if learner.imputation == 0.0:
        return "filled in from the shown ones, with the right correlations"
    if learner.imputation == 1.0:
        return "taken to be average: the person ignores correlations"
    return f"filled in from the shown ones; {learner.imputation:.0%} of the correlation is ignored"


def _time_words(problem: Problem) -> str:
    if problem.horizon is not None:
        discounted = f", each counting {problem.discount:g} times the one before" * (
            problem.discount < 1.0
        )
        return f"{cases(problem.horizon)}{discounted}"
    return (
        f"about {cases_to_come(problem.discount):,.0f} more cases: each counts "
        f"{problem.discount:.6g} times the one before"
    )


def _noise_words(problem: Problem) -> str:
    unit = scale_of(problem).unit
    noise = math.sqrt(problem.world.noise_variance)
    spread = math.sqrt(problem.world.outcome_variance)
    share = 1.0 - problem.world.noise_variance / problem.world.outcome_variance
    of = f" {unit}" if unit else ""
    return (
        f"with all tests and all weights known, still off by {noise:.3g}{of}; outcomes have a "
        f"standard deviation of {spread:.3g}, so all tests together explain {share:.0%} of the "
        "variance"
    )
