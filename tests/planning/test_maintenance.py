"""What to repeat for people who forget: mixes against playing them, words against all words."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.people.exposures import Exposures
from preceptor.planning.maintenance import _Program, best_mixes, maintenance_words, regular_word


def person(seed, forgetting, curve=None, budget=None):
    """Five correlated tests of which two may be shown; truth and beliefs drawn."""
    rng = np.random.default_rng(seed)
    truth, beliefs = rng.random(5), rng.random(5)
    world = pr.World.equicorrelated(truth, 0.8)
    learner = pr.Learner(beliefs, curve or pr.Geometric(1.05))
    sets = (budget or pr.AtMost(2)).sets(5)
    return Exposures(learner, world, sets, forgetting=forgetting)


def late_loss(expected, word):
    """Mean loss of a round after the word has been repeated for 2,000 rounds."""
    repeats = 2_000 // len(word) + 1
    return expected.losses(word * (repeats + 1))[-len(word) :].mean()


@pytest.mark.parametrize("forgetting", [0.02, 0.05])
@pytest.mark.parametrize("seed", range(6))
def test_the_mix_predicts_what_the_word_costs_in_the_end(seed, forgetting):
    expected = person(seed, forgetting)
    mix = best_mixes(expected)[0]
    words = maintenance_words(expected, 0.99)
    late = late_loss(expected, words[0])
    assert_allclose(mix.shares.sum(), 1.0)
    assert_allclose(mix.loss, late, rtol=0.03)
    fixed = [late_loss(expected, (s,)) for s in range(len(expected.sets))]
    assert late <= min(fixed) * (1 + 1e-9)


def test_words_are_sorted_by_what_they_cost_in_the_end():
    expected = person(0, 0.05)
    words = maintenance_words(expected, 0.99, longest=7, words=9)
    late = [late_loss(expected, word) for word in words]
    assert len(set(words)) == len(words) == 9
    assert max(len(word) for word in words) <= 7
    assert_allclose(late, sorted(late), rtol=1e-9)


def test_no_short_word_is_better():
    expected = person(2, 0.05)
    best = late_loss(expected, maintenance_words(expected, 0.99)[0])
    used = set(best_mixes(expected)[0].positions) | {9, 11, 13}
    for word in itertools.product(sorted(used), repeat=4):
        assert expected.orbit_losses(word).mean() >= best * (1 - 1e-3)


@pytest.mark.parametrize(
    "curve", [pr.Geometric(1.05), pr.PowerLaw(1.0), pr.Tabulated(1.1 ** -np.arange(60.0))]
)
def test_slopes_of_the_program_are_differences(curve):
    program = _Program(person(3, 0.05, curve))
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(program.count))
    _, slopes = program.loss(shares)
    for s in range(0, program.count, 3):
        bump = np.zeros(program.count)
        bump[s] = 1e-6
        up, down = program.loss(shares + bump)[0], program.loss(shares - bump)[0]
        assert_allclose(slopes[s], (up - down) / 2e-6, rtol=1e-4, atol=1e-6)


def test_a_mix_is_no_worse_than_mixes_drawn_at_random():
    expected = person(3, 0.02)
    program, rng = _Program(expected), np.random.default_rng(1)
    best = best_mixes(expected)[0].loss
    for _ in range(200):
        shares = rng.dirichlet(np.full(program.count, 0.2))
        assert program.loss(shares)[0] >= best * (1 - 1e-9)


def test_a_test_that_is_always_shown_is_known():
    only = person(0, 0.05, budget=pr.Listed([(0, 1)]))
    mix = best_mixes(only)[0]
    assert mix.positions == (0,)
    errors = only.errors_at(np.array([np.inf, np.inf, 0.0, 0.0, 0.0]))
    assert np.all(errors[:2] == 0.0)
    assert_allclose(mix.loss, only.orbit_losses((0,))[0])
    assert maintenance_words(only, 0.9) == [(0,)]


@pytest.mark.parametrize("counts", [(1,), (2, 1), (5, 3, 4), (1, 1, 1)])
def test_regular_words_never_fall_far_behind(counts):
    word = regular_word(list(range(len(counts))), counts)
    assert tuple(word.count(j) for j in range(len(counts))) == counts
    for t in range(1, len(word) + 1):
        for j, count in enumerate(counts):
            assert abs(word[:t].count(j) - t * count / len(word)) < 1.0
