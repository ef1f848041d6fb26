"""Published experiments: readers on small made-up files, results on the files themselves."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.public_experiments import EXPERIMENTS, ExperimentArm, arms_in
from preceptor.errors import InvalidFile
from preceptor.learners.published_people import measure
from preceptor.learners.push_test import level_test, push_test
from preceptor.report.people_tables import people_tables

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared/data"
COLUMNS = {each.file: each.columns for each in EXPERIMENTS}


def write(folder, name, rows):
    lines = [",".join(COLUMNS[name]), *(",".join(map(str, row)) for row in rows)]
    (folder / name).write_text("\n".join(lines) + "\n", "utf-8")


def published(name):
    """The arms of a published file, which is not ours to ship."""
    if not (DATA / name).is_file():
        pytest.skip(f"needs {name} in shared/data beside this checkout; it is not ours to ship")
    return {arm.name: arm for arm in everything()[name]}


@functools.cache
def everything():
    return arms_in(DATA)


def made_up(folder):
    """Files in all three formats, of people who answer at random."""
    rng = np.random.default_rng(0)
    items = [(1, 2, 3, 4), (2, 3, 2, 18), (1, 3, 1, 12), (2, 3, 1, 24), (3, 1, 2, 30), (3, 4, 4, 9)]
    write(
        folder,
        "albrecht2019.csv",
        [
            (who, phase, *items[t % 6][:3], rng.integers(30), items[t % 6][3])
            for who in (41, 42)
            for phase in ("training", "test")
            for t in range(24)
        ],
    )
    facts = [(20 + t, t % 2, t % 5, t % 3, int(t % 7 == 0), t % 4 // 2) for t in range(40)]
    write(
        folder,
        "lin2020_compas.csv",
        [
            ("any", f"any-{who}", who % 2, t + 1, *facts[t], 45 if t % 3 else 72, int(t % 3 > 0))
            for who in range(4)
            for t in range(40)
        ],
    )
    sky = ("Fine", "Rainy")
    write(
        folder,
        "weather_prediction.csv",
        [
            (who, day, t + 1, *cards, sky[int(rng.random() < 0.2 + 0.6 * cards[0])], sky[t % 2])
            for who in (1, 2)
            for day in (1.0, 2.0)
            for t, cards in enumerate(rng.permutation([1, 1, 0, 0]) for _ in range(24))
        ],
    )
    return folder


def test_every_format_becomes_logs_and_a_world(tmp_path):
    found = arms_in(made_up(tmp_path))
    [albrecht] = found["albrecht2019.csv"]
    assert len(albrecht.log) == 48  # training only
    assert albrecht.log.told.all()
    assert albrecht.log.rounds[:3].tolist() == [1, 2, 3]
    told, untold = found["lin2020_compas.csv"]
    assert told.log.told.all()
    assert not untold.log.told.any()
    assert not np.isnan(untold.log.outcome).any()
    assert told.untaught is untold.log
    assert set(told.log.prediction) == {0.45, 0.72}
    first, second = found["weather_prediction.csv"]
    assert first.log.decided
    assert first.log.shown.sum(axis=1).tolist() == [2] * 48
    assert np.nanmin(second.log.values) == 1.0
    # The score of a case is the sum of the weights of its cards, with mean square a' E[xx'] a.
    cards = np.nan_to_num(np.concatenate([first.log.values, second.log.values]))
    scores = cards @ first.world.coefficients
    assert first.world.score_variance == pytest.approx(np.mean(scores**2))


def test_a_folder_without_files_and_a_file_without_columns_are_refused(tmp_path):
    with pytest.raises(InvalidFile, match=r"has none of the files albrecht2019\.csv, lin2020"):
        arms_in(tmp_path)
    (tmp_path / "albrecht2019.csv").write_text("participant,f1\n1,2\n")
    with pytest.raises(InvalidFile, match="lacks the columns phase, f2, f3, prediction, outcome"):
        arms_in(tmp_path)
    write(tmp_path, "albrecht2019.csv", [(1, "training", 1, 2, 3, "many", 4)])
    with pytest.raises(InvalidFile, match="could not convert string to float: 'many'"):
        arms_in(tmp_path)


def learner_of_levels(rate, told, people=12, rounds=60):
    """People whose weights stay while their level moves towards each outcome that is told."""
    world = pr.World.equicorrelated([0.6, 0.4], 0.3, 0.5)
    rng, sd = np.random.default_rng(3), np.sqrt(world.outcome_variance)
    cases = [world.sample(rounds, rng) for _ in range(people)]
    answers = np.empty((people, rounds))
    for who, (x, y) in enumerate(cases):
        level = 0.0
        for t in range(rounds):
            answers[who, t] = x[t] @ [0.5, 0.5] + level + 0.3 * sd * rng.normal()
            level += rate * (y[t] - x[t] @ world.coefficients - level) if told else 0.0
    x, y = (np.concatenate([case[i] for case in cases]) for i in (0, 1))
    names = np.repeat([f"p{who:02}" for who in range(people)], rounds)
    log = pr.data.Log(
        world.labels, names, np.tile(range(rounds), people), np.ones_like(x, bool), x,
        answers.ravel(), y, np.full(y.shape, told),
    )  # fmt: skip
    return world, log


def test_a_level_that_follows_outcomes_is_told_from_weights_that_do():
    world, log = learner_of_levels(0.15, told=True)
    assert level_test(world, log).past.t > 5
    assert abs(level_test(world, log).future.t) < 3
    assert abs(push_test(world, log).past.t) < 3
    world, log = learner_of_levels(0.15, told=False)
    untold = level_test(world, log)
    assert untold.past is untold.future is None
    assert abs(untold.untold.t) < 3


def test_the_level_coefficient_is_that_of_a_plain_regression():
    world, log = learner_of_levels(0.15, told=True, people=1)
    rest = log.outcome - log.values @ world.coefficients
    z = np.array([sum(0.9 ** (t - s) * rest[s] for s in range(t)) for t in range(60)])
    sds = np.sqrt(np.diag(world.covariance))
    powers = np.polynomial.legendre.legvander(np.linspace(-1, 1, 60), 2)
    drifting = [log.values[:, i] / sds[i] * powers[:, j] for i in range(2) for j in range(3)]
    columns = np.column_stack([z, *drifting, np.ones(60)])
    expected = np.linalg.lstsq(columns, log.prediction, rcond=None)[0][0]
    assert level_test(world, log).past.coefficient == pytest.approx(expected)


@pytest.mark.full
def test_knowledge_that_people_bring_is_not_taken_for_learning():
    """First weights are measured on people who were never told."""
    world, log = learner_of_levels(0.0, told=False, people=8, rounds=40)
    arm = ExperimentArm("made up", world, log, untaught=log)
    found = measure(arm)
    assert found.told == 0
    assert found.groups["none"][0] == max(share for share, _, _ in found.groups.values())
    naive = measure(dataclasses.replace(arm, untaught=None))
    assert naive.groups["by showings"][0] > 0.5
    assert "made up (placebo)" in people_tables([found])


@pytest.mark.full
def test_the_command_prints_tables_of_what_is_there(tmp_path, capsys):
    from preceptor.cli import people

    made_up(tmp_path)
    (tmp_path / "weather_prediction.csv").unlink()
    people.people(tmp_path)
    said = capsys.readouterr()
    for name in ("Albrecht 2019", "Lin 2020 any, told", "Lin 2020 any, not told (placebo)"):
        assert said.out.count(f"| {name} ") == 5
    assert "MIT licence" in said.err


# --- the files themselves ---


@pytest.mark.full
def test_levels_of_lin_2020_follow_outcomes_only_where_they_are_told():
    """Another analysis of these data found t = 5.4 and 6.0, and -1.9 and -0.3 without feedback."""
    arms = published("lin2020_compas.csv")
    for experiment in ("any", "violent"):
        told, untold = (arms[f"Lin 2020 {experiment}, {how}"] for how in ("told", "not told"))
        assert level_test(told.world, told.log).past.t > 3.5
        assert abs(level_test(told.world, told.log).future.t) < 2.5
        assert abs(level_test(untold.world, untold.log).untold.t) < 2.5
        assert abs(push_test(told.world, told.log).past.t) < 2.5


@pytest.mark.full
def test_albrecht_shows_learning_by_showings_before_bayes_before_the_delta_rule():
    """The order of another analysis with other likelihoods."""
    [arm] = published("albrecht2019.csv").values()
    assert 0.9 < 1 - arm.world.noise_variance / arm.world.outcome_variance < 0.97
    found = measure(arm)
    assert found.people == 29
    for name in ("evidence", "held_out"):
        each = {family: getattr(result, name) for family, result in found.families.items()}
        assert each["geometric"] > each["bayesian"] > each["delta rule"] > 30
    assert found.groups["by showings"][1] > 0.5


@pytest.mark.slow
def test_people_who_predict_the_weather_learn_from_outcomes():
    arms = published("weather_prediction.csv")
    for arm in arms.values():
        found = measure(arm)
        assert found.groups["by outcomes"].low > 0.3
        assert found.push.past.t > 2.5
        assert abs(found.push.future.t) < 2.5


def test_the_page_has_the_tables_of_the_command(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    script = importlib.import_module("make_published_people")
    page = script.PAGE.read_text("utf-8")
    for name in ("make_published_people", "people_pictures"):
        sys.modules.pop(name, None)
    assert script.with_tables(page, "| none |").count("| none |") == 1
    for each in EXPERIMENTS:
        assert f"`{each.file}`" in page
    assert page.count("| Lin 2020 violent, told ") == 5
