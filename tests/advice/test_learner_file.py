"""Learner files: people estimated from a log, read back for another table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.progress import Update
from preceptor.advice.options import PersonOptions, learner_to_dict, read_known
from preceptor.model.world import Units


def _world(scales: list[float]) -> pr.World:
    units = Units([10.0, 20.0], scales)
    return pr.World([1.0, 0.5], np.eye(2), names=["bmi", "bp"], units=units)


def _written(folder: Path, **fields: object) -> Path:
    path = folder / "learner.json"
    path.write_text(json.dumps(learner_to_dict(fields, _world([1.0, 4.0]))))
    return path


def test_a_crowd_is_translated_to_other_units(tmp_path: Path) -> None:
    crowd = pr.Crowd(
        {
            "a": (pr.Bayesian([1.0, 1.0], [0.5, 0.5], 0.3), 0.25),
            "b": (pr.DeltaRule([2.0, 1.0], 0.05, leak=0.1, home=[1.0, 1.0]), 0.75),
        }
    )
    path = _written(tmp_path, person=crowd.to_dict(), people={"ann": crowd.people["b"].to_dict()})
    found = read_known(path, _world([2.0, 2.0])).person
    assert isinstance(found, pr.Crowd)
    assert found.weights.tolist() == [0.25, 0.75]
    bayesian, delta = found.people["a"], found.people["b"]
    # A weight is for one standard deviation; twice the deviation, twice the weight.
    assert bayesian.initial.tolist() == [2.0, 0.5]
    assert bayesian.prior_variance.tolist() == [2.0, 0.125]  # type: ignore[attr-defined]
    assert delta.initial.tolist() == [4.0, 0.5]
    assert delta.home.tolist() == [2.0, 0.5]  # type: ignore[attr-defined]
    assert read_known(path, _world([2.0, 2.0]), "ann").person == delta


def test_a_refusal_is_passed_on(tmp_path: Path) -> None:
    path = _written(tmp_path, person=None, people={}, refusal="all answers are the same (17)")
    with pytest.raises(pr.InvalidFile, match=r"all answers are the same \(17\).*leave out"):
        read_known(path, _world([1.0, 4.0]))


def test_people_who_are_not_there_are_named(tmp_path: Path) -> None:
    path = _written(tmp_path, person=pr.NoLearning([0.0, 0.0]).to_dict(), people={})
    with pytest.raises(pr.InvalidInput, match="'bob' is not in"):
        read_known(path, _world([1.0, 4.0]), "bob")


def test_it_is_said_what_is_known_and_what_was_left_out(tmp_path: Path) -> None:
    rest = pr.NoLearning([0.0, 0.0])
    crowd = pr.Crowd({"floor, ignoring": (rest, 0.76), "none, knowing": (rest, 0.24)})
    shares = {
        "everybody": {"floor, ignoring": 0.7, "none, knowing": 0.22, "bayesian": 0.08},
        "people": {"ann": {"floor, ignoring": 0.95, "bayesian": 0.05}},
    }
    path = _written(tmp_path, person=crowd.to_dict(), people={"ann": rest.to_dict()}, shares=shares)
    world = _world([1.0, 4.0])
    assert read_known(path, world, "new", pooled=True).in_words() == (
        f"How this person learns is known from {path}: floor, ignoring 76%; not learning, knowing "
        "24%; left out as less likely: bayesian 8%"
    )
    alone = read_known(path, world, "ann").in_words()
    assert alone.startswith(f"How ann learns is known from {path}: {rest.learning_in_words()}; ")
    assert alone.endswith("left out as less likely: bayesian 5%")


@pytest.mark.parametrize("shares", [None, [], {}, {"everybody": {}}])
def test_a_file_without_shares_leaves_them_out(tmp_path: Path, shares: object) -> None:
    path = _written(tmp_path, person=pr.NoLearning([0.0, 0.0]).to_dict(), shares=shares)
    assert "left out" not in read_known(path, _world([1.0, 4.0])).in_words()


def test_planning_with_a_learner_file_does_not_say_that_nothing_is_known(tmp_path: Path) -> None:
    two = pr.Crowd({"one": pr.NoLearning([0.0, 0.0]), "two": pr.DeltaRule([0.0, 0.0], 0.1)})
    drawn = pr.World.equicorrelated([1.0, 0.5], 0.3, names=["bmi", "bp"]).sample(50, rng=0)
    table = {"bmi": drawn.features[:, 0], "bp": drawn.features[:, 1], "y": drawn.outcomes}
    path = _written(tmp_path, person=two.to_dict())
    quick = {"tests": 1, "cases": 3, "time_limit": 0.2, "vary": False}
    for given, words in (
        (
            {"person": PersonOptions(learner=path)},
            "any of those below, so it is for 2 kinds of person",
        ),
        ({}, "is not known"),
    ):
        said: list[Update] = []
        advice = pr.advise(table, "y", **given, **quick, progress=said.append)
        heard = " ".join(update.sentence or "" for update in said)
        assert ("how this person learns is not known" in heard) == (not given)
        assert (f"How this person learns is known from {path}: " in heard) == bool(given)
        assert words in " ".join(advice.explain().split())


def _person(**changes: object) -> dict[str, object]:
    return pr.NoLearning([0.0, 0.0]).to_dict() | changes


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"person": {"kind": "crowd", "members": []}}, "person: .*at least one"),
        ({"person": _person(initial=[float("nan"), 0.0])}, "person: initial: .*finite"),
        ({"person": _person(initial=[1.0])}, "person: learner: 1 initial coefficients"),
        ({"person": _person(initial="heavy")}, "person: initial"),
        ({"person": [1, 2]}, "person: "),
        ({"person": _person(kind="wizard")}, "person: .*'wizard' is not known"),
        ({"person": {"kind": "crowd", "members": [7]}}, "person: .*7"),
        ({"person": _person(), "scales": [1.0, 0.0]}, "scales: .*must be positive"),
        ({"person": _person(), "scales": [1.0]}, "scales: must be a number for each"),
        ({"person": _person(), "tests": [1, 2]}, "tests: must be a list of names"),
        ({"person": _person(), "people": ["ann"]}, "people: must be a table of people by name"),
    ],
)  # fmt: skip
def test_bad_files_say_where(tmp_path: Path, fields: dict[str, object], complaint: str) -> None:
    path = _written(tmp_path, **fields)
    with pytest.raises(pr.InvalidFile, match=complaint) as caught:
        read_known(path, _world([1.0, 4.0]))
    assert all(str(path) in fault for fault in caught.value.faults)


def test_all_faults_of_a_file_are_heard_at_once(tmp_path: Path) -> None:
    path = _written(tmp_path, scales=[-1, "a"], person={"kind": "unknown"}, people=3)
    with pytest.raises(pr.InvalidFile) as caught:
        read_known(path, _world([1.0, 4.0]))
    for words in ("must be positive numbers", "people: must be"):
        assert any(words in fault for fault in caught.value.faults), (words, caught.value.faults)


def test_a_bad_participant_is_named(tmp_path: Path) -> None:
    path = _written(tmp_path, person=_person(), people={"ann": _person(initial=[1.0])})
    with pytest.raises(pr.InvalidFile, match="people, 'ann': "):
        read_known(path, _world([1.0, 4.0]), "ann")


def test_the_pooled_person_stands_in_for_a_new_participant(tmp_path: Path) -> None:
    path = _written(tmp_path, person=_person(), people={"ann": _person(initial=[1.0, 1.0])})
    world = _world([1.0, 4.0])
    assert read_known(path, world, "bob", pooled=True).person.initial.tolist() == [0.0, 0.0]
    assert read_known(path, world, "ann", pooled=True).person.initial.tolist() == [1.0, 1.0]
