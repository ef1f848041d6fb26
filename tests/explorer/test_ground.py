"""What is explored: own tables, problem files, and the text that a page carries of them."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.errors import InvalidInput
from preceptor.explorer import Ground, preset, read_choice
from preceptor.explorer.choice import first_choice, problem_of
from preceptor.explorer.ground import (
    MOST_TESTS,
    as_text,
    from_text,
    ground_of_problem,
    ground_of_table,
)
from preceptor.explorer.picture import picture, quick_plan
from tests.body_fat import TABLE


@pytest.fixture(scope="module")
def body_fat() -> Ground:
    return ground_of_table(TABLE, "brozek", drop=["siri", "density"])


def test_table_is_what_advise_estimates(body_fat):
    problem = pr.advise(
        TABLE, "brozek", drop=["siri", "density"], person="by-showings", time_limit=0.01, vary=False
    ).plan.problem
    assert problem_of(body_fat, first_choice(body_fat)).asks_the_same_as(problem)
    assert body_fat.about == "252 cases and 13 tests; the outcome is brozek."


def test_sets_stay_few_enough_to_search_at_once(body_fat):
    assert body_fat.most_tests == 4
    assert (
        len(
            pr.Problem(body_fat.world, problem_of(body_fat, first_choice(body_fat)).learner, 4).sets
        )
        <= 2000
    )
    assert preset("diabetes").most_tests == 8
    wide = pr.World(np.ones(40), np.eye(40))
    assert Ground("own", "", "", wide).most_tests == 2


def test_page_carries_the_whole_ground(body_fat):
    again = from_text(as_text(body_fat))
    assert again.world == body_fat.world
    assert again.to_dict() == body_fat.to_dict()
    assert again.name == "own"


def _packed(data: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(data).encode())).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not base64 at all",
        "AAAA",
        _packed([]),
        _packed({"world": {}}),
        _packed("x" * 2_000_000),
        base64.urlsafe_b64encode(zlib.compress(b"{" * 1000)).decode(),
        "A" * 100_000,
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidInput, match="table: "):
        from_text(text)


def test_carried_world_is_checked_as_any_other(body_fat):
    data = body_fat.to_dict()
    data["world"]["covariance"][0][0] = -1.0
    with pytest.raises(InvalidInput, match="covariance"):
        from_text(_packed(data))


def test_sliders_begin_where_a_problem_is():
    problem = pr.Problem.load("examples/two_tests.toml")
    ground = ground_of_problem(problem, "two_tests.toml")
    choice = first_choice(ground)
    assert (choice.half_life, choice.tests, choice.cases, choice.ends) == (7.25, 1, 600, True)
    assert_allclose(ground.initial, [0.2, 1.3])
    assert choice.beliefs == "given"
    crowd = problem.replace(learner=pr.Crowd.default(problem.world))
    assert any("learns by showings" in note for note in ground_of_problem(crowd, "x").notes)


def test_too_many_tests_are_refused():
    size = MOST_TESTS + 1
    world = pr.World(np.ones(size), np.eye(size))
    problem = pr.Problem(world, pr.Learner(np.zeros(size), pr.Geometric(1.1)), 1)
    with pytest.raises(InvalidInput, match=f"{size} tests"):
        ground_of_problem(problem, "wide.toml")


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
    ground = from_text(as_text(ground_of_table(path, "ill")))
    choice = read_choice({"cases": "5", "ends": "yes", "tests": "1"}, ground)
    drawn = picture(ground, choice, quick_plan(ground, choice), is_proven=False)
    assert "misses" in drawn["worth"]
    assert drawn["scale"] == "wrong decisions per 100 cases"
    json.dumps(drawn, allow_nan=False)
