"""Values that stand for a missing one: found, said, and left empty when asked."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preceptor as pr
from preceptor.data.odd_values import suspected
from preceptor.data.opening import Reading
from preceptor.data.world_fitting import fit_source, fit_world
from tests.data.tables import ROWS, columns, said
from tests.strategies import examples, seeds

RNG = np.random.default_rng(1)
AGES = RNG.normal(55, 12, ROWS).round().clip(18, 88)
INSULIN = np.exp(RNG.normal(4.8, 0.6, ROWS)).round().clip(14)


def with_code(values: np.ndarray, code: float, share: float = 0.1) -> np.ndarray:
    return np.where(np.random.default_rng(2).random(values.size) < share, code, values)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (with_code(AGES, 999), 999),
        (with_code(AGES, 99), 99),
        (with_code(AGES, -9), -9),
        (with_code(AGES, -1), -1),
        (with_code(AGES, 0), 0),
        (with_code(AGES, 1234), 1234),
        (with_code(INSULIN, 0, 0.48), 0),
        (with_code(RNG.normal(37, 0.5, ROWS).round(1), 0, 0.02), 0),
        (with_code(RNG.normal(27, 4, ROWS), 99.9), 99.9),
        (with_code(RNG.integers(1, 4, ROWS).astype(float), 9), 9),
        (with_code(RNG.integers(0, 5, ROWS).astype(float), -9), -9),
    ],
)
def test_a_code_is_doubted_with_column_value_and_count(values, code):
    times = int(np.sum(values == code))
    assert suspected(values) == [(code, times)]
    [doubt] = fit_world(columns(test=values), "y").doubts
    assert doubt == (
        f"test is {code:g} in {times} of {ROWS} cases, far from the rest; if that means "
        f"missing, use `missing` test={code:g}."
    )


def test_several_codes_in_one_column_are_all_found():
    values = with_code(with_code(AGES, 998, 0.2), 999)
    assert [value for value, _ in suspected(values)] == [998.0, 999.0]


def test_names_with_blanks_can_be_copied_to_a_command_line():
    table = columns(**{"serum insulin": with_code(INSULIN, 0, 0.48)})
    doubt = said(fit_world(table, "y").doubts, "use `missing` 'serum insulin=0'")
    assert doubt.startswith("serum insulin is 0 in")


def test_an_outcome_is_doubted_too():
    y = with_code(np.array(columns()["y"]) + 50, 999)
    assert "y is 999 in" in said(fit_world(columns(y=y), "y").doubts, "means missing")


NO_CODES = {
    "counts with many zeros": lambda rng: rng.poisson(np.exp(rng.normal(0, 1.2, ROWS))),
    "yes or no": lambda rng: rng.integers(0, 2, ROWS),
    "a rare yes": lambda rng: rng.random(ROWS) < 0.02,
    "a grade": lambda rng: rng.integers(1, 5, ROWS),
    "a score to nine": lambda rng: rng.integers(0, 10, ROWS),
    "cigarettes a day": lambda rng: np.where(
        rng.random(ROWS) < 0.6, 0, rng.choice([5, 10, 15, 20, 30, 40], ROWS)
    ),
    "percentages with zeros": lambda rng: np.where(
        rng.random(ROWS) < 0.4, 0, rng.choice([4, 5, 6, *range(10, 101, 5)], ROWS)
    ),
    "lognormal": lambda rng: np.exp(rng.normal(0, 2, ROWS)),
    "a second cluster": lambda rng: (
        np.where(rng.random(ROWS) < 0.1, 1000, 0) + rng.normal(size=ROWS)
    ),
    "cut off at a limit": lambda rng: np.maximum(rng.normal(size=ROWS), -1.0),
    "doses": lambda rng: rng.choice([0, 1, 2, 10], ROWS),
    "changes": lambda rng: rng.integers(-3, 4, ROWS),
    "ages": lambda rng: rng.normal(60, 15, ROWS).round().clip(0, 99),
}


@examples(20)
@given(seeds)
@pytest.mark.parametrize("draw", NO_CODES.values(), ids=NO_CODES)
def test_what_is_no_code_is_not_doubted(draw, seed):
    assert suspected(np.asarray(draw(np.random.default_rng(seed)), dtype=np.float64)) == []


def frame(values) -> pd.DataFrame:
    return pd.DataFrame(columns(age=with_code(AGES, 999), insulin=values))


def test_named_codes_are_left_empty_and_counted():
    table = frame(with_code(INSULIN, 0))
    fitted = fit_world(table, "y", reading=Reading(missing=["999", "Insulin=0"]))
    n, m = int((table["age"] == 999).sum()), int((table["insulin"] == 0).sum())
    assert fitted.missing == {"age": n, "insulin": m}
    assert fitted.warnings[0] == f"Read as missing, as requested: age 999 ({n}), insulin 0 ({m})."
    assert fitted.doubts == ()
    assert fitted.world.units.means[2] == pytest.approx(AGES.mean(), abs=2)
    by_hand = table.assign(
        age=table["age"].replace(999, np.nan), insulin=table["insulin"].replace(0, np.nan)
    )
    assert fit_world(by_hand, "y").world == fitted.world


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict], ids=lambda make: str(make))
@pytest.mark.parametrize("code", ["999", "999.0", " 999 "])
def test_codes_match_as_numbers_and_as_text(make, code):
    values = with_code(AGES, 999)
    texts = [f"{v:.1f}" for v in values]
    for stored in (values.tolist(), texts, values.astype(int).tolist()):
        fitted = fit_world(make(columns(age=stored)), "y", reading=Reading(missing=[code]))
        assert fitted.missing == {"age": int(np.sum(values == 999))}


def test_codes_that_are_words():
    sites = ["north", "south", "n.k."] * 100
    fitted = fit_world(columns(site=sites), "y", reading=Reading(missing=["N.K."]))
    assert fitted.missing == {"site": 100}
    assert fitted.world.names[2:] == ("site=south",)


def test_truth_has_no_codes():
    flags = [i % 3 == 0 for i in range(ROWS)]
    assert fit_world(columns(flag=flags), "y", reading=Reading(missing=["0"])).missing == {}


def test_a_code_that_is_nowhere_is_said():
    fitted = fit_world(columns(), "y", reading=Reading(missing=["999", "a=-9"]))
    assert fitted.warnings == ("`missing` 999, a=-9: not found, so nothing was changed.",)


def test_a_code_for_a_column_that_is_not_there_is_a_fault():
    words = "missing: 'insuln=0', there is no column 'insuln' (did you mean 'insulin'?)"
    with pytest.raises(pr.InvalidData, match=re.escape(words)):
        fit_world(frame(INSULIN), "y", reading=Reading(missing=["insuln=0"]))


def test_a_fault_of_an_argument_begins_with_it_also_for_files(tmp_path):
    path = tmp_path / "cases.csv"
    pd.DataFrame(columns(site=["1 mile?"] * ROWS)).to_csv(path, index=False)
    with pytest.raises(pr.InvalidInput) as caught:
        fit_source(path, "y", reading=Reading(missing=["c=0"], positive="1"))
    assert sorted(fault.split(":")[0] for fault in caught.value.faults) == ["missing", "positive"]


@pytest.mark.parametrize("text", ["NA", "n/a", "NaN", "null", ".", "?", "-", "missing", "unknown"])
def test_the_usual_texts_among_numbers_are_missing_and_said(text):
    cells = [text if i % 10 == 0 else f"{v:.3f}" for i, v in enumerate(AGES)]
    fitted = fit_world(columns(age=cells), "y")
    assert fitted.missing == {"age": 30}
    assert f"age: 30 cells {text!r} read as missing." in fitted.warnings


def test_among_words_some_of_them_are_answers():
    pain = fit_world(columns(pain=["none", "mild", "NA"] * 100), "y")
    assert pain.design.levels == {"pain": {"mild": "pain=mild", "none": ""}} or (
        pain.design.levels == {"pain": {"mild": "", "none": "pain=none"}}
    )
    assert pain.missing == {"pain": 100}
    signs = fit_world(columns(sign=["+", "-", "-"] * 100), "y")
    assert signs.missing == {}
    assert fit_world(columns(sign=["a", "b", "-"] * 100), "y").missing == {"sign": 100}


@pytest.mark.parametrize("text", ["NA", "-", "none"])
def test_a_column_of_nothing_else_is_left_out(text):
    assert dict(fit_world(columns(c=[text] * ROWS), "y").dropped).keys() == {"c"}


def test_what_is_filled_in_is_said():
    cells = [np.nan if i % 10 == 0 else v for i, v in enumerate(AGES)]
    assert said(fit_world(columns(age=cells), "y").warnings, "30 values missing (age 30)")


@examples(30)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=False, width=32), max_size=40))
def test_any_column_can_be_asked(values):
    for value, times in suspected(np.array(values, dtype=np.float64)):
        assert values.count(value) == times
