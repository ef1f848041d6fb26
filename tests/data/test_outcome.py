"""Outcomes of two values: words, numbers and truth, and which of them counts as 1."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.data.opening import Reading
from preceptor.data.world_fitting import fit_world
from tests.data.tables import ROWS, columns, said

ILL = np.array(columns()["y"]) > 0.7


def in_words(yes: object, no: object) -> dict[str, list]:
    return columns(y=[yes if ill else no for ill in ILL])


@pytest.mark.few(8)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict], ids=lambda make: str(make))
@pytest.mark.parametrize(
    ("one", "zero"),
    [
        ("M", "B"),
        ("yes", "no"),
        ("No answer", "yes"),
        ("TRUE", "False"),
        ("t", "f"),
        ("+", "-"),
        ("dead", "alive"),
        ("Malignant", "benign"),
        ("anything", "healthy"),
        ("tested_positive", "tested_negative"),
        ("verstorben", "lebend"),
    ],
)
def test_two_words_are_taken_and_the_one_that_happened_counts_as_1(make, one, zero):
    if one == "No answer":  # a word of the list wins over one that is not on it
        one, zero = zero, one
    fitted = fit_world(make(in_words(one, zero)), "y")
    assert fitted.design.outcome.tolist() == ILL.astype(float).tolist()
    assert fitted.design.outcome_levels == (zero, one)
    note = f"y: {one!r} counts as 1, {zero!r} as 0; `positive` says otherwise."
    assert fitted.notes[0] == fitted.warnings[0] == note


def test_of_two_words_that_say_nothing_the_rarer_counts_as_1():
    assert ILL.sum() < ROWS / 2
    assert fit_world(in_words("left", "right"), "y").design.outcome_levels == ("right", "left")
    assert fit_world(in_words("right", "left"), "y").design.outcome_levels == ("left", "right")


@pytest.mark.parametrize(
    ("one", "zero", "positive"),
    [("M", "B", "b"), ("M", "B", " B "), (2, 1, "1"), (1.0, 2.0, "2.0"), (True, False, "false")],
)
def test_somebody_may_say_which_counts_as_1(one, zero, positive):
    fitted = fit_world(pd.DataFrame(in_words(one, zero)), "y", reading=Reading(positive=positive))
    assert fitted.design.outcome.tolist() == (~ILL).astype(float).tolist()
    assert "otherwise" not in said(fitted.notes, "counts as 1")
    assert_allclose(fitted.world.outcome.prevalence, np.mean(~ILL))
    assert fitted.world.units.outcome_mean == 0.0


def test_two_numbers_are_yes_and_no_unless_they_are_wanted_as_numbers():
    fitted = fit_world(in_words(2, 1), "y")
    assert fitted.world.is_binary
    assert fitted.design.outcome.tolist() == ILL.astype(float).tolist()
    assert fitted.notes[0] == "y: '2' counts as 1, '1' as 0; `positive` says otherwise."
    fitted = fit_world(in_words(2, 1), "y", as_number=True)
    assert not fitted.world.is_binary
    assert fitted.is_linear_reading
    assert set(fitted.design.outcome) == {1.0, 2.0}
    assert "hold for linear readers only" in said(fitted.doubts, "read as a number")
    summary = " ".join(fitted.summary().split())
    assert "no linear reader of all tests is typically off by less" in summary
    assert fitted.design.outcome_levels == ("1", "2")
    assert fit_world(columns(), "y").design.outcome_levels is None


@pytest.mark.parametrize(
    ("table", "positive", "words"),
    [
        (in_words("M", "B"), "C", "positive: 'C', but outcome 'y' is either 'B' or 'M'"),
        (in_words(1, 2), "M", "positive: 'M', but outcome 'y' is either '1' or '2'"),
        (columns(), "1", "positive: '1', but outcome 'y' takes 300 values, not two"),
        (
            columns(y=["a", "b", "c"] * 100),
            None,
            "there are 3 ('a', 'b', 'c'); codes for missing go into `missing`",
        ),
        (columns(y=["a"] * ROWS), None, "outcome 'y': is a in every row"),
        (columns(y=["2024-01-02"] * ROWS), None, "outcome 'y': holds dates or times"),
    ],
)
def test_what_cannot_count_as_1(table, positive, words):
    with pytest.raises(pr.InvalidData, match=re.escape(words)):
        fit_world(pd.DataFrame(table), "y", reading=Reading(positive=positive))


def test_a_third_word_can_be_left_empty():
    words = ["unknown" if i % 7 == 0 else "M" if ill else "B" for i, ill in enumerate(ILL)]
    fitted = fit_world(columns(y=words), "y", reading=Reading(missing=["unknown"]))
    assert fitted.rows == ROWS - len(range(0, ROWS, 7))
    assert fitted.design.outcome_levels == ("B", "M")


@pytest.mark.parametrize(
    ("ones", "words"),
    [
        (3, "y: 3 positives (1) among 300 cases, too few to learn from."),
        (1, "y: 1 positive (1) among 300 cases, too few to learn from."),
        (298, "y: 2 negatives (0) among 300 cases, too few to learn from."),
    ],
)
def test_a_rare_outcome_is_doubted(ones, words):
    assert words in fit_world(columns(y=[int(i < ones) for i in range(ROWS)]), "y").doubts


def test_a_common_one_is_not():
    assert not any("too few" in doubt for doubt in fit_world(in_words(1, 0), "y").doubts)


@pytest.mark.parametrize("gap", [False, True])
def test_true_counts_as_1_and_that_is_said(gap):
    table = columns()
    truth = [bool(v) for v in np.array(table["y"]) > 0.0]
    table["y"] = pd.Series([None, *truth[1:]], dtype=object) if gap else truth
    fitted = fit_world(pd.DataFrame(table), "y")
    note = "y: true counts as 1, false as 0; `positive` says otherwise."
    assert note in fitted.notes
    assert note in fitted.warnings
    other = fit_world(pd.DataFrame(table), "y", reading=Reading(positive="false"))
    assert not [text for text in other.notes if "true counts" in text]
    assert np.allclose(other.world.coefficients, -fitted.world.coefficients)
    numbers = fit_world(columns(y=[int(v) for v in truth]), "y")
    assert not [text for text in numbers.notes if "counts as 1" in text]
