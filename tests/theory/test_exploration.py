"""The certificate of the eventually-stationary theorem along plans."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.theory.exploration import (
    exploration_certificate,
    exploration_terms,
    largest_step_after,
)
from tests import oracles
from tests.strategies import covariance, curves, seeds

BUDGETS = [pr.AtMost(1), pr.Exactly(1)]


def drawn(seed: int, budget, correlation: float = 0.8, curve=None, discount=0.95) -> pr.Problem:
    """The paper's instances: coefficients and beliefs uniform on [0, 1]."""
    rng = np.random.default_rng(seed)
    world = pr.World.equicorrelated(rng.uniform(size=2), correlation)
    learner = pr.Learner(rng.uniform(size=2), curve or pr.Geometric(1.05))
    return pr.Problem(world, learner, budget, discount=discount)


def random_case(seed: int) -> tuple[pr.Problem, pr.Policy]:
    """Any covariance, curves, prices and start; any policy that commits or goes round."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    world = pr.World(rng.standard_normal(size), covariance(rng, size), 0.1)
    kinds = [
        pr.Geometric(1.2),
        pr.Geometric(1.3, floor=0.1),
        pr.PowerLaw(1.5),
        pr.OneShot(),
        pr.Tabulated([1.0, 0.9, 0.4, 0.4, 0.1]),
    ]
    drawn_kinds = [kinds[i] for i in rng.integers(0, len(kinds), size)]
    learner = pr.Learner(rng.standard_normal(size), drawn_kinds)
    budget = (pr.AtMost, pr.Exactly)[rng.integers(2)](int(rng.integers(1, size)), price=0.01)
    start = tuple(rng.integers(0, 3, size).tolist())
    problem = pr.Problem(world, learner, budget, discount=0.8, start=start)
    sets = [problem.sets[int(i)] for i in rng.integers(0, len(problem.sets), 8)]
    if rng.integers(2):
        return problem, pr.Alternating(sets[:3], start=start)
    return problem, pr.ExploreThenCommit(sets[1:], commit=sets[0], start=start)


def state_before(problem: pr.Problem, policy: pr.Policy, rounds: int) -> list[int]:
    counts = list(problem.start_counts)
    for shown in policy.schedule(rounds):
        for i in shown:
            counts[i] += 1
    return counts


@pytest.mark.parametrize("budget", BUDGETS, ids=["at-most", "exactly"])
@pytest.mark.parametrize("correlation", [0.3, 0.8, 0.99])
@pytest.mark.parametrize("seed", range(4))
def test_optimal_plans_have_stopped_exploring_by_then(seed, correlation, budget):
    problem = drawn(seed, budget, correlation)
    plan = pr.solve(problem, method="truncated")
    certificate = exploration_certificate(problem, plan.policy)
    assert certificate.round is not None
    assert certificate.round_paper is not None
    assert plan.exploration_length <= certificate.round <= certificate.round_paper
    assert certificate.minimisers == (plan.policy.commit,)
    assert not certificate.improvable
    assert certificate.lipschitz <= certificate.lipschitz_paper
    assert certificate.recurrent == plan.policy.commit


@given(seeds)
def test_terms_are_those_of_the_proof(seed):
    problem, policy = random_case(seed)
    certificate = exploration_certificate(problem, policy)
    times = certificate.settled + np.arange(0, 30, 4)
    terms = exploration_terms(problem, policy, times)
    k = max(len(shown) for shown in problem.sets)
    weight = 2 * k * problem.discount / (1 - problem.discount)
    for position, t in enumerate(times):
        counts = state_before(problem, policy, int(t))
        now = {s: oracles.round_loss(problem, counts, s) for s in certificate.tail_losses}
        away = max(abs(now[s] - tail) for s, tail in certificate.tail_losses.items())
        assert_allclose(terms.deviation[position], away, rtol=1e-7, atol=1e-10)
        steps = [0.0]
        for i in certificate.recurrent:
            later = [list(counts) for _ in range(200)]
            for q, state in enumerate(later):
                state[i] += q
            path = np.array([oracles.beliefs_at(problem, state)[i] for state in later])
            steps.append(float(np.abs(np.diff(path)).max()))
        assert_allclose(terms.step[position], max(steps), rtol=1e-9, atol=1e-14)
    assert_allclose(terms.required, 2 * terms.deviation + weight * terms.lipschitz * terms.step)
    paper = 2 * terms.deviation + weight * certificate.lipschitz_paper * terms.step
    assert_allclose(terms.required_paper, paper)


@given(seeds)
def test_the_envelope_bounds_and_never_grows(seed):
    problem, policy = random_case(seed)
    settled = exploration_certificate(problem, policy).settled
    terms = exploration_terms(problem, policy, settled + np.arange(200))
    assert np.all(terms.deviation <= terms.envelope * (1 + 1e-12) + 1e-15)
    for falling in (terms.envelope, terms.step, terms.lipschitz, terms.required_envelope):
        assert np.all(np.diff(falling) <= 1e-12 * falling[:-1])


@given(seeds)
def test_from_the_certified_round_on_the_inequality_holds(seed):
    problem, policy = random_case(seed)
    certificate = exploration_certificate(problem, policy)
    if certificate.margin is None:
        assert certificate.round == certificate.round_paper == certificate.settled
        return
    for found, name in ((certificate.round, ""), (certificate.round_paper, "_paper")):
        if found is None:
            continue
        late = found + np.unique(np.geomspace(1, 1e9, 300).astype(np.int64)) - 1
        terms = exploration_terms(problem, policy, late)
        assert np.all(getattr(terms, "required" + name) < certificate.margin)
        if found > certificate.settled:  # and it is the first such round
            before = exploration_terms(problem, policy, [found - 1])
            assert getattr(before, "required" + name)[0] >= certificate.margin


@given(seeds)
def test_both_lipschitz_constants_bound_what_one_showing_more_changes(seed):
    problem, policy = random_case(seed)
    certificate = exploration_certificate(problem, policy)
    rng = np.random.default_rng(seed)
    t = certificate.settled + int(rng.integers(0, 5))
    bound = exploration_terms(problem, policy, [t]).lipschitz[0]
    counts = np.array(state_before(problem, policy, t))
    for _ in range(10):
        one, other = counts.copy(), counts.copy()
        for i in certificate.recurrent:
            one[i] += rng.integers(0, 6)
            other[i] += rng.integers(0, 6)
        between = np.abs(oracles.beliefs_at(problem, one) - oracles.beliefs_at(problem, other))
        for shown in certificate.tail_losses:
            change = abs(
                oracles.round_loss(problem, one, shown) - oracles.round_loss(problem, other, shown)
            )
            assert change <= bound * between.sum() * (1 + 1e-9) + 1e-12
            assert change <= certificate.lipschitz_paper * between.sum() * (1 + 1e-9) + 1e-12


@given(seeds)
def test_swapping_in_a_minimiser_pays_from_the_certified_round_on(seed):
    """The proof's exchange itself: it is what makes a late odd set impossible."""
    problem, policy = random_case(seed)
    certificate = exploration_certificate(problem, policy)
    assume(certificate.round is not None and certificate.round <= 2000)
    best = certificate.minimisers[0]
    length = certificate.round + 150  # 0.8^150 = 3e-15
    schedule = policy.schedule(length)
    for t in range(certificate.round, certificate.round + 3):
        if schedule[t] in certificate.minimisers:
            continue
        assert certificate.improvable
        swapped = [*schedule[:t], best, *schedule[t + 1 :]]
        finite = problem.replace(horizon=length)
        gained = pr.evaluate(finite, pr.ExploreThenCommit(schedule, commit=schedule[-1]))
        gained -= pr.evaluate(finite, pr.ExploreThenCommit(swapped, commit=swapped[-1]))
        assert gained > -1e-12


def test_a_policy_that_ends_badly_is_found_out():
    problem = drawn(0, pr.AtMost(1))
    certificate = exploration_certificate(problem, pr.Alternating([(0,), (1,)]))
    assert len(certificate.minimisers) == 1
    assert certificate.round is not None
    assert certificate.improvable


def test_the_symmetric_pair_may_alternate_for_ever():
    world = pr.World.equicorrelated([1.0, 1.0], 0.9)
    problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), pr.Exactly(1))
    certificate = exploration_certificate(problem, pr.Alternating([(0,), (1,)]))
    assert certificate.margin is None
    assert certificate.round == certificate.settled == 0
    assert set(certificate.minimisers) == {(0,), (1,)}
    assert not certificate.improvable


def test_showing_nothing_for_ever_recurs_nothing():
    certificate = exploration_certificate(drawn(0, pr.AtMost(1)), pr.Stationary(()))
    assert certificate.recurrent == ()
    assert certificate.tail_losses.keys() == {()}
    assert certificate.round == 0
    assert certificate.frozen == {0: 0, 1: 0}


def test_if_all_tests_recur_correlation_and_the_margin_set_the_round():
    # Two tests, one a round: the tail losses differ by (1-ρ²)|a_1² - a_2²|.
    rounds = []
    for correlation in (0.0, 0.5, 0.9, 0.99):
        problem = drawn(1, pr.Exactly(1), correlation)
        certificate = exploration_certificate(problem, pr.Alternating([(0,), (1,)]))
        first, second = problem.world.coefficients
        expected = (1 - correlation**2) * abs(first**2 - second**2)
        assert_allclose(certificate.margin, expected, rtol=1e-9)
        rounds.append(certificate.round)
    assert rounds == sorted(rounds)
    assert rounds[-1] > rounds[0]


def test_slow_learning_is_certified_far_out_or_not_at_all():
    around = pr.Alternating([(0,), (1,)])
    slow = drawn(1, pr.AtMost(1), 0.99, pr.PowerLaw(0.3), discount=0.99)
    certificate = exploration_certificate(slow, around)
    assert certificate.round is not None
    assert certificate.round > 10_000
    hardly = drawn(1, pr.AtMost(1), 0.99, pr.PowerLaw(0.01), discount=0.99)
    certificate = exploration_certificate(hardly, around)
    assert certificate.round is None
    assert not certificate.improvable


@given(curves, st.integers(0, 50))
def test_the_largest_step_to_come(curve, count):
    path = curve.retention(np.arange(count, count + 5000))
    bound = largest_step_after(curve)(np.array([count]))[0]
    assert_allclose(bound, (path[:-1] - path[1:]).max(), rtol=1e-9, atol=1e-15)
    assert bound >= (path[:-1] - path[1:]).max()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"learner": pr.DeltaRule([0.1, 0.2], 0.1)}, "by showings"),
        ({"horizon": 100}, "endless"),
    ],
)
def test_what_the_theorem_is_not_about_is_refused(change, why):
    problem = drawn(0, pr.AtMost(1)).replace(**change)
    with pytest.raises(pr.NotApplicable, match=why):
        exploration_certificate(problem, pr.Stationary((0,)))


def test_rounds_before_the_policy_has_settled_are_refused():
    policy = pr.ExploreThenCommit([(1,)] * 3, commit=(0,))
    with pytest.raises(pr.NotApplicable, match="from 3 on"):
        exploration_terms(drawn(0, pr.AtMost(1)), policy, [2])
