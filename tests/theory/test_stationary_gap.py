"""The worst case for fixed sets, solved exactly."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.theory.stationary_gap import stationary_gap
from tests.strategies import covariance, seeds


def optimum(problem: pr.Problem) -> float:
    """Exact endless optimum with one-shot learning: a state is which tests have been shown.

    A set that shows nothing new is shown for ever, so states are solved from all known down.
    """
    delta, size = problem.discount, problem.size
    values = {}
    for known in sorted(itertools.product((0, 1), repeat=size), key=sum, reverse=True):
        errors = problem.learner.errors(problem.world, known)[None, :]
        options = []
        for shown, loss in zip(problem.sets, problem.oracle.losses(errors)[0], strict=True):
            after = tuple(1 if i in shown else known[i] for i in range(size))
            later = loss / (1 - delta) if after == known else loss + delta * values[after]
            options.append(later)
        values[known] = min(options)
    return float(values[(0,) * size])


@given(
    seeds,
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from([0.3, 0.9, 0.99]),
    st.sampled_from([0.0, 0.1, 2.0]),
)
def test_fixed_sets_are_at_least_as_bad_as_promised(seed, size, budget, discount, noise):
    budget = min(budget, size - 1)
    sigma = covariance(np.random.default_rng(seed), size)
    gap = stationary_gap(sigma, budget, discount, noise)
    best = optimum(gap.problem)
    fixed = pr.solve(gap.problem, method="stationary").value
    two_phase = pr.evaluate(gap.problem, gap.policy)
    assert best <= two_phase * (1 + 1e-9)
    noise_alone = noise / (1 - discount)
    assert_allclose(two_phase, noise_alone + gap.scale**2 * gap.first_round_excess, rtol=1e-9)
    assert fixed / best >= gap.guaranteed_ratio * (1 - 1e-9)
    assert gap.guaranteed_ratio >= gap.theorem_ratio * (1 - 1e-12)
    later = discount / (1 - discount) * gap.scale**2 * gap.stationary_excess
    assert fixed >= (noise_alone + later) * (1 - 1e-9)


@given(seeds, st.integers(2, 4))
def test_the_least_miss_is_over_all_smaller_sets_too(seed, size):
    budget = size - 1
    gap = stationary_gap(covariance(np.random.default_rng(seed), size), budget, 0.9)
    problem, known = gap.problem, np.zeros((1, size))
    others = [
        float(problem.oracle.loss_of(known, shown)[0])
        for shown in problem.sets
        if shown != gap.kept
    ]
    wrong = np.zeros((1, size))
    wrong[0, gap.taught] = 1.0
    spoiled = float(problem.oracle.loss_of(wrong, gap.kept)[0])
    assert_allclose(gap.stationary_excess, min(spoiled, *others), rtol=1e-8)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_ratio_grows_without_bound(noise):
    sigma = [[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 2.0]]
    ratios, constants = [], set()
    for discount in (0.9, 0.99, 0.999, 0.9999):
        gap = stationary_gap(sigma, 2, discount, noise)
        fixed = pr.solve(gap.problem, method="stationary").value
        ratios.append(fixed / optimum(gap.problem))
        constants.add(round(gap.constant, 12))
        assert ratios[-1] >= gap.theorem_ratio
    assert len(constants) == 1
    assert all(later > 5 * earlier for earlier, later in itertools.pairwise(ratios[1:]))


def test_with_noise_the_coefficients_have_to_grow():
    # The same construction with coefficients that do not depend on the discount is bounded.
    problem = stationary_gap([[1.0, 0.5], [0.5, 1.0]], 1, discount=0.9, noise_variance=0.5).problem
    bound = 1 + (0.5 / 0.1) * 0.25 / 0.5  # 1 + β²q/σ²
    for discount in (0.99, 0.9999, 0.999999):
        patient = problem.replace(discount=discount)
        ratio = pr.solve(patient, method="stationary").value / optimum(patient)
        assert ratio < bound
    assert_allclose(ratio, bound, rtol=1e-4)


def test_the_choice_of_tests_is_free():
    sigma = [[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 2.0]]
    gap = stationary_gap(sigma, 1, 0.99, taught=2, kept=(1,))
    assert (gap.taught, gap.kept) == (2, (1,))
    assert gap.policy.schedule(3) == [(2,), (1,), (1,)]
    with pytest.raises(pr.InvalidInput, match="correlated with taught"):
        stationary_gap(sigma, 1, 0.99, taught=2, kept=(0,))
    with pytest.raises(pr.InvalidInput, match="other than taught"):
        stationary_gap(sigma, 2, 0.99, taught=2, kept=(1, 2))


def test_uncorrelated_tests_are_refused():
    with pytest.raises(pr.NotApplicable, match="uncorrelated"):
        stationary_gap(np.diag([1.0, 2.0]), 1, 0.9)


def test_impossible_numbers_are_refused():
    with pytest.raises(pr.InvalidInput, match="budget"):
        stationary_gap([[1.0, 0.5], [0.5, 1.0]], 2, 0.9)
    with pytest.raises(pr.InvalidInput, match="discount"):
        stationary_gap([[1.0, 0.5], [0.5, 1.0]], 1, 1.0)
    with pytest.raises(pr.InvalidProblem, match="covariance"):
        stationary_gap([[1.0, 2.0], [2.0, 1.0]], 1, 0.9)
