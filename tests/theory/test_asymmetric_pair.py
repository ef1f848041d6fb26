"""Two tests of different weight: tail losses, and exact plans that end on one test."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.long_run import tail_losses
from preceptor.theory.exploration import exploration_certificate
from preceptor.theory.two_tests import asymmetric_pair, pair_tail_losses
from tests.strategies import examples, seeds

CURVES = [
    pr.Geometric(1.2),
    pr.OneShot(),
    pr.PowerLaw(2.0),
    pr.Branch(pr.Geometric(1.3), [1, -1]),
]


def drawn(seed: int, **options) -> pr.Problem:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.2, 1.5, 2) * rng.choice([-1.0, 1.0], 2)
    return asymmetric_pair(
        float(rng.uniform(-0.95, 0.95)),
        weights.tolist(),
        initial=rng.standard_normal(2).tolist(),
        curve=CURVES[rng.integers(len(CURVES))],
        discount=0.8,
        **options,
    )


@given(seeds)
def test_once_both_are_learned_the_heavier_test_is_better(seed):
    problem = drawn(seed)
    world = problem.world
    rho, weights = float(world.covariance[0, 1]), world.coefficients
    closed = pair_tail_losses(rho, weights.tolist(), world.noise_variance)
    from_problem = tail_losses(problem, [0, 1], [0, 0])
    assert_allclose(list(from_problem.values()), closed, rtol=1e-9)
    certificate = exploration_certificate(problem, pr.Alternating([(0,), (1,)]))
    assert certificate.minimisers == ((int(np.argmax(np.abs(weights))),),)
    assert_allclose(certificate.margin, abs(closed[0] - closed[1]), rtol=1e-7, atol=1e-12)


@given(seeds, st.lists(st.integers(0, 1), min_size=2, max_size=6).filter(lambda c: len({*c}) == 2))
def test_showing_both_for_ever_can_always_be_improved(seed, cycle):
    """The corollary as it stands, for every policy that goes round a cycle."""
    problem = drawn(seed)
    certificate = exploration_certificate(problem, pr.Alternating([(i,) for i in cycle]))
    assert certificate.recurrent == (0, 1)
    assert certificate.round is not None
    assert certificate.improvable


@examples(12)
@given(seeds)
def test_exact_plans_end_on_one_test(seed):
    problem = drawn(seed)
    closed = pair_tail_losses(problem.world.covariance[0, 1], problem.world.coefficients, 0.0)
    # With little between the two, or slow learning, it takes longer.
    assume(abs(closed[0] - closed[1]) > 0.05)
    assume(not isinstance(problem.learner.curves, pr.PowerLaw))
    plan = pr.solve(problem, "lattice", tolerance=1e-9)
    assert len(set(plan.policy.schedule(80)[40:])) == 1


def test_the_symmetric_pair_is_another_matter():
    with pytest.raises(pr.InvalidInput, match="SymmetricPair"):
        asymmetric_pair(0.5, [1.0, -1.0])


def test_all_faults_are_named_at_once():
    with pytest.raises(pr.InvalidInput) as error:
        asymmetric_pair(1.0, [1.0], initial=[0.0], curve=pr.Geometric(1.1, floor=0.1), discount=1.0)
    faults = ["correlation", "weights", "initial", "curve", "discount"]
    assert [fault.split(":")[0] for fault in error.value.faults] == faults
