"""Logs that no learner is made of: other units, another outcome, curves that predict nothing."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.log import Log
from preceptor.data.world_fitting import fit_world
from preceptor.learners.learner_estimator import fit_learner
from preceptor.learners.learner_report import log_refusals

NAMES = ["abdomen", "weight", "age"]


@functools.cache
def estimate():
    """Two hundred cases in centimetres, kilograms and years; one test says little."""
    drawn = pr.World.equicorrelated([5.0, 2.0, 0.5], 0.4, 4.0).sample(200, rng=1)
    values = drawn.features * [10.0, 12.0, 10.0] + [92.0, 81.0, 45.0]
    table: dict[str, Any] = dict(zip(NAMES, values.T, strict=True))
    return fit_world(table | {"fat": drawn.outcomes + 19.0}, "fat")


@functools.cache
def a_log(rounds: int = 60) -> Log:
    """Somebody who learns, two tests a round, cases like those of the table."""
    world = estimate().world
    problem = pr.Problem(world, pr.Learner([0.0] * 3, pr.Geometric(1.1)), 2, horizon=rounds)
    from preceptor.simulation.rollouts import rollout

    human = problem.learner.acting(world, response_noise=0.5)
    return rollout(problem, pr.Stationary((0, 1)), rounds, people=1, rng=3, human=human).log


def changed(**fields) -> Log:
    log = a_log()
    given = {f.name: getattr(log, f.name) for f in dataclasses.fields(Log)} | fields
    return Log(**given)


def scaled(test: int, factor: float) -> Log:
    values = a_log().values.copy()
    values[:, test] *= factor
    return changed(values=values)


def test_a_log_about_the_table_is_taken():
    assert log_refusals(estimate(), a_log()) == []
    fitted = fit_learner(estimate(), a_log())
    assert fitted.refusal_ == ""
    assert fitted.participants_ == a_log().participants


@pytest.mark.parametrize(
    ("test", "factor"), [(0, 1 / 2.54), (1, 1 / 0.4536), (0, 10.0), (0, 0.01), (1, 1000.0)]
)
def test_values_in_another_unit_are_refused(test, factor):
    [refusal] = log_refusals(estimate(), scaled(test, factor))
    assert refusal.startswith(f"{NAMES[test]}: ")
    assert "outside the table's range of" in refusal
    with pytest.raises(pr.InvalidInput, match=f"log: {NAMES[test]}: .*use the units of the table"):
        fit_learner(estimate(), scaled(test, factor))


def test_one_value_far_outside_is_named():
    values = a_log().values.copy()
    values[7, 0] = 920.0
    [refusal] = log_refusals(estimate(), changed(values=values))
    table = estimate().design.values[:, 0]
    assert "1 of 60 values lie outside the table's range of" in refusal
    away = 920.0 - table.max()
    where = f"{a_log().participants[0]}, round {a_log().rounds[7]}"
    assert f"the farthest 920 by {away:.3g} ({where})" in refusal
    assert "correct or leave out these rows" in refusal


def test_a_value_just_outside_is_no_reason():
    values = a_log().values.copy()
    values[7, 0] = estimate().design.values[:, 0].max() + 5.0
    assert log_refusals(estimate(), changed(values=values)) == []


def test_a_column_of_two_values_takes_no_third():
    rng = np.random.default_rng(0)
    sex, y = rng.integers(0, 2, 80), rng.normal(size=80)
    coded = fit_world({"sex": sex, "age": rng.normal(size=80), "y": y + sex}, "y")
    shown, values = np.array([[True, False]] * 3), np.array([[1.0, np.nan]] * 3)
    values[2, 0] = 2.0
    log = Log(coded.world.labels, ["ann"] * 3, [1, 2, 3], shown, values, [0.1, 0.2, 0.3])
    [refusal] = log_refusals(coded, log)
    assert refusal.startswith("sex: 2 in ann, round 3, but the table has only 0 and 1")


def coded_log(coded, first, chf):
    """One person who was shown the column chf only."""
    rows = len(chf)
    values = np.full((rows, len(coded.world.labels)), np.nan)
    values[:, 0] = chf
    shown = ~np.isnan(values)
    return Log(coded.world.labels, ["ann"] * rows, range(1, rows + 1), shown, values, first)


def test_drawn_numbers_of_two_values_are_taken_and_other_codings_are_not():
    rng = np.random.default_rng(0)
    chf, few = rng.integers(0, 2, 80), rng.integers(0, 3, 80)
    outcome = chf + few + rng.normal(size=80) > 1.5
    coded = fit_world({"chf": chf, "few": few, "y": outcome.astype(int)}, "y")
    answers = rng.normal(size=60)
    drawn = coded_log(coded, answers, rng.normal(0.5, 0.5, 60))
    assert log_refusals(coded, drawn) == []
    # Rounded to a digit or two they are still drawn.
    assert log_refusals(coded, coded_log(coded, answers, np.round(drawn.values[:, 0], 2))) == []
    for other in (rng.integers(1, 3, 60), rng.choice([-0.5, 0.5], 60), np.r_[chf[:59], 25]):
        [refusal] = log_refusals(coded, coded_log(coded, answers, other.astype(float)))
        assert "but the table has only 0 and 1" in refusal
    far = drawn.values[:, 0].copy()
    far[7] = 25.5
    [refusal] = log_refusals(coded, coded_log(coded, answers, far))
    assert "the farthest 25.5" in refusal


@pytest.mark.parametrize("as_number", [True, False])
def test_all_that_a_world_draws_is_taken(as_number):
    """Three whole numbers, yes or no, a rare one, and an outcome of two values."""
    from preceptor.simulation.rollouts import rollout

    rng = np.random.default_rng(1)
    table = {
        "few": rng.integers(0, 3, 200),
        "even": rng.integers(0, 2, 200),
        "rare": rng.random(200) < 0.03,
        "grade": rng.choice(["I", "II", "III"], 200),
    }
    table["y"] = (table["few"] + table["even"] + rng.normal(size=200) > 1.5).astype(int)
    coded = fit_world(table, "y", as_number=as_number)
    world = coded.world
    person = pr.Learner([0.0] * world.size, pr.Geometric(1.1))
    problem = pr.Problem(world, person, len(world.tests), horizon=200)
    everything = pr.Stationary(tuple(range(world.size)))
    log = rollout(problem, everything, 200, people=200, rng=3).log
    assert log_refusals(coded, log) == []
    # Of so few numbers even the middle may be beyond the ends.
    assert all(log_refusals(coded, log.tail(rows)) == [] for rows in range(5, 80))
    below = [log.tail(rows).values[:, 2] for rows in range(5, 80)]
    assert any(np.median(values) < 0.0 for values in below)


def test_an_outcome_of_another_scale_or_range_is_refused():
    [small] = log_refusals(estimate(), changed(outcome=a_log().outcome / 100.0))
    assert small.startswith("outcome, fat: ")
    [far] = log_refusals(estimate(), changed(outcome=a_log().outcome + 1000.0))
    assert "outside the table's range" in far


@pytest.mark.parametrize("how", ["shuffled", "negated"])
def test_an_outcome_that_is_another_column_is_refused(how):
    outcome = a_log().outcome
    mean = outcome.mean()
    other = (
        np.random.default_rng(0).permutation(outcome) if how == "shuffled" else 2 * mean - outcome
    )
    [refusal] = log_refusals(estimate(), changed(outcome=other))
    assert "outcome, fat: the outcomes in the log do not look like it. Over 60 rounds" in refusal
    assert "from another column" in refusal


def test_few_rounds_say_nothing_about_the_outcome():
    short = a_log(60).head(15)
    given = {f.name: getattr(short, f.name) for f in dataclasses.fields(Log)}
    reversed_ = Log(**given | {"outcome": short.outcome[::-1]})
    assert log_refusals(estimate(), reversed_) == []


def test_too_few_told_rounds_make_no_learner():
    fitted = fit_learner(estimate().world, a_log().head(5))
    assert "told in 5 rounds" in fitted.refusal_


def test_kinds_that_are_worse_than_the_average_answer_make_no_learner():
    """Answers that have nothing to do with the tests, and change in the last quarter."""
    rng = np.random.default_rng(5)
    answers = 19.0 + rng.normal(size=60)
    answers[:45] += a_log().values[:45, 0] - 92.0
    answers[45:] -= a_log().values[45:, 0] - 92.0
    fitted = fit_learner(estimate().world, changed(prediction=answers))
    assert fitted.person_ is None
    assert fitted.people_ == {}
    assert "by a constant" in fitted.refusal_ or "a constant describes" in fitted.refusal_
