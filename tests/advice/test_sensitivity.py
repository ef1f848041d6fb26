"""Changed assumptions: that they are changed as said, and what the plan costs then."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.sensitivity import faster, further_off, more_correlated, sensitivity
from preceptor.errors import InvalidInput
from preceptor.model.matrices import average_correlation
from preceptor.planning.search import improved
from preceptor.proofs.slow_value import slow_value

WORLD = pr.World([1.0, 0.8], [[4.0, 1.0], [1.0, 1.0]], 0.1, names=["bmi", "bp"])
PROBLEM = pr.Problem(WORLD, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, 0.95)


@pytest.fixture(scope="module")
def plan():
    return pr.solve(PROBLEM)


def correlation(world):
    scale = np.sqrt(np.diag(world.covariance))
    return world.covariance / np.outer(scale, scale)


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_faster_learning_needs_fewer_showings(factor):
    counts = np.arange(30.0)
    for curve in (pr.Geometric(1.3), pr.Geometric(1.3, floor=0.2)):
        assert np.allclose(curve.faster(factor).phi(counts), curve.phi(factor * counts))
    power = pr.PowerLaw(2.0).faster(factor)
    assert np.allclose(power.phi(counts), pr.PowerLaw(2.0 * factor).phi(counts))
    table = pr.Tabulated([1.0, 0.5, 0.25, 0.1])
    assert np.allclose(table.faster(factor).phi(counts), table.phi(factor * counts))
    assert pr.OneShot().faster(0.8).phi([0, 1, 2]).tolist() == [1.0, 1.0, 0.0]


def test_each_test_keeps_a_curve_of_its_own():
    curves = [pr.Geometric(1.1), pr.PowerLaw(1.0)]
    changed = faster(PROBLEM.replace(learner=pr.Learner([0, 0], curves)), 2.0)
    assert changed.learner.curves == (pr.Geometric(1.1**2.0), pr.PowerLaw(2.0))


def test_further_off_scales_the_errors():
    changed = further_off(PROBLEM, 1.2)
    assert np.allclose(changed.initial_errors, 1.2 * PROBLEM.initial_errors)
    assert changed.world is PROBLEM.world


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_more_correlated_changes_the_average_and_nothing_else(factor):
    rng = np.random.default_rng(1)
    root = rng.normal(size=(5, 5))
    world = pr.World(rng.normal(size=5), root @ root.T + np.eye(5), 0.3)
    problem = pr.Problem(world, pr.Learner(np.zeros(5), pr.Geometric(1.1)), 2)
    changed = more_correlated(problem, factor)
    before, after = correlation(world), correlation(changed.world)
    assert average_correlation(after) == pytest.approx(factor * average_correlation(before))
    assert np.allclose(np.diag(changed.world.covariance), np.diag(world.covariance))
    assert np.linalg.eigvalsh(after)[0] > 0
    assert np.array_equal(changed.world.coefficients, world.coefficients)


def test_two_tests_have_one_correlation():
    assert correlation(more_correlated(PROBLEM, 1.2).world)[0, 1] == pytest.approx(0.6)


def test_correlations_that_cannot_be_changed_are_left_out():
    single = pr.Problem(pr.World([1.0], [[1.0]]), pr.Learner([0.0], pr.Geometric(1.1)), 1)
    assert more_correlated(single, 1.2) is None
    high = pr.World.equicorrelated([1.0, 0.5], 0.95)
    problem = PROBLEM.replace(world=high)
    assert more_correlated(problem, 1.2) is None
    assert correlation(more_correlated(problem, 0.8).world)[0, 1] == pytest.approx(0.76)
    changes = sensitivity(pr.solve(problem))
    assert len(changes) == 5
    diagonal = PROBLEM.replace(world=pr.World([1.0, 0.5], np.eye(2)))
    assert {c.assumption for c in sensitivity(pr.solve(diagonal))} == {
        "learning speed",
        "first beliefs",
    }


def test_numbers_are_evaluated_and_bracket_the_optimum(plan):
    changes = sensitivity(plan)
    assert len(changes) == 6
    assert [c.saving for c in changes] == sorted((c.saving for c in changes), reverse=True)
    for change in changes:
        assert change.kept == pytest.approx(slow_value(change.problem, plan.policy), rel=1e-8)
        assert change.again == pytest.approx(pr.evaluate(change.problem, change.policy))
        best = pr.solve(change.problem, "lattice")
        assert change.bound <= best.value * (1 + 1e-9)
        assert best.lower_bound <= change.again * (1 + 1e-9)
        assert 0 <= change.saving <= change.saving_at_most + 1e-12


def test_planning_again_finds_what_a_wrong_assumption_costs():
    """The paper's instance: a plan that never teaches, where teaching saves a third."""
    problem = pr.Problem(
        pr.World.equicorrelated([1.0, 0.8], 0.8), pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1
    )
    best = pr.solve(problem, "lattice").value
    never = pr.Stationary((0,))
    assert pr.evaluate(problem, never) > 1.3 * best
    assert pr.evaluate(problem, improved(problem, never)) < 1.02 * best


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM.replace(learner=pr.Learner([0.2, 1.3], pr.PowerLaw(1.0))),
        PROBLEM.replace(risk=pr.Huber(1.0)),
        PROBLEM.replace(horizon=12),
        PROBLEM.replace(learner=pr.Learner([0.2, 1.3], pr.Geometric(1.1), 1.0)),
    ],
    ids=["power law", "Huber", "finite", "ignores correlation"],
)
def test_other_problems_are_served_too(problem):
    plan = pr.solve(problem, "stationary")
    changes = sensitivity(plan)
    assert len(changes) == 6
    assert all(change.again <= change.kept for change in changes)


def test_improve_never_makes_it_worse_and_is_repeatable():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 3))
    world = pr.World(rng.normal(size=6), root @ root.T + np.eye(6), 1.0)
    problem = pr.Problem(world, pr.Learner(np.zeros(6), pr.Geometric(1.1)), 2, 0.95)
    start = pr.Stationary((0, 1))
    once, twice = improved(problem, start), improved(problem, start)
    assert once == twice
    assert pr.evaluate(problem, once) < pr.evaluate(problem, start)


def test_shares_must_make_sense(plan):
    with pytest.raises(InvalidInput, match=r"share: 20"):
        sensitivity(plan, share=20)
