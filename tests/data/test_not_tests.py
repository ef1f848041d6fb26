"""Columns that are no tests, numbers in disguise, and categories with too many levels."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from preceptor._base.checks import parse_spelling
from preceptor.data.odd_values import is_date
from preceptor.data.opening import Reading
from preceptor.data.world_fitting import fit_world
from tests.data.tables import ROWS, columns, said

RNG = np.random.default_rng(3)
DATES = "it holds dates or times; turn them into numbers (an age, days since) if they matter"
makes = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


# --- dates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("2024-12-31", "2024/12/31", "31.12.2024", "31.12.24", "12/31/2024", "1/2/24"),
        *("2024-12-31T23:59:59Z", "2024-12-31 23:59", "31.12.2024 23:59", "12/31/2024 1:05 PM"),
        *("31 Dec 2024", "Dec 31, 2024", "3. M\u00e4rz 2024", "31-Dec-24", "13:45", "9:30:15"),
    ],
)
def test_forms_of_dates(text):
    assert is_date(text)


@pytest.mark.parametrize(
    "text",
    ["12", "1.5", "3+4", "120/80", "2024", "H-00123", "40.50.2024", "99-99-99", "II", "", "1:2"],
)
def test_forms_of_other_things(text):
    assert not is_date(text)


@makes
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y %H:%M", "%Y%m%d"])
def test_dates_are_left_out_with_a_sentence(make, form):
    days = [datetime.datetime(2024, 1, 1) + datetime.timedelta(d) for d in range(36)]
    cells = [days[i].strftime(form) for i in RNG.integers(36, size=ROWS)]
    fitted = fit_world(make(columns(admitted=cells)), "y")
    assert fitted.world.names == ("a", "b")
    assert fitted.dropped == (("admitted", DATES),)
    assert fitted.warnings[0] == f"admitted was left out: {DATES}."


@makes
def test_dates_by_type_are_left_out_too(make):
    days = [datetime.datetime(2024, 1, 1 + i % 28) for i in range(ROWS)]
    assert fit_world(make(columns(day=days)), "y").dropped == (("day", DATES),)


# --- numbers in disguise --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("63%", 63, "%"),
        ("63 y", 63, "y"),
        ("12.5 mg/dl", 12.5, "mg/dl"),
        ("-3.5e2 mV", -350, "mV"),
        ("1,234", 1234, ""),
        ("1,234,567.5", 1234567.5, ""),
        ("1 234", 1234, ""),
        ("<5", 5, ""),
        ("> 90", 90, ""),
        ("\u226590 %", 90, "%"),
        ("37\u00b0C", 37, "\u00b0C"),
    ],
)
def test_what_a_cell_spells(text, value, unit):
    found = parse_spelling(text)
    assert (found.value, found.unit) == (value, unit)


@pytest.mark.parametrize("text", ["12,5", "0,123", "T1", "3+4", "1-2", "", "mg", "1 2", "5 6 y"])
def test_what_spells_no_number(text):
    assert parse_spelling(text) is None


def test_decimal_commas_where_they_are_known():
    assert parse_spelling("1.234,5", ",").value == 1234.5
    assert parse_spelling("<0,5 mg", ",").value == 0.5


def test_points_between_thousands_in_a_table_with_decimal_commas():
    cells = [f"{1_000 + i}"[:1] + "." + f"{1_000 + i}"[1:] + ",5" for i in range(ROWS - 1)]
    fitted = fit_world(columns(c=[*cells, "<2.000"]), "y", reading=Reading(decimal=","))
    assert fitted.design.values[:, 2].tolist() == [1_000.5 + i for i in range(ROWS - 1)] + [2_000.0]


NUMBERS = RNG.integers(20, 9_000, ROWS).astype(float)


@makes
@pytest.mark.parametrize(
    ("write", "note"),
    [
        (lambda v: f"{v:g}%", "'%' after the numbers was left out."),
        (lambda v: f"{v:g} y", "'y' after the numbers was left out."),
        (lambda v: f"{v:,.0f}", "marks between thousands were left out."),
        (lambda v: f"<{v:g}" if v == min(NUMBERS) else v, "1 bounds such as '<20'"),
        (lambda v: f"{v:g} y" if v < 5_000 else f"{v:g}", "'y' after the numbers was left out."),
    ],
)
def test_numbers_in_disguise_are_numbers_and_that_is_said(make, write, note):
    cells = [str(write(v)) for v in NUMBERS]
    if "<" in note:
        note = note.replace("<20", f"<{min(NUMBERS):g}")
    fitted = fit_world(make(columns(c=cells)), "y")
    assert fitted.design.values[:, 2].tolist() == NUMBERS.tolist()
    assert said(fitted.warnings, "c: ", note)


def test_different_units_are_not_mixed():
    cells = [f"{v % 5:g} {'y' if i % 2 else 'months'}" for i, v in enumerate(NUMBERS)]
    assert "c" not in fit_world(columns(c=cells), "y").world.names


# --- identifiers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["id", "patient_id", "PatientID", "mrn", "case no", "row", "Nr"])
def test_a_number_that_is_called_an_identifier_and_is_one_is_left_out(name):
    numbers = RNG.permutation(10**6)[:ROWS]
    fitted = fit_world(columns(**{name: numbers}), "y")
    assert fitted.dropped == (
        (name, "it is a whole number that no two cases share, so it is an identifier"),
    )


def test_a_test_that_ends_alike_is_kept():
    assert fit_world(columns(id=RNG.normal(size=ROWS)), "y").dropped == ()
    assert fit_world(columns(lipid=RNG.permutation(10**6)[:ROWS]), "y").dropped == ()


@pytest.mark.parametrize(
    "numbers",
    [
        RNG.permutation(ROWS),
        np.sort(RNG.permutation(10**5)[:ROWS]),
        10**7 + RNG.permutation(10**6)[:ROWS],
    ],
    ids=["in a narrow range", "sorted", "of one length"],
)
def test_whole_numbers_that_are_never_repeated_are_doubted(numbers):
    doubt = said(fit_world(columns(c=numbers), "y").doubts, "may be an identifier", "`drop` c")
    assert doubt.startswith("c is a whole number that no two cases share")


def test_measured_whole_numbers_are_not():
    platelets = RNG.normal(250, 60, ROWS).round()
    assert fit_world(columns(c=platelets), "y").doubts == ()


def test_counting_the_rows_is_doubted():
    fitted = fit_world(columns(c=range(5, ROWS + 5)), "y")
    assert "c counts the rows; if it is not a test, `drop` c." in fitted.doubts


@makes
def test_names_are_left_out(make):
    fitted = fit_world(make(columns(who=[f"P-{i}" for i in range(ROWS)])), "y")
    reason = "300 different texts in 300 cases identify the cases"
    assert fitted.dropped == (("who", reason),)


# --- levels ---------------------------------------------------------------------------------------


def test_a_random_category_of_many_levels_does_not_predict():
    for seed in range(5):
        codes = np.random.default_rng(seed).choice([f"w{i}" for i in range(36)], 1_200)
        fitted = fit_world(columns(1_200, ward=codes), "y")
        assert fitted.world.names == ("a", "b")
        assert "do not predict y in held-out cases" in fitted.dropped[0][1]


def test_of_a_category_that_is_left_out_its_own_levels_are_counted_and_no_others_told():
    rng = np.random.default_rng(0)
    codes = [*rng.choice([f"w{i}" for i in range(20)], ROWS - 6), "p", "p", "q", "q", "r", "r"]
    fitted = fit_world(columns(group=codes), "y")
    reason = "its 23 levels do not predict y in held-out cases"
    assert fitted.dropped == (("group", reason),)
    assert not [note for note in (*fitted.notes, *fitted.doubts) if "merged" in note]
    assert not [text for text in fitted.warnings if "rare" in text]


def test_one_that_predicts_is_kept_also_if_only_beside_the_others():
    codes = np.random.default_rng(0).integers(12, size=1_200)
    table = columns(1_200, ward=[f"w{c}" for c in codes])
    a, effect = np.array(table["a"]), 0.3 * (codes % 3)
    alone = fit_world(table | {"y": table["y"] + effect}, "y")
    assert len(alone.design.groups["ward"]) == 11
    # Noise that the other test explains hides it from a look at the category alone.
    beside = fit_world(table | {"y": table["y"] + effect + 30.0 * a}, "y")
    assert len(beside.design.groups["ward"]) == 11


def test_two_thousand_codes_are_refused_before_anything_is_made_of_them():
    rng = np.random.default_rng(0)
    codes = [f"H-{i:05d}" for i in rng.integers(2_000, size=20_000)]
    fitted = fit_world(columns(20_000, hospital=codes), "y")
    assert "2,000 levels are too many for 20,000 cases" in fitted.dropped[0][1]
    assert fitted.design.values.shape == (20_000, 2)


def test_rare_levels_are_merged_and_said():
    sites = ["north"] * 150 + ["south"] * 141 + ["x", "x", "y", "y", "y", "z", "z", "w", "v"]
    fitted = fit_world(columns(site=sites), "y")
    assert fitted.world.names[2:] == ("site=south", "site=other")
    assert fitted.design.levels == {
        "site": {"north": "", "south": "site=south"} | dict.fromkeys("vwxyz", "site=other")
    }
    assert fitted.world.units.levels == fitted.design.levels
    merged = "site: 5 rare levels ('v', 'w', 'x', 'y', 'z') were merged into 'other', 9 cases."
    assert merged in fitted.warnings
    assert "site: 5 rare levels were merged into 'other', 9 cases." in fitted.notes
    assert fitted.design.values[:, 3].sum() == 9


def test_a_level_that_is_called_other_takes_the_rare_ones():
    sites = ["north"] * 200 + ["Other"] * 90 + ["x"] * 4 + ["y"] * 4 + ["z"] * 2
    fitted = fit_world(columns(site=sites), "y")
    assert fitted.design.levels["site"]["x"] == "site=Other"
    assert fitted.design.values[:, 2].sum() == 100


def test_spellings_that_differ_in_capitals_are_one_level():
    fitted = fit_world(columns(sex=["F", "f", "M", "M", "m ", "F"] * 50), "y")
    assert len(fitted.design.levels["sex"]) == 2
    assert "sex: spellings of 'F', 'M' were taken as one." in fitted.warnings


def test_levels_of_columns_that_were_left_out_are_zeros():
    sites = (["north", "south", "east"] * ROWS)[:ROWS]
    table = columns(s=sites, t=[site.upper() for site in sites])
    fitted = fit_world(table, "y")
    assert set(fitted.design.levels) == {"s"}


def test_a_column_named_like_a_level_is_a_sentence():
    table = columns(site=["n", "s", "s"] * 100)
    table["site=n"] = RNG.normal(size=ROWS).tolist()
    with pytest.raises(ValueError, match="rename one of them"):
        fit_world(table, "y")


# --- single cases ---------------------------------------------------------------------------------


def test_a_far_value_is_doubted_without_its_row_and_with_it():
    # values of its own, whatever the tests before have drawn
    values = np.random.default_rng(41).normal(size=ROWS)
    values = 0.9 * (values - values.mean()) / values.std()
    values[41] = 29.5
    fitted = fit_world(columns(c=values), "y")
    [doubt], [placed] = fitted.doubts, fitted.rows_in_doubt
    assert doubt.startswith("c: one value is 3")
    assert "row" not in doubt
    assert "29.5" not in doubt
    assert placed.startswith("column 'c', row 42 (line 43 of a file with a header): 29.5 is 3")
    assert placed in fitted.warnings
    assert doubt not in fitted.warnings
    assert "row 42" not in fitted.summary()


@pytest.mark.parametrize("ones", [3, 30])
def test_two_valued_columns_have_no_outliers(ones):
    fitted = fit_world(columns(flag=[int(i < ones) for i in range(ROWS)]), "y")
    rare = ("flag is 1 in only 3 cases, too few for a weight.",)
    assert fitted.doubts == (rare if ones == 3 else ())
    assert fitted.rows_in_doubt == ()


def test_warnings_say_everything_once_and_in_order():
    table = columns(
        day=["2024-01-01"] * ROWS,
        pct=[f"{v}%" for v in RNG.integers(100, size=ROWS)],
        gaps=[None if i % 9 == 0 else v for i, v in enumerate(RNG.normal(size=ROWS))],
        site=["n"] * 150 + ["s"] * 140 + ["x"] * 4 + ["y"] * 4 + ["z"] * 2,
        far=[*RNG.normal(size=ROWS - 1), 99.0],
    )
    warnings = fit_world(table, "y", notes=["cases.csv: read with semicolons."]).warnings
    order = ["semicolons", "pct: '%'", "merged", "day was left out", "missing (gaps", "row 300"]
    assert [next(i for i, text in enumerate(warnings) if w in text) for w in order] == [*range(6)]
    assert len(warnings) == 6
