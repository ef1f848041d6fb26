"""Folding variance: what shown tests are credited with, by regression and by simulated people."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import preceptor as pr
from preceptor.learners.folding import (
    ENOUGH,
    allowed_sets,
    cannot_tell,
    folded,
    informativeness,
    rounds_needed,
    rounds_to_show,
)
from preceptor.learners.records import simulate_answers
from preceptor.people.matched import matched_scatter
from tests.learners.crowds import crowd, log_of, rounds_with

WORLD = pr.World(
    [0.1, 1.0, 0.5],
    [[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 2.0]],
    0.3,
    names=["weak", "strong", "other"],
)


def test_credit_is_the_regression_slope_less_the_weight():
    cases = WORLD.sample(300_000, 0)
    slope = np.linalg.lstsq(cases.features[:, [0, 2]], cases.outcomes, rcond=None)[0]
    found = folded(WORLD, (0, 2))
    np.testing.assert_allclose(found.weights, slope - WORLD.coefficients[[0, 2]], atol=0.01)
    told = cases.features[:, [0, 2]] @ found.weights
    assert found.variance == pytest.approx(told.var(), rel=0.02)
    assert sum(found.shares.values()) == pytest.approx(1.0)
    assert folded(WORLD, (0, 1, 2)).variance == 0.0
    assert folded(WORLD, ()).variance == 0.0
    assert folded(WORLD, (0, 2), WORLD.coefficients).variance == 0.0


def test_it_is_how_far_apart_the_two_kinds_answer_once_learned():
    rng = np.random.default_rng(1)
    shown = np.tile([True, False, False], (1200, 1))
    rounds = rounds_with(WORLD, shown, 20, rng)
    by_showings = simulate_answers(
        WORLD, pr.Learner(np.zeros(3), pr.Geometric(1.1)), rounds
    ).answers
    by_outcomes = simulate_answers(WORLD, pr.DeltaRule(np.zeros(3), 0.005), rounds).answers
    apart = (by_outcomes - by_showings)[:, 900:]
    # Both fill hidden tests in with weights of 0, so only what was folded differs; steps of the
    # delta rule leave a little scatter of their own.
    assert np.mean(apart**2) == pytest.approx(folded(WORLD, (0,)).variance, rel=0.1)


def test_enough_rounds_are_thirteen_squared_standard_errors():
    assert rounds_needed(0.5, 2.0) == pytest.approx(ENOUGH * 8.0)
    assert rounds_needed(0.0, 1.0) == math.inf
    kept = 0.95 ** np.arange(200)
    for needed in (3.0, 8.0, 40.0):
        rounds = int(rounds_to_show(needed))
        told = [np.sum((1 - kept[:m]) ** 2) + 10 * (1 - kept[m]) ** 2 for m in (rounds - 1, rounds)]
        assert told[0] < needed <= told[1]
    assert rounds_to_show(math.inf) == math.inf


def test_the_best_set_is_found_by_trying_all():
    tells = informativeness(WORLD, {(0, 1): 50}, scatter=0.6, budget=2)
    pairs = [s for size in (1, 2) for s in combinations(range(3), size)]
    best = max(pairs, key=lambda s: folded(WORLD, s).variance)
    assert tells.best == best
    assert tells.rounds == pytest.approx(rounds_needed(folded(WORLD, best).variance, 0.6))
    assert tells.hidden == (1,)
    assert tells.so_far == pytest.approx(50 * folded(WORLD, (0, 1)).variance / 0.36)


def test_a_log_counts_its_told_rounds_person_by_person():
    rng = np.random.default_rng(2)
    told = np.arange(30) < 20
    shown = np.tile([True, False, False], (30, 1))
    people = crowd(WORLD, pr.NoLearning(np.zeros(3)), shown, 3, rng, told=told)
    from_log = informativeness(WORLD, log_of(WORLD, people), scatter=0.6)
    assert from_log.so_far == pytest.approx(informativeness(WORLD, {(0,): 20}, scatter=0.6).so_far)
    assert from_log.enough
    assert cannot_tell(WORLD, log_of(WORLD, people), scatter=0.6) == ()


def test_sentences_say_what_to_show_and_what_to_leave_out():
    first, advice = cannot_tell(WORLD, {(1, 2): 40}, scatter=0.8, budget=1)
    assert first.startswith("Whether they learn from outcomes cannot be told")
    assert advice.startswith("Show weak without strong for about ")
    assert advice.endswith("then 10 probes without telling the outcome.")
    independent = pr.World([1.0, 1.0], np.eye(2))
    assert "No allowed set would tell" in cannot_tell(independent, {(0,): 9})[1]


def test_bad_requests():
    with pytest.raises(pr.errors.InvalidInput, match="scatter: -1"):
        informativeness(WORLD, {(0,): 1}, scatter=-1)
    with pytest.raises(pr.errors.InvalidInput, match="test 7"):
        informativeness(WORLD, {(7,): 1})
    with pytest.raises(pr.errors.InvalidInput, match="only 3"):
        informativeness(WORLD, {(0,): 1}, budget=4)


def test_tests_of_several_columns_are_shown_whole():
    world = pr.World(WORLD.coefficients, WORLD.covariance, names=WORLD.names,
                     groups={"site": [1, 2]})  # fmt: skip
    assert set(allowed_sets(world, 1).subsets(3)) == {(), (0,), (1, 2)}
    assert informativeness(world, {}, budget=1).best == (0,)


def test_body_fat_can_be_told_cheaply_but_not_from_ordinary_practice():
    from preceptor.data.world_fitting import fit_source
    from tests.body_fat import load_body_fat

    world = fit_source(load_body_fat(), None).world
    scatter = 0.6 * math.sqrt(world.outcome_variance)
    ordinary = min(combinations(range(13), 3), key=lambda s: matched_scatter(world, s))
    alone = folded(world, world.columns_of(["weight"])).variance
    assert 5 < rounds_needed(alone, scatter) < 9
    assert 2000 < rounds_needed(folded(world, ordinary).variance, scatter) < 2600
