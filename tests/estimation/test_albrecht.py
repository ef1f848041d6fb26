"""Human data that nobody here made: Albrecht and others (2019), experiment 1.

People learn to predict a number from three cues with feedback. All cues are shown in each round,
six training items repeat, and the outcome is a product of the cues: hard for a linear learner.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.estimation import fit_learner
from preceptor.logs import Log
from preceptor.model.units import Units

FILE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "albrecht2019.csv"
CUES = ["f1", "f2", "f3"]

pytestmark = pytest.mark.skipif(
    not FILE.is_file(),
    reason="needs albrecht2019.csv in shared/data beside this checkout; it is not ours to ship",
)


@pytest.fixture(scope="module")
def rows():
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(FILE)
    table["round"] = table.groupby("participant").cumcount()
    table["told"] = table["outcome"].where(table["phase"] == "training")
    return table


@pytest.fixture(scope="module")
def world(rows):
    """The best weighted sum for the six training items; what it misses is noise to a learner."""
    items = rows[rows["phase"] == "training"][[*CUES, "outcome"]].drop_duplicates()
    assert len(items) == 6
    cues, outcome = items[CUES].to_numpy(float), items["outcome"].to_numpy(float)
    units = Units(cues.mean(axis=0), cues.std(axis=0), "points", float(outcome.mean()))
    x, y = units.standardise(cues), units.centre(outcome)
    coefficients = np.linalg.lstsq(x, y, rcond=None)[0]
    left = float(np.mean((y - x @ coefficients) ** 2))
    return pr.World(coefficients, x.T @ x / 6, left, names=CUES, units=units)


@pytest.fixture(scope="module")
def log(rows, world):
    training = rows[rows["phase"] == "training"]
    return Log.from_frame(training, world, columns={"outcome": "told"})


@pytest.fixture(scope="module")
def fit(world, log):
    return fit_learner(world, log)


def test_the_world_is_well_conditioned_and_additive_only_in_part(world):
    assert np.linalg.cond(world.covariance) < 20
    explained = 1 - world.noise_variance / world.outcome_variance
    assert 0.9 < explained < 0.97


def test_people_learn_and_every_curve_says_so(fit):
    scores = {score.family: score for score in fit.comparison_}
    for name in ("geometric", "power-law", "geometric-floor", "power-law-floor"):
        assert scores[name].aic < scores["none"].aic - 100
        assert scores[name].held_out < scores["none"].held_out
    low, _ = fit.intervals_["rate"]
    assert low > 0.0
    assert not any("cannot be told from none" in doubt for doubt in fit.doubts_)


def test_both_criteria_choose_the_geometric_curve_with_a_floor(fit):
    assert fit.family_ == "geometric-floor"
    assert min(fit.comparison_, key=lambda score: score.held_out).family == "geometric-floor"
    low, high = fit.intervals_["floor"]
    assert 0.0 < low < high < 0.3


def test_it_beats_the_average_answer_and_the_default(fit):
    chosen = min(fit.comparison_, key=lambda score: score.aic)
    assert chosen.held_out < 0.7 * min(fit.baselines_.values())


def test_what_these_data_cannot_tell_is_said(fit):
    said = " ".join(fit.doubts_)
    assert "fill in hidden tests cannot be told: nothing was ever hidden" in said
    assert "not just a weighted sum" in said


def test_without_learning_it_is_what_scikit_learn_gives(world, log):
    linear_model = pytest.importorskip("sklearn.linear_model")
    fit = fit_learner(world, log, families="none")
    theirs = linear_model.LinearRegression().fit(log.values, log.prediction)
    assert_allclose(fit.predict(log), theirs.predict(log.values), rtol=1e-9)


def test_new_items_are_predicted_worse_than_old_ones_but_better_than_by_the_average(
    fit, rows, world, log
):
    """The test phase has items nobody trained on, and an outcome that is a product of cues."""
    both = Log.from_frame(rows, world, columns={"outcome": "told"})
    new = ~both.told
    off = both.prediction - fit.predict(both)
    average = both.prediction[new] - log.prediction.mean()
    assert np.mean(off[~new] ** 2) < np.mean(off[new] ** 2) < np.mean(average**2)
