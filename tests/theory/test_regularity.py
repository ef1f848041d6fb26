"""Losses that are Lipschitz in beliefs: where, with what constant, and what follows for plans."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.theory.exploration import (
    SquaredTail,
    Tail,
    exploration_certificate,
    exploration_terms,
    largest_step_after,
    tail_of,
)
from preceptor.theory.regularity import regular_loss
from tests import oracles
from tests.strategies import covariance, examples, seeds

PINBALL = pr.ResidualRisk(lambda r: np.where(r > 0, 0.9 * r, -0.1 * r), kinks=[0.0])
LIPSCHITZ = [(pr.Huber(0.7), None), (pr.AbsoluteError(), None), (PINBALL, 0.9)]
CURVES = [pr.Geometric(1.3), pr.OneShot(), pr.Branch(pr.Geometric(1.4), [1, -1])]


def drawn(seed: int, **options) -> pr.Problem:
    rng = np.random.default_rng(seed)
    world = pr.World(rng.uniform(0.3, 1.5, 2), covariance(rng, 2), 0.1)
    learner = pr.Learner(rng.standard_normal(2), CURVES[rng.integers(len(CURVES))])
    settings = {"budget": pr.AtMost(1), "discount": 0.8, "risk": pr.Huber(0.7)} | options
    return pr.Problem(world, learner, **settings)


VARIANTS = {
    "Huber": {"risk": pr.Huber(0.7)},
    "absolute": {"risk": pr.AbsoluteError()},
    "sample": {"risk": pr.Huber(0.7), "loss": pr.Empirical(64)},
    "squared on a sample": {"risk": pr.SquaredError(), "loss": pr.Empirical(64)},
    "squared": {"risk": pr.SquaredError()},
    "imputes half": {"risk": pr.SquaredError(), "learner": ([0.4, 1.3], 0.5)},
    "beta": {
        "risk": pr.SquaredError(),
        "world": pr.World.beta_copula([1.0, 0.5], 0.5, noise_variance=0.1),
    },
}


def variant(name: str, seed: int = 0) -> pr.Problem:
    changes = dict(VARIANTS[name])
    if "learner" in changes:
        initial, imputation = changes["learner"]
        changes["learner"] = pr.Learner(initial, pr.Geometric(1.3), imputation)
    return drawn(seed).replace(**changes)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("seed", range(3))
def test_no_two_beliefs_are_further_apart_than_the_constant_allows(name, seed):
    problem, rng = variant(name, seed), np.random.default_rng(seed)
    regular = regular_loss(problem)
    assert regular.holds
    first = np.abs(problem.initial_errors)
    for scale, bound in ((1.0, regular.within_reach), (100.0, regular.everywhere)):
        errors = rng.uniform(-scale, scale, (2, 400, 2)) * first
        change = np.abs(problem.oracle.losses(errors[0]) - problem.oracle.losses(errors[1]))
        apart = np.abs(errors[0] - errors[1]).sum(axis=1)
        assert np.all(change <= bound * apart[:, None] * (1 + 1e-9))


@pytest.mark.parametrize("name", VARIANTS)
def test_squared_error_is_the_one_that_does_not_hold_everywhere(name):
    problem = variant(name)
    regular = regular_loss(problem)
    squared = isinstance(problem.risk, pr.SquaredError)
    assert regular.holds_everywhere == (not squared)
    assert regular.within_reach <= regular.everywhere
    far = np.array([[1e6, 0.0], [2e6, 0.0]])
    quotients = np.abs(np.diff(problem.oracle.losses(far), axis=0)) / 1e6
    assert (quotients.max() > 1e3) == squared


def test_the_constant_is_attained_far_out():
    """Huber is linear far from 0: there the loss rises by τ E|x| per unit of error."""
    problem = pr.Problem(
        pr.World([1.0], [[4.0]], 0.1), pr.Learner([0.0], pr.Geometric(1.1)), risk=pr.Huber(0.5)
    )
    regular = regular_loss(problem)
    assert_allclose(regular.everywhere, 0.5 * 2.0 * math.sqrt(2 / math.pi))
    losses = problem.oracle.loss_of(np.array([[1e3], [2e3]]), (0,))
    assert_allclose((losses[1] - losses[0]) / 1e3, regular.everywhere, rtol=1e-4)


def test_the_papers_lemma_is_the_weaker_constant_for_squared_error():
    for seed in range(20):
        problem = drawn(seed, risk=pr.SquaredError())
        certificate = exploration_certificate(problem, pr.Alternating([(0,), (1,)]))
        assert certificate.lipschitz <= certificate.lipschitz_paper
        assert math.isfinite(certificate.lipschitz_paper)


def test_a_risk_of_ones_own_is_believed_if_nothing_speaks_against_it():
    problem = drawn(0, risk=PINBALL)
    looked_at = regular_loss(problem)
    assert not looked_at.proven
    assert not looked_at.holds_everywhere
    told = regular_loss(problem, slope=0.9)
    assert told.proven
    assert told.holds_everywhere
    with pytest.raises(pr.InvalidInput, match=r"slopes of 0\.9"):
        regular_loss(problem, slope=0.5)
    with pytest.raises(pr.InvalidInput, match="positive"):
        regular_loss(problem, slope=-1.0)
    with pytest.raises(pr.InvalidInput, match="knows its own"):
        regular_loss(drawn(0), slope=1.0)


def test_the_tighter_terms_are_for_the_papers_loss_alone():
    for name in VARIANTS:
        kind = SquaredTail if name == "squared" else Tail
        assert type(tail_of(variant(name), pr.Stationary((0,)))) is kind


@pytest.mark.parametrize("name", VARIANTS)
def test_general_terms_bound_and_never_grow(name):
    problem = variant(name)
    policy = pr.Alternating([(0,), (1,)])
    terms = exploration_terms(problem, policy, np.arange(150))
    assert np.all(terms.deviation <= terms.envelope * (1 + 1e-9) + 1e-12)
    for falling in (terms.envelope, terms.step, terms.lipschitz, terms.required_envelope):
        assert np.all(np.diff(falling) <= 1e-12 * falling[:-1])


@given(seeds, st.sampled_from(LIPSCHITZ))
def test_swapping_in_a_minimiser_pays_from_the_certified_round_on(seed, how):
    risk, slope = how
    problem = drawn(seed, risk=risk)
    policy = pr.Alternating([(0,), (1,)])
    certificate = exploration_certificate(problem, policy, slope)
    assume(certificate.round is not None and certificate.round <= 400)
    best, length = certificate.minimisers[0], certificate.round + 120
    schedule = policy.schedule(length)
    for t in range(certificate.round, certificate.round + 2):
        if schedule[t] in certificate.minimisers:
            continue
        assert certificate.improvable
        swapped = [*schedule[:t], best, *schedule[t + 1 :]]
        finite = problem.replace(horizon=length)
        gained = pr.evaluate(finite, pr.ExploreThenCommit(schedule, commit=schedule[-1]))
        gained -= pr.evaluate(finite, pr.ExploreThenCommit(swapped, commit=swapped[-1]))
        assert gained > -1e-12


@examples(10)
@given(seeds, st.sampled_from([pr.Huber(0.7), pr.AbsoluteError(), pr.SquaredError()]))
def test_exact_plans_have_stopped_exploring_by_then(seed, risk):
    """The optimum, found by planning that knows nothing of the theorem."""
    budget = pr.AtMost(2, price=[0.02, 0.05])  # within a pair there is something left to choose
    problem = drawn(seed, risk=risk, discount=0.6, budget=budget)
    plan = pr.solve(problem, "lattice", tolerance=1e-8)
    rounds = plan.policy.schedule(40)
    settled = pr.ExploreThenCommit(rounds, commit=rounds[-1])
    certificate = exploration_certificate(problem, settled)
    assert certificate.minimisers == (rounds[-1],)
    assert not certificate.improvable
    if certificate.round is not None:
        assert set(rounds[certificate.round :]) <= {rounds[-1]}
    # A policy that shows another set after the certified round is detected.
    others = [shown for shown in certificate.tail_losses if shown != rounds[-1]]
    if others and certificate.round is not None and certificate.round < 5000:
        late = [rounds[-1]] * (certificate.round + 1)
        worse = pr.ExploreThenCommit([*rounds, *late, others[0]], commit=rounds[-1])
        assert exploration_certificate(problem, worse).improvable


@pytest.mark.parametrize("name", ["Huber", "squared"])
def test_deviations_are_those_of_the_losses(name):
    problem = variant(name).replace(
        learner=pr.Learner([0.4, 1.3], pr.Branch(pr.Geometric(1.2), [1, -1]))
    )
    policy = pr.Alternating([(0,), (1,)])
    certificate = exploration_certificate(problem, policy)
    terms = exploration_terms(problem, policy, np.arange(12))
    for t in range(12):
        counts = [(t + 1) // 2, t // 2]
        away = [
            abs(oracles.round_loss(problem, counts, shown) - limit)
            for shown, limit in certificate.tail_losses.items()
        ]
        assert_allclose(terms.deviation[t], max(away), rtol=1e-7)


@pytest.mark.parametrize("signs", [[1, -1], [1, 1, -1], [1, -1, -1, 1]])
@pytest.mark.parametrize("repeats", [True, False])
def test_the_largest_step_of_a_branch(signs, repeats):
    curve = pr.Branch(pr.Geometric(1.2), signs, repeats)
    for count in range(12):
        path = curve.retention(np.arange(count, count + 400))
        bound = largest_step_after(curve)(np.array([count]))[0]
        assert_allclose(bound, np.abs(np.diff(path)).max(), rtol=1e-12)
