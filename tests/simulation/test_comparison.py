"""Tables of policies and humans hold what single rollouts hold, paired person by person."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor._base.numerics import discounted_sum
from preceptor.model.evaluation import losses_along
from preceptor.simulation.choosing import RandomOrder
from preceptor.simulation.comparison import compare
from preceptor.simulation.named import humans_of, people_of
from preceptor.simulation.rollouts import rollout

WORLD = pr.World.equicorrelated([1.0, 0.8], 0.8)
PROBLEM = pr.Problem(WORLD, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)
POLICIES = {"plan": pr.solve(PROBLEM), "random order": RandomOrder.of(PROBLEM)}


def two_humans():
    everyone = humans_of(PROBLEM)
    return {name: everyone[name] for name in ("paper", "Bayesian")}


def test_cells_are_rollouts_and_differences_are_paired():
    table = compare(PROBLEM, POLICIES, two_humans(), 40, 50, rng=3)
    assert table.policies == ("plan", "random order", "best fixed set")
    fixed = pr.solve(PROBLEM, "stationary").policy
    for j, human in enumerate(two_humans().values()):
        plan = rollout(PROBLEM, POLICIES["plan"], 40, 50, 3, human)
        base = rollout(PROBLEM, fixed, 40, 50, 3, human)
        difference = plan.totals - base.totals
        assert table.mean[0, j] == pytest.approx(plan.total)
        assert table.standard_error[0, j] == pytest.approx(plan.total_error)
        assert table.difference[0, j] == pytest.approx(difference.mean())
        error = difference.std(ddof=1) / np.sqrt(50)
        assert table.difference_error[0, j] == pytest.approx(error)
    assert_allclose(table.difference[2], 0.0)


def test_what_the_plan_saves_is_what_the_exact_values_say():
    table = compare(PROBLEM, POLICIES, {"paper": PROBLEM.learner}, 60, 2000, rng=1)
    fixed = pr.solve(PROBLEM, "stationary").policy
    plan = POLICIES["plan"].policy
    exact = [discounted_sum(losses_along(PROBLEM, p.schedule(60)), 0.99) for p in (plan, fixed)]
    z = (table.difference[0, 0] - (exact[0] - exact[1])) / table.difference_error[0, 0]
    assert abs(z) < 3.5
    unpaired = np.hypot(table.standard_error[0, 0], table.standard_error[2, 0])
    assert table.difference_error[0, 0] < unpaired  # the same cases for both


def test_rows_frame_and_text_say_the_same():
    table = compare(PROBLEM, POLICIES, two_humans(), 30, 20, rng=3)
    frame = table.to_frame()
    assert list(frame.columns) == [
        "policy", "human", "loss", "standard_error", "difference", "difference_error", "change",
            "alone", "alone_error",
    ]  # fmt: skip
    assert len(frame) == 6
    cell = frame[(frame.policy == "random order") & (frame.human == "Bayesian")].iloc[0]
    assert cell.loss == table.mean[1, 1]
    assert cell.change == pytest.approx(table.difference[1, 1] / table.mean[2, 1])
    text = str(table)
    assert "first 30 rounds (26.0% of the total discounted weight), 20 people per cell" in text
    lines = text.splitlines()
    assert lines[2].split("  ")[0] == "human"
    assert [line.split("  ")[0] for line in lines[3:5]] == ["paper", "Bayesian"]
    assert "Difference from 'best fixed set'" in text
    printed = [[float(part) for part in re.findall(r"[\d.]+", line)] for line in lines[3:5]]
    pairs = np.stack([table.mean.T, table.standard_error.T], axis=2).reshape(2, -1)
    assert_allclose(printed, pairs, rtol=0.1)


def test_everybody_plays_unless_told():
    seen = []
    table = compare(
        PROBLEM, {}, None, 3, 2, rng=0, progress=lambda update: seen.append(update.done)
    )
    assert table.humans == tuple(humans_of(PROBLEM))
    assert table.policies == ("best fixed set",)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert "Difference" not in str(table)


def test_people_play_like_those_who_act_for_them():
    names = list(people_of(PROBLEM))
    acting = {name: humans_of(PROBLEM)[name] for name in names}
    tables = [compare(PROBLEM, {}, cast, 20, 3, rng=2) for cast in (people_of(PROBLEM), acting)]
    assert_allclose(tables[0].totals, tables[1].totals, rtol=0)


def test_against_any_policy():
    table = compare(PROBLEM, POLICIES, two_humans(), 10, 1, rng=0, against="random order")
    assert table.policies == ("plan", "random order")
    assert np.all(np.isnan(table.standard_error))
    assert "±" not in str(table).split("\n", 1)[1]
    with pytest.raises(pr.InvalidInput, match="against: 'best' is not"):
        compare(PROBLEM, POLICIES, two_humans(), 10, 1, rng=0, against="best")


def test_bad_humans_are_named():
    with pytest.raises(pr.InvalidInput, match="humans: 'nobody' is None"):
        compare(PROBLEM, POLICIES, {"nobody": None}, 10, 2)
    with pytest.raises(pr.InvalidInput, match="humans: none given"):
        compare(PROBLEM, POLICIES, {}, 10, 2)
