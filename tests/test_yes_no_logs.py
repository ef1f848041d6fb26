"""Logs whose outcomes are yes or no: probabilities, decisions, levels, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtri

import preceptor as pr
from preceptor.data.log import Log, in_world_units
from preceptor.data.log_cells import YesNoReader
from preceptor.model.world import Units


def world_of(levels=("benign", "malignant")) -> pr.World:
    units = Units([10.0, 5.0], [2.0, 1.0], "diagnosis", outcome_levels=levels)
    return pr.World([1.0, -0.5], np.eye(2), names=["a", "b"], units=units, outcome=pr.Binary(0.3))


WORLD = world_of()


def read(tmp_path, answers, outcomes, *, world=WORLD, separator=",", more=None):
    rows = [f"ann{s}{i}{s}12{s}{s}{a}{s}{o}" for s in [separator]
            for i, (a, o) in enumerate(zip(answers, outcomes, strict=True))]  # fmt: skip
    header = separator.join(["participant", "round", "a", "b", "prediction", "outcome"])
    if more is not None:
        header += f"{separator}decided"
        rows = [f"{row}{separator}{cell}" for row, cell in zip(rows, more, strict=True)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return Log.read(path, world)


def test_probabilities_are_read_as_people_write_them(tmp_path):
    log = read(tmp_path, [".7", "70%", "70 %", "0", "1"], ["yes", "No", "malignant", "BENIGN", ""])
    assert log.prediction.tolist() == [0.7, 0.7, 0.7, 0.0, 1.0]
    assert log.outcome[:4].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert log.told.tolist() == [True] * 4 + [False]  # the last one is a probe
    assert not log.decided


def test_decimal_commas(tmp_path):
    log = read(tmp_path, ["0,7", "70,5%", "0,25"], ["1", "0", "1"], separator=";")
    assert_allclose(log.prediction, [0.7, 0.705, 0.25])


@pytest.mark.parametrize(
    "answers",
    [["yes", "no", "YES"], ["malignant", "Benign", "malignant"], ["1", "0", "1"],
     ["true", "false", "TRUE"], ["malignant", "no", "1.0"], ["100%", "0%", "1"]],
)  # fmt: skip
def test_decisions_are_read_as_people_write_them(tmp_path, answers):
    log = read(tmp_path, answers, ["1", "0", "1"])
    assert log.prediction.tolist() == [1.0, 0.0, 1.0]
    assert log.decided


@pytest.mark.parametrize(
    ("levels", "cells", "meant"),
    [
        (("1", "2"), ["2", "1", "1"], [1.0, 0.0, 0.0]),
        (("1", "2"), ["1", "0", "1"], [1.0, 0.0, 1.0]),  # as we write them ourselves
        (("2", "1"), ["2", "1", "1"], [0.0, 1.0, 1.0]),
        (("yes", "no"), ["no", "yes", "no"], [1.0, 0.0, 1.0]),
        (None, ["true", "n", "Y"], [1.0, 0.0, 1.0]),
    ],
)
def test_levels_of_the_table_go_before_everything_else(tmp_path, levels, cells, meant):
    log = read(tmp_path, ["0.5"] * 3, cells, world=world_of(levels))
    assert log.outcome.tolist() == meant


@pytest.mark.parametrize(
    ("answers", "outcomes", "words"),
    [
        (["130%"], ["1"], "line 2, column 'prediction': '130%' is not a probability"),
        (["0.5", "70"], ["1", "1"], "line 3, column 'prediction': '70' is not a probability; "
         "write 0 to 1, or 0% to 100%; did you mean 70%?"),
        (["-.1"], ["1"], "'-.1' is not a probability"),
        (["maybe"], ["1"], "'maybe' is neither a probability nor a decision (write 0.7 or 70%, or "
         "malignant, benign, yes, no, 1 or 0)"),
        (["0.5"], ["perhaps"], "column 'outcome': 'perhaps' is neither yes nor no"),
        (["0.5"], ["0.5"], "column 'outcome': '0.5' is neither yes nor no"),
        (["0.7", "yes"], ["1", "1"], "line 3, column 'prediction': 'yes' is a decision, but line 2 "
         "has the probability 0.7"),
        ([""], ["1"], "column 'prediction': missing, must be a finite number"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_value_and_row(tmp_path, answers, outcomes, words):
    with pytest.raises(pr.InvalidInput) as caught:
        read(tmp_path, answers, outcomes)
    assert words in str(caught.value)


def test_a_column_says_what_answers_of_0_and_1_are(tmp_path):
    log = read(tmp_path, ["1", "0"], ["1", "0"], more=["no", "no"])
    assert not log.decided
    assert read(tmp_path, ["1", "0"], ["1", "0"], more=["yes", ""]).decided
    with pytest.raises(pr.InvalidInput, match=r"0\.7, a decision must be 1"):
        read(tmp_path, ["0.7", "0"], ["1", "0"], more=["yes", "yes"])
    with pytest.raises(pr.InvalidInput, match="line 3, column 'decided': no, but line 2 says"):
        read(tmp_path, ["1", "0"], ["1", "0"], more=["yes", "no"])


@pytest.mark.parametrize("decided", [None, False])
@pytest.mark.parametrize("answers", [[0.7, 1.0, 0.0], [1.0, 1.0, 0.0]])
@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet"])
def test_what_is_written_is_read_back(tmp_path, decided, answers, name):
    shown, values = [[True, False]] * 3, [[12.0, np.nan]] * 3
    log = Log(["a", "b"], ["ann"] * 3, [1, 2, 3], shown, values, answers, [1.0, 0.0, np.nan],
              decided=decided)  # fmt: skip
    log.write(tmp_path / name, WORLD)
    assert Log.read(tmp_path / name, WORLD) == log
    assert Log.read(tmp_path / name, ["a", "b"]) == log
    assert Log.from_dict(json.loads(json.dumps(log.to_dict()))) == log
    assert Log.from_frame(log.to_frame(), WORLD) == log
    assert log.head(2).tail(1).decided == log.decided
    said = "decided" in log.to_frame().columns
    assert said == (decided is False and answers[0] == 1.0)


def test_logs_of_numbers_stay_as_they_were():
    shown, values = [[True]] * 2, [[12.0]] * 2
    log = Log(["a"], ["ann"] * 2, [1, 2], shown, values, [7.0, 0.0], [3.0, 4.0])
    # All that is left of it is a 0, which is not yes or no for that.
    assert "decided" not in log.tail(1).to_frame().columns


def test_frames_with_truth_values_and_words():
    frame = pd.DataFrame(
        {"participant": "ann", "round": [1, 2], "a": [12.0, 13.0], "b": [np.nan, 4.0],
         "prediction": [True, False], "outcome": ["malignant", None]}
    )  # fmt: skip
    log = Log.from_frame(frame, WORLD)
    assert log.decided
    assert log.prediction.tolist() == [1.0, 0.0]
    assert log.outcome[0] == 1.0


def test_rows_in_the_units_of_a_world():
    shown, values = [[True, False]] * 3, [[12.0, np.nan]] * 3
    log = Log(["a", "b"], ["ann"] * 3, [1, 2, 3], shown, values, [0.7, 0.0, 1.0], [1, 0, np.nan])
    rows = in_world_units(WORLD, log)
    assert_allclose(rows.values, [[1.0, 0.0]] * 3)
    # Answers of 0 % and 100 % are taken for half a percent off.
    assert_allclose(rows.answers, ndtri([0.7, 0.005, 0.995]) - WORLD.base_score)
    assert rows.outcomes[:2].tolist() == [1.0, 0.0]
    decided = Log(["a", "b"], ["ann"], [1], shown[:1], values[:1], [1.0], [1.0])
    assert in_world_units(WORLD, decided).answers.tolist() == [1.0]
    wrong = Log(["a", "b"], ["ann"], [4], shown[:1], values[:1], [1.3], [0.5])
    with pytest.raises(pr.InvalidInput) as caught:
        in_world_units(WORLD, wrong)
    assert "ann, round 4: answer 1.3, must be a probability" in str(caught.value)
    assert "outcome 0.5, must be 1 (yes) or 0 (no)" in str(caught.value)


def test_worlds_of_numbers_have_no_yes_and_no():
    assert YesNoReader.of(pr.World([1.0], [[1.0]])) is None
    assert YesNoReader.of(WORLD) == YesNoReader(("benign", "malignant"))


def test_units_keep_the_words_for_yes_and_no():
    again = pr.World.from_dict(json.loads(WORLD.to_json()))
    assert again == WORLD
    assert again.units.outcome_levels == ("benign", "malignant")
    with pytest.raises(pr.InvalidProblem, match="must be two texts, no and yes"):
        Units([1.0], [1.0], outcome_levels=["yes"])
