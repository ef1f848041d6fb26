"""The theorems' grids against the closed form of the threshold and the losses of the proof."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.paper import theorems
from preceptor.paper.experiment import Scale
from preceptor.paper.instances import USUAL
from preceptor.paper.sweep import run_sweeps
from preceptor.theory.two_tests import SymmetricPair
from tests import oracles


@pytest.fixture(scope="module")
def frame():
    return run_sweeps(theorems.sweeps(Scale(quick=True)))


def test_the_planner_finds_the_threshold(frame):
    """A fixed set is optimal exactly up to ρ*, with ρ*² = (1 - δ)/(1 - δ/α²)."""
    phases = frame[frame["part"] == "phases"]
    assert len(phases) == 64
    delta = phases["discount"]
    threshold = np.sqrt((1 - delta) / (1 - delta / USUAL.alpha**2))
    assert_allclose(phases["threshold"], threshold, rtol=1e-12)
    better = phases["gain"] > 1e-7
    assert (better == (phases["rho"] > threshold)).all()
    assert better.any()
    assert not better.all()


def test_gains_are_those_of_alternating(frame):
    """Above the threshold alternating is optimal; its loss is summed here round by round."""
    phases = frame[frame["part"] == "phases"]
    chosen = phases[(phases["rho"] > phases["threshold"]) & (phases["discount"] < 0.9)]
    assert len(chosen) > 5
    for row in chosen.iloc[::3].itertuples():
        problem = SymmetricPair(row.rho, USUAL.alpha, row.discount).problem()
        rounds = math.ceil(math.log(1e-12) / math.log(row.discount))
        alternating = oracles.schedule_value(problem, [(t % 2,) for t in range(rounds)])
        keeping = oracles.schedule_value(problem, [(0,)] * rounds)
        assert_allclose(row.gain, 100 * (1 - alternating / keeping), rtol=1e-6)


def test_the_ratio_is_that_of_the_proof_and_above_its_bound(frame):
    ratios = frame[frame["part"] == "ratios"]
    assert (ratios["ratio"] >= ratios["guaranteed"] * (1 - 1e-9)).all()
    assert (ratios["guaranteed"] >= ratios["theorem"] * (1 - 1e-12)).all()
    for _, rows in ratios.groupby("rho"):
        assert rows.sort_values("ahead")["ratio"].is_monotonic_increasing


@pytest.mark.parametrize("rho", theorems.RATIO_RHO)
def test_the_ratio_against_every_sequence(rho):
    """One showing teaches everything, so after two rounds nothing can be gained by changing."""
    ahead = 5
    (row,) = theorems.ratio_task({"rho": rho, "ahead": ahead}, np.random.SeedSequence(0))
    problem = gap_by_hand(rho, 1 - 1 / ahead)
    rounds = 100
    sets = [(), (0,), (1,)]
    fixed = min(oracles.schedule_value(problem, [shown] * rounds) for shown in sets)
    best = min(
        oracles.schedule_value(problem, [first, second, *[last] * (rounds - 2)])
        for first in sets
        for second in sets
        for last in sets
    )
    assert_allclose(row["ratio"], fixed / best, rtol=1e-6)


def gap_by_hand(rho: float, discount: float) -> pr.Problem:
    """The proof's instance: test 1 matters, test 2 does not, but the person thinks it does."""
    world = pr.World([1.0, 0.0], [[1.0, rho], [rho, 1.0]], noise_variance=0.0)
    learner = pr.Learner([1.0, -1.0], pr.OneShot())
    return pr.Problem(world, learner, pr.AtMost(1), discount)


def test_a_finding_would_notice_a_wrong_planner(frame):
    """Verdicts can come out either way."""
    good = theorems.findings(frame)
    assert [finding.verdict.value for finding in good] == ["holds"] * 3
    wrong = frame.copy()
    wrong.loc[wrong["part"] == "phases", "gain"] = 1.0
    wrong.loc[wrong["part"] == "phases", "alternating"] = 1.01
    wrong.loc[wrong["part"] == "ratios", "ratio"] = 0.5
    bad = theorems.findings(wrong)
    assert [finding.verdict.value for finding in bad] == ["differs"] * 3
    assert dataclasses.is_dataclass(bad[0])
