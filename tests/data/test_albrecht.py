"""Human data that nobody here made: Albrecht and others (2019), experiment 1.

People learn to predict a number from three cues with feedback. All cues are shown in each round,
six training items repeat, and the outcome is a product of the cues: hard for a linear learner.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.log import Log
from preceptor.learners.learner_estimator import fit_learner
from preceptor.model.world import Units

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


def test_people_learn_and_every_family_says_so(fit):
    evidence = fit.kinds_.log_evidence
    assert min(evidence[name] for name in evidence if name != "none") > evidence["none"] + 100
    ahead = fit.kinds_.held_out
    assert min(ahead[name] for name in ahead if name != "none") > ahead["none"]


def test_learning_by_showings_describes_most_of_them(fit):
    assert fit.kinds_.groups["by showings"].low > 0.5
    assert not fit.refusal_


def test_what_these_data_cannot_tell_is_said(fit):
    assert "impute hidden tests is not identified: none was ever hidden" in " ".join(fit.doubts_)
