"""Bounds on the cost of planning only a limited number of rounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.evaluation import worst_loss, worst_loss_of_all
from preceptor.theory.truncation import (
    rounds_for_error,
    tightness_example,
    truncation_certificate,
    truncation_error,
)
from tests.strategies import examples, problems


def two_tests(rng: np.random.Generator, budget: pr.Budget, discount: float) -> pr.Problem:
    world = pr.World.equicorrelated(rng.uniform(size=2), rng.uniform(0, 0.99))
    return pr.Problem(
        world, pr.Learner(rng.uniform(size=2), pr.Geometric(1.1)), budget, discount=discount
    )


@pytest.mark.parametrize("budget", [pr.Exactly(1), pr.AtMost(1)], ids=["exactly", "at-most"])
@pytest.mark.parametrize("seed", range(5))
def test_a_planned_start_keeps_the_promise_however_it_goes_on(seed, budget):
    rng = np.random.default_rng(seed)
    problem = two_tests(rng, budget, discount=0.9)
    # 0.9^200 = 7e-10: the optimum up to that, and a bound below it for certain.
    best = pr.solve(problem, method="truncated", length=200)
    for rounds in (1, 5, 20, 60):
        start = pr.solve(problem.replace(horizon=rounds), method="finite").policy.schedule(rounds)
        bound = truncation_error(problem, rounds)
        for last in problem.sets:
            value = pr.evaluate(problem, pr.ExploreThenCommit(start, commit=last))
            assert value - best.value <= bound * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds", [5, 20, 60])
def test_the_certificate_holds_and_is_tighter_than_the_bound(seed, rounds):
    problem = two_tests(np.random.default_rng(seed), pr.AtMost(1), discount=0.9)
    best = pr.solve(problem, method="truncated", length=250)
    plan = pr.solve(problem, method="truncated", length=rounds)
    certificate = truncation_certificate(problem, plan.policy, rounds)
    assert certificate.lower_bound <= best.value * (1 + 1e-12)
    assert certificate.value == plan.value
    assert certificate.error >= plan.value - best.value - 1e-9
    assert certificate.error <= truncation_error(problem, rounds)
    # the plan's own bound may be better, since it knows other bounds as well
    assert certificate.lower_bound <= plan.lower_bound * (1 + 1e-12)
    assert certificate.gap >= plan.gap - 1e-12


def test_more_rounds_certify_more():
    problem = two_tests(np.random.default_rng(3), pr.AtMost(1), discount=0.95)
    plan = pr.solve(problem)
    bounds = [truncation_certificate(problem, plan.policy, t).lower_bound for t in (1, 10, 50, 150)]
    assert bounds == sorted(bounds)


@given(problems(horizons=(None,)), st.floats(1e-8, 100.0))
def test_the_number_of_rounds_is_the_smallest_that_the_bound_allows(problem, error):
    rounds = rounds_for_error(problem, error)
    assert truncation_error(problem, rounds) <= error
    assert rounds == 0 or truncation_error(problem, rounds - 1) > error


def test_it_is_the_formula_of_the_proposition():
    problem = two_tests(np.random.default_rng(0), pr.AtMost(1), discount=0.97)
    ceiling = worst_loss(problem, problem.sets)
    for error in (1.0, 0.1, 1e-3, 1e-6):
        formula = math.ceil(math.log(ceiling / (0.03 * error)) / -math.log(0.97))
        assert rounds_for_error(problem, error) == formula


@examples(20)
@given(problems(horizons=(None,)))
def test_all_sets_at_once_have_the_ceiling_of_one_after_the_other(problem):
    assert_allclose(worst_loss_of_all(problem), worst_loss(problem, problem.sets), rtol=1e-12)


@examples(20)
@given(problems(sizes=(2,), horizons=(None,), risks=st.just(pr.SquaredError())))
def test_no_round_costs_more_than_the_ceiling(problem):
    ceiling = worst_loss(problem, problem.sets)
    counts = np.array(problem.start_counts)
    for extra in ((0, 0), (1, 0), (0, 3), (5, 5)):
        errors = problem.learner.errors(problem.world, counts + np.array(extra))
        assert problem.oracle.losses(errors[None, :]).max() <= ceiling * (1 + 1e-12)


@pytest.mark.parametrize("rounds", [1, 7, 50])
@pytest.mark.parametrize("discount", [0.5, 0.99])
def test_the_bound_cannot_be_improved(rounds, discount):
    example = tightness_example(rounds, discount, worst=3.0)
    best = pr.solve(example.problem, method="independent")
    assert best.value == 0.0
    finite = example.problem.replace(horizon=rounds)
    # Its start is optimal for that many rounds...
    assert pr.evaluate(finite, example.policy) == pr.solve(finite, method="finite").value == 0.0
    # ... and still it costs all that the proposition allows.
    assert_allclose(example.excess, truncation_error(example.problem, rounds), rtol=1e-12)
    assert_allclose(example.excess, 3.0 * discount**rounds / (1 - discount), rtol=1e-12)


def test_a_certificate_can_be_complete_or_say_nothing():
    example = tightness_example(5, 0.5)
    best = truncation_certificate(example.problem, pr.Stationary((0,)), rounds=5)
    assert best.error == best.gap == 0.0
    wasted = truncation_certificate(example.problem, example.policy, rounds=5)
    assert wasted.error == example.excess
    assert wasted.gap == math.inf


def test_edges_and_refusals():
    problem = two_tests(np.random.default_rng(0), pr.AtMost(1), discount=0.0)
    assert rounds_for_error(problem, 1e-9) == 1
    assert truncation_error(problem, 1) == 0.0
    finite = problem.replace(horizon=10)
    for ask in (lambda: truncation_error(finite, 3), lambda: rounds_for_error(finite, 0.1)):
        with pytest.raises(pr.NotApplicable, match="endless"):
            ask()
    with pytest.raises(pr.InvalidInput, match="error"):
        rounds_for_error(problem, 0.0)
    with pytest.raises(pr.InvalidInput, match="rounds"):
        truncation_error(problem, -1)
    with pytest.raises(pr.InvalidInput, match="worst"):
        tightness_example(3, 0.5, worst=0.0)
