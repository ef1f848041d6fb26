"""A learner from a log: recovery of known people, what a log cannot tell, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.learner_estimator import fit_learner
from preceptor.model.person import Person
from preceptor.model.world import Units

from .answering import simulate, told_in, world_of

WORLD = world_of(3)
INITIAL = [-0.5, 2.0, 0.0]
CURVES = {
    "none": lambda m: 1.0,
    "geometric": lambda m: 1.08**-m,
    "power law": lambda m: (m + 1.0) ** -0.5,
    "floor": lambda m: max(1.15**-m, 0.3),
}
FEW = {"families": tuple(CURVES), "imputation": 0.35}


def doubts(fit) -> str:
    return " ".join(fit.doubts_)


def log_of(name="geometric", seed=1, **how):
    rng = np.random.default_rng(seed)
    return simulate(WORLD, initial=INITIAL, retention=CURVES[name], rng=rng, **how)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CURVES)
def test_known_people_are_recovered(name):
    log = log_of(name, seed=7, people=8, rounds=120, dial=0.35, bias=0.4)
    fit = fit_learner(WORLD, log, **FEW)
    assert max(fit.kinds_.families, key=lambda family: fit.kinds_.families[family].mean) == name
    for (mean, low, high), truth in zip(fit.initial_, INITIAL, strict=True):
        assert low - 0.1 < truth < high + 0.1
        assert abs(mean - truth) < 0.25
    assert_allclose(fit.bias_.mean, 0.4, atol=0.1)
    assert fit.kinds_.none_of_these < 0.01


def test_units_do_not_matter():
    units = Units([10.0, -3.0, 100.0], [2.0, 0.5, 7.0], outcome_mean=50.0)
    in_units = pr.World(WORLD.coefficients, WORLD.covariance, 0.1, WORLD.names, units=units)
    log = log_of()
    plain, read = (
        fit_learner(*given, **FEW) for given in ((WORLD, log), (in_units, told_in(units, log)))
    )
    assert_allclose(read.initial_, plain.initial_, rtol=1e-6)
    assert_allclose(read.bias_, plain.bias_, rtol=1e-6)


def test_a_test_never_shown_keeps_the_default():
    fit = fit_learner(
        WORLD, log_of(shows=lambda rng: np.array([0, 1])), default=[0.0, 0.0, 0.7],
        families=["none", "geometric"], imputation=1.0,
    )  # fmt: skip
    assert_allclose(fit.initial_[2].mean, 0.7, atol=1e-9)
    half = 1.96 * 0.5 * np.sqrt(WORLD.outcome_variance / WORLD.covariance[2, 2])
    assert_allclose(fit.initial_[2][1:], [0.7 - half, 0.7 + half], rtol=1e-3)
    assert "t2: never shown" in doubts(fit)


def test_tests_that_always_agree_are_not_told_apart():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 1)) * [1.0, 1.0, 0.0] + rng.normal(size=(60, 1)) * [0.0, 0.0, 1.0]
    answers = x @ [1.0, 0.0, 0.5] + 0.1 * rng.normal(size=60)
    log = Log(WORLD.labels, ["a"] * 60, range(60), np.ones((60, 3), bool), x, answers)
    fit = fit_learner(WORLD, log)
    widths = [high - low for _, low, high in fit.initial_]
    assert widths[0] > 5 * widths[2]
    assert widths[1] > 5 * widths[2]
    assert_allclose(fit.initial_[0].mean + fit.initial_[1].mean, 1.0, atol=0.1)
    assert "told in 0 rounds" in fit.refusal_


def test_nothing_hidden_says_nothing_about_imputation():
    log = log_of(shows=lambda rng: np.arange(3))
    assert "impute hidden tests is not identified" in doubts(fit_learner(WORLD, log))
    assert "impute" not in doubts(fit_learner(WORLD, log, imputation=0.5))


@pytest.mark.full
def test_noise_alone_makes_no_person():
    rng = np.random.default_rng(8)
    log = simulate(
        WORLD, initial=[0.0] * 3, retention=CURVES["none"], rng=rng, noise=5.0, rounds=30
    )
    assert fit_learner(WORLD, log).refusal_
    assert not fit_learner(WORLD, log_of()).refusal_


def test_a_bias_is_reported():
    assert "Answers are off by +" in doubts(fit_learner(WORLD, log_of(bias=2.0), **FEW))


def test_results_can_be_written_and_read_in_words():
    fit = fit_learner(WORLD, log_of(people=2), **FEW)
    data = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert Person.from_dict(data["person"]) == fit.person_
    assert data["initial"]["t0"] == list(fit.initial_[0])
    text = fit.summary()
    for words in ("200 answers of 2 participants", "none of these", "truth", "scatter by"):
        assert words in text
    assert "fitted to 200 rows" in repr(fit)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ["cubic"]}, "cubic"),
        ({"imputation": 2.0}, "imputation: 2.0, must be from 0 to 1"),
        ({"default": [1.0]}, r"default: shape \(1,\), must be one belief"),
        ({"workers": 0}, "workers: 0"),
    ],
)
def test_options_that_cannot_be_meant(options, message):
    with pytest.raises(InvalidInput, match=message):
        fit_learner(WORLD, log_of("none"), **options)


def test_logs_that_cannot_be_used():
    with pytest.raises(
        InvalidInput, match="its tests are t0, t1, t2, those of the world are t0, t1"
    ):
        fit_learner(world_of(2), log_of("none", rounds=3))


def test_a_log_of_one_round_gives_the_prior():
    fit = fit_learner(WORLD, log_of("none", rounds=1), **FEW)
    groups = next(iter(fit.people_kinds_.values())).groups
    assert_allclose([groups["none"], groups["by showings"]], 0.95 / 2, atol=0.02)
    assert fit.person_ is None
