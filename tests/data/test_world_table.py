"""Tables as people have them: categories, gaps, repetition and mistakes."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.covariance import EmpiricalCovariance
from sklearn.linear_model import LinearRegression

import preceptor as pr
from preceptor.data.world_fitting import fit_world

ROWS = 60
makes = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def columns(**changes) -> dict[str, list]:
    """A sound table as plain lists, with some columns added or replaced."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, ROWS))
    base = {"a": a.tolist(), "b": b.tolist(), "y": (a - b + rng.normal(size=ROWS)).tolist()}
    return base | changes


def replaced(values: list, row: int, value: object) -> list:
    return [value if i == row else v for i, v in enumerate(values)]


SITES = (["north", "south", "south", "east", "south", "west"] * ROWS)[:ROWS]


# --- categories -----------------------------------------------------------------------------------


@makes
def test_a_category_is_one_test_of_a_column_for_each_level_but_the_most_common(make):
    fitted = fit_world(make(columns(site=SITES)), "y")
    world = fitted.world
    assert world.names == ("a", "b", "site=east", "site=north", "site=west")
    assert world.tests == ("a", "b", "site")
    assert world.groups == (("site", (2, 3, 4)),)
    assert_allclose(world.units.means[2:], [1 / 6, 1 / 6, 1 / 6])
    assert any("relative to 'south', its most common level" in note for note in fitted.notes)


def test_a_category_is_regressed_on_like_dummies():
    table = pd.DataFrame(columns(site=SITES))
    plain = {"covariance": EmpiricalCovariance(), "regression": LinearRegression()}
    world = fit_world(table, "y", **plain).world
    dummies = pd.get_dummies(table, columns=["site"], dtype=float).drop(columns=["y", "site_south"])
    reference = LinearRegression().fit(dummies, table["y"])
    assert_allclose(world.coefficients / world.units.scales, reference.coef_)
    assert_allclose(world.covariance, np.corrcoef(dummies.to_numpy().T), atol=1e-12)


def test_which_level_is_left_out_makes_no_difference_to_predictions():
    table = pd.DataFrame(columns(site=SITES))
    renamed = table.assign(site=pd.Categorical(table["site"].replace({"south": "a bit south"})))
    plain = {"covariance": EmpiricalCovariance(), "regression": LinearRegression()}
    one, other = fit_world(table, "y", **plain).world, fit_world(renamed, "y", **plain).world
    assert_allclose(one.noise_variance, other.noise_variance)


def test_a_category_is_budgeted_as_one_test():
    world = fit_world(pd.DataFrame(columns(site=SITES)), "y").world
    problem = pr.Problem(world, pr.Learner(np.zeros(5), pr.Geometric(1.5)), pr.Exactly(1))
    assert set(problem.sets) == {(0,), (1,), (2, 3, 4)}


@makes
def test_yes_and_no_are_one_number(make):
    yes = [i % 3 == 0 for i in range(ROWS)]
    world = fit_world(make(columns(yes=yes)), "y").world
    assert world.names == ("a", "b", "yes")
    assert world.groups is None
    assert_allclose(world.units.means[2], np.mean(yes))


@makes
def test_gaps_in_categories_and_truth_values(make):
    sites = replaced(SITES, 3, None)
    yes = replaced([i % 7 == 0 for i in range(ROWS)], 5, None)
    fitted = fit_world(make(columns(site=sites, yes=yes)), "y")
    assert fitted.missing == {"site": 1, "yes": 1}


def test_categories_by_type_keep_their_numbers_apart():
    grades = pd.Categorical([1, 2, 2, 3, 2, 2] * 10)
    world = fit_world(pd.DataFrame(columns(grade=grades)), "y").world
    assert world.names == ("a", "b", "grade=1", "grade=3")
    enum = pl.Series("site", SITES, dtype=pl.Enum(["north", "south", "east", "west"]))
    assert fit_world(pl.DataFrame(columns()).with_columns(enum), "y").world.tests[2] == "site"


def test_rare_levels_are_doubted():
    fitted = fit_world(pd.DataFrame(columns(site=replaced(SITES, 7, "moon"))), "y")
    assert any("site: 'moon' in fewer than 5 cases" in doubt for doubt in fitted.doubts)


def test_numbers_stored_as_text_are_numbers():
    table = columns()
    stored = table | {"a": [f" {v} " for v in table["a"]], "b": replaced(table["b"], 4, "")}
    fitted = fit_world(pd.DataFrame(stored), "y")
    assert fitted.missing == {"b": 1}
    assert "a: numbers stored as text were read as numbers." in fitted.notes
    whole = fit_world(pd.DataFrame(table).assign(b=replaced(table["b"], 4, np.nan)), "y")
    assert_allclose(fitted.world.coefficients, whole.world.coefficients)


def test_a_category_with_one_level_is_left_out():
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=30), "k": np.array(["x"] * 30), "y": rng.normal(size=30)}
    assert fit_world(table, "y").dropped == (("k", "it is 'x' in every case"),)


@given(
    st.lists(st.sampled_from(["x", "y", "z"]), min_size=30, max_size=30).filter(
        lambda levels: len(set(levels)) > 1
    )
)
def test_columns_of_a_category_add_up(levels):
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=30), "k": np.array(levels), "y": rng.normal(size=30)}
    fitted = fit_world(table, "y")
    coded = fitted.design.values[:, 1:]
    assert np.all(np.isin(coded, [0.0, 1.0]))
    common = max(sorted(set(levels)), key=levels.count)
    assert coded.sum(axis=1).tolist() == [float(level != common) for level in levels]


# --- columns that say nothing ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "name", "reason"),
    [
        ({"c": [7] * ROWS}, "c", "it is 7 in every case"),
        ({"c": ["same"] * ROWS}, "c", "it is 'same' in every case"),
        ({"c": [None] * ROWS}, "c", "it has no values"),
        ({"c": [2.5 - 3 * v for v in columns()["a"]]}, "c", "it says the same as a"),
        (
            {"c": [u + v for u, v in zip(columns()["a"], columns()["b"], strict=True)]},
            "c",
            "it follows exactly from a and b",
        ),
        ({"s": SITES, "t": [s.upper() for s in SITES]}, "t=EAST", "it says the same as s=east"),
    ],
)
def test_columns_that_add_nothing_are_left_out_and_said(change, name, reason):
    fitted = fit_world(pd.DataFrame(columns(**change)), "y")
    assert (name, reason) in fitted.dropped
    assert name not in fitted.world.names
    assert f"{name} was left out: {reason}." in fitted.notes
    assert f"{name} was left out: {reason}." in fitted.warnings
    assert name in fitted.summary()


def test_nearly_a_copy_is_kept():
    a = columns()["a"]
    rng = np.random.default_rng(1)
    close = [v + 1e-3 * e for v, e in zip(a, rng.normal(size=ROWS), strict=True)]
    assert fit_world(pd.DataFrame(columns(c=close)), "y").dropped == ()


def test_repetition_is_found_beside_gaps():
    a = columns()["a"]
    table = columns(b=replaced(columns()["b"], 3, None), c=[2 * v for v in a])
    assert fit_world(pd.DataFrame(table), "y").dropped == (("c", "it says the same as a"),)


def test_rows_without_an_outcome_are_left_out_and_said():
    table = pd.DataFrame(columns())
    gappy = table.assign(y=replaced(replaced(table["y"].tolist(), 4, None), 9, None))
    fitted = fit_world(gappy, "y")
    assert fitted.rows == ROWS - 2
    assert fitted.world == fit_world(table.drop(index=[4, 9]), "y").world
    assert fitted.notes == ("2 rows without an outcome were left out.",)
    assert fitted.warnings == (
        "2 rows without an outcome were left out "
        "(first: column 'y', row 5 (line 6 of a file with a header)).",
    )


def test_drop_ignores_columns():
    table = pd.DataFrame(columns(name=[f"case {i}" for i in range(ROWS)]))
    assert fit_world(table, "y", drop=["name"]).world == fit_world(columns(), "y").world
    assert fit_world(table, "y", drop="name").world.names == ("a", "b")


def test_a_value_that_only_one_case_has_is_doubted_and_so_is_a_far_outcome():
    lonely = fit_world(columns(c=replaced([0.0] * ROWS, 4, 1.0)), "y")
    assert lonely.doubts == ("c is 1 in only 1 case, too few for a weight.",)
    far = fit_world(columns(y=replaced(columns()["y"], 4, 900.0)), "y")
    assert any("column 'y', row 5" in doubt and "900 is" in doubt for doubt in far.rows_in_doubt)


def test_doubts_about_numbers():
    a = columns()["a"]
    fitted = fit_world(columns(a=replaced(a, 6, 500.0), turn=[*range(1, ROWS + 1)]), "y")
    [far] = fitted.rows_in_doubt
    counts = fitted.doubts[1]
    assert far.startswith("column 'a', row 7 (line 8 of a file with a header): 500 is ")
    distance = int(re.search(r"is (\d+) standard deviations from the average", far).group(1))
    others = np.delete(a, 6)
    assert distance == round((500 - np.mean(others)) / np.std(others))
    assert counts == "turn counts the rows; if it is not a test, `drop` turn."


# --- mistakes -------------------------------------------------------------------------------------

A = columns()["a"]
WRONG = {
    "text among numbers": (
        columns(a=replaced([str(v) for v in A], 6, "12,5")),
        "column 'a', row 7 (line 8 of a file with a header): '12,5' is not a number",
    ),
    "several texts among numbers": (
        columns(a=replaced(replaced([str(v) for v in A], 6, "high"), 8, "low")),
        "'high' is not a number, but most of the column are (and 1 more); correct it, leave",
    ),
    "decimal commas": (
        columns(a=[str(v).replace(".", ",") for v in A]),
        "has a decimal comma; use decimal=",
    ),
    "an infinite value": (
        columns(b=replaced(columns()["b"], 2, float("inf"))),
        "column 'b', row 3 (line 4 of a file with a header): inf is infinite",
    ),
    "an infinite outcome": (
        columns(y=replaced(columns()["y"], 2, float("-inf"))),
        "column 'y', row 3 (line 4 of a file with a header): -inf is infinite",
    ),
    "a constant outcome": (columns(y=[3.0] * ROWS), "outcome 'y': is 3 in every row"),
    "an outcome without values": (columns(y=[None] * ROWS), "outcome 'y': no row has a value"),
    "an outcome in words": (
        columns(y=(["good", "bad", "ugly"] * ROWS)[:ROWS]),
        "outcome, column 'y', row 1 (line 2 of a file with a header): 'good' is not a number",
    ),
    "nothing to learn from": (
        {"a": [1.0] * ROWS, "y": columns()["y"]},
        "no column is left to learn from (a: it is 1 in every case)",
    ),
    "no tests": ({"y": columns()["y"]}, "X: no columns of tests"),
    "no rows": ({"a": [], "b": [], "y": []}, "X: the table has no rows"),
    "fewer rows than tests": (
        {name: values[:3] for name, values in columns().items()},
        "rows: 3 with an outcome for 2 columns of tests, must be at least 4",
    ),
}


@makes
@pytest.mark.parametrize(("table", "words"), WRONG.values(), ids=WRONG)
def test_mistakes_are_said_in_one_sentence_with_their_place(make, table, words):
    with pytest.raises(pr.InvalidData, match=re.escape(words)) as caught:
        fit_world(make(table), "y")
    assert len(caught.value.faults) == 1
    assert isinstance(caught.value, pr.InvalidInput)


def test_all_mistakes_are_listed_at_once():
    wrong = columns(
        a=replaced([str(v) for v in A], 6, "high"),
        b=replaced(columns()["b"], 2, float("inf")),
        y=(["good", "bad", "ugly"] * ROWS)[:ROWS],
    )
    with pytest.raises(pr.InvalidData) as caught:
        fit_world(pd.DataFrame(wrong), "y")
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize(
    ("X", "y", "options", "words"),
    [
        (columns(), "z", {}, "outcome 'z': no such column"),
        (
            columns(outcome=A),
            "outcom",
            {},
            "no such column (did you mean 'outcome'?); there are a, b",
        ),
        (columns(), "y", {"drop": ["z"]}, "drop: 'z', no such column; there are a, b"),
        (columns(), [1.0, 2.0], {}, "column 'a': 60 rows, but there are 2 outcomes"),
        (np.zeros(3), [1.0], {}, "X: shape (3,), must be a table"),
        ([[1, 2], [3]], [1, 2], {}, "X: rows of different lengths"),
        (
            {"a": [[1, 2], [3, 4]]},
            [1, 2],
            {},
            "column 'a': shape (2, 2), must be one value",
        ),
        (np.ones((3, 2)), np.ones((3, 2)), {}, "y: shape (3, 2), must be one outcome per case"),
        (np.ones((3, 2)), [1, 2, 3], {"names": ["a"]}, "names: 1 names for 2 columns"),
        (np.ones((3, 2)), [1, 2, 3], {"names": ["a", "a"]}, "is there twice"),
        (pl.LazyFrame(columns()), "y", {}, "X: a LazyFrame, must be a frame or an array"),
        (3, "y", {}, "X: a int, must be a frame or an array"),
        (pd.DataFrame(columns()), 3.0, {}, "y: a float, must be a series, an array or the name"),
        (np.ones((4, 1)) * 1j, [1, 2, 3, 4], {}, "column 'x1': holds complex numbers"),
    ],
)
def test_what_cannot_be_read_as_a_table(X, y, options, words):
    with pytest.raises(pr.InvalidData, match=re.escape(words)):
        fit_world(X, y, **options)


def test_rows_in_another_order_are_not_mixed_up():
    table = pd.DataFrame(columns())
    shuffled = table["y"].sample(frac=1, random_state=0)
    with pytest.raises(pr.InvalidData, match="labelled differently"):
        fit_world(table[["a", "b"]], shuffled)
    assert fit_world(table[["a", "b"]], table["y"]).world == fit_world(table, "y").world


def test_outcomes_may_stand_in_a_column_of_their_own():
    y = np.array(columns()["y"])
    X = {name: columns()[name] for name in "ab"}
    assert fit_world(X, y[:, None]).world == fit_world(X, y).world


def test_two_columns_of_one_name():
    table = pd.DataFrame(np.ones((5, 2)), columns=["a", "a"])
    with pytest.raises(pr.InvalidData, match="a"):
        fit_world(table, [1, 2, 3, 4, 5])


def test_nullable_pandas_types():
    table = pd.DataFrame(columns())
    nullable = table.convert_dtypes().assign(b=table["b"].astype("Float64"))
    nullable.loc[3, "b"] = pd.NA
    expected = table.copy()
    expected.loc[3, "b"] = np.nan
    assert fit_world(nullable, "y").world == fit_world(expected, "y").world


def test_arrays_need_no_extra_and_frames_say_which():
    code = (
        "import sys\n"
        "for name in ['narwhals', 'pandas', 'sklearn', 'polars']: sys.modules[name] = None\n"
        "import numpy as np, preceptor as pr\n"
        "cases = np.random.default_rng(0).normal(size=(40, 4))\n"
        "columns = {name: cases[:, i] for i, name in enumerate('abcy')}\n"
        "print(pr.data.fit_world(columns, 'y').world.size)\n"
        "try: pr.data.fit_world(object(), 'y')\n"
        "except pr.MissingExtra as error: print(error)\n"
    ).replace("import numpy", "import preceptor.data, numpy")
    code = "import warnings; warnings.simplefilter('ignore')\n" + code
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    size, message = done.stdout.strip().splitlines()
    assert size == "3"
    assert "pip install 'preceptor[data]'" in message
