"""What is explored: own tables and problem files, and what workers are told about them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.advice.options import TableOptions
from preceptor.live.explorer.ground import (
    Ground,
    ground_of_problem,
    ground_of_table,
    preset,
    problem_of,
    read_choice,
)
from preceptor.live.explorer.tasks import picture, quick_plan
from preceptor.planning.candidate_sets import SET_LIMITS
from tests.body_fat import TABLE


@pytest.fixture(scope="module")
def body_fat() -> Ground:
    return ground_of_table(TABLE, "brozek", drop=["siri", "density"])


def test_table_is_what_advise_estimates(body_fat):
    kept = TableOptions(drop=["siri", "density"])
    problem = pr.advise(
        TABLE, "brozek", table=kept, person="by-showings", time_limit=0.01, vary=False
    ).plan.problem
    assert problem_of(body_fat, read_choice({}, body_fat)).has_same_losses_as(problem)
    assert body_fat.about == "252 cases and 13 tests; the outcome is brozek."


def test_sets_stay_few_enough_to_search_at_once(body_fat):
    learner, most = problem_of(body_fat, read_choice({}, body_fat)).learner, SET_LIMITS.searched
    shown = body_fat.most_tests
    assert len(pr.Problem(body_fat.world, learner, shown).sets) <= most
    assert len(pr.Problem(body_fat.world, learner, shown + 1).sets) > most
    assert preset("diabetes").most_tests == 10
    wide = pr.World(np.ones(400), np.eye(400))
    assert Ground("own", "", "", wide).most_tests == 1


def test_workers_are_told_the_whole_ground(body_fat):
    problem = ground_of_problem(pr.Problem.load("examples/two_tests.toml"), "two_tests.toml")
    for ground in (body_fat, problem):
        again = Ground.from_json(ground.to_json(indent=None))
        assert again.to_dict() == ground.to_dict()
        choice = read_choice({}, again)
        assert choice == read_choice({}, ground)
        assert problem_of(again, choice) == problem_of(ground, choice)


def test_sliders_begin_where_a_problem_is():
    problem = pr.Problem.load("examples/two_tests.toml")
    ground = ground_of_problem(problem, "two_tests.toml")
    choice = read_choice({}, ground)
    assert (choice.half_life, choice.tests, choice.cases, choice.ends) == (7.25, 1, 600, True)
    assert_allclose(ground.initial, [0.2, 1.3])
    assert choice.beliefs == "given"
    crowd = problem.replace(learner=pr.Crowd.default(problem.world))
    assert any("learns by showings" in note for note in ground_of_problem(crowd, "x").notes)


def test_yes_or_no_tables_are_explored_as_well(tmp_path):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(80, 2))
    is_ill = values @ [1.0, 0.5] + 0.5 * rng.normal(size=80) > 0.0
    rows = [
        f"{a:.3f},{b:.3f},{'yes' if ill else 'no'}"
        for (a, b), ill in zip(values, is_ill, strict=True)
    ]
    path = tmp_path / "cases.csv"
    path.write_text("\n".join(["bmi,age,ill", *rows]))
    ground = Ground.from_json(ground_of_table(path, "ill").to_json())
    choice = read_choice({"cases": "5", "ends": "yes", "tests": "1"}, ground)
    drawn = picture(ground, choice, quick_plan(ground, choice), is_proven=False)
    assert "misses" in drawn["worth"]
    assert drawn["scale"] == "wrong decisions per 100 cases"
    json.dumps(drawn, allow_nan=False)
