"""Numbers beyond all bounds: a world or a sentence, and no warnings on the way."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.data.world_fitting import fit_world
from tests.data.tables import ROWS, columns
from tests.strategies import examples

A = np.array(columns()["a"])
Y = np.array(columns()["y"])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("scale", [1e90, 1e-90])
def test_the_unit_of_a_test_does_not_matter(scale):
    plain, scaled = fit_world(columns(), "y"), fit_world(columns(a=(A * scale).tolist()), "y")
    assert_allclose(scaled.world.coefficients, plain.world.coefficients, rtol=1e-9)
    assert_allclose(scaled.world.units.scales[0], plain.world.units.scales[0] * scale, rtol=1e-9)
    assert_allclose(scaled.r_squared, plain.r_squared, rtol=1e-9)
    assert scaled.summary()
    assert scaled.bootstrap(3).replicates == 3
    with_gap = np.where(np.arange(ROWS) == 3, np.nan, A * scale)
    assert fit_world(columns(a=with_gap), "y").missing == {"a": 1}


REFUSED = {
    "a test that is too large": ({"a": A * 1e107}, "is beyond 1e+100"),
    "an outcome that is too large": ({"y": Y * 1e90}, "use another unit"),
    "an outcome that is too small": ({"y": Y * 1e-200}, "use another unit"),
    "an outcome constant up to rounding": ({"y": 0.3 + 5e-17 * (A > 0)}, "is 0.3 in every row"),
    "digits by the thousand": ({"a": [10**5000 + i for i in range(ROWS)]}, "infinite or too large"),
    "their negatives": ({"a": [-(10**5000)] * ROWS}, "-inf is infinite or too large"),
    "as text": ({"a": ["9" * 5000] * ROWS}, "infinite or too large"),
    "as an outcome": ({"y": [10**5000 + i for i in range(ROWS)]}, "infinite or too large"),
    "many kinds of things": (
        {"a": pd.Series([1, "x", None, 2.5, (1, 2), pd.NA, True, b"x", 3, 4] * 30, dtype=object)},
        "'x' is not a number, but most of the column are",
    ),
}


@pytest.mark.parametrize(("change", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_reckoned_with_gets_a_sentence(change, words):
    with pytest.raises(pr.InvalidData) as caught:
        fit_world(pd.DataFrame(columns()).assign(**change), "y")
    assert words in str(caught.value)


def test_two_outcomes_that_are_too_large_are_yes_and_no_but_no_numbers():
    table = pd.DataFrame(columns()).assign(y=np.where(Y > 0, 1e90, 0.0))
    assert fit_world(table, "y").world.is_binary
    with pytest.raises(pr.InvalidData, match="use another unit"):
        fit_world(table, "y", as_number=True)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (0.3 + 5e-17 * (A > 0), "it is 0.3 in every case"),
        (1e9 + 1e-7 * (A > 0), "it is 1e+09 in every case"),
        (A * 1e-300, "too little to compute with"),
    ],
)
def test_what_differs_by_rounding_does_not_differ(values, reason):
    fitted = fit_world(columns(c=values), "y")
    assert reason in dict(fitted.dropped)["c"]


cells = st.one_of(
    st.none(),
    st.floats(),
    st.integers(),
    st.booleans(),
    st.text(max_size=8),
    st.sampled_from(["NA", "63%", "1,234", "<5", "2024-01-01", "1e400", "-", "10" * 200, "M", "B"]),
)


@examples(30)
@given(
    st.lists(cells, min_size=6, max_size=14),
    st.lists(cells, min_size=6, max_size=14),
    st.sampled_from([1.0, 1e200, 1e-200]),
)
def test_any_column_ends_in_a_world_or_in_a_sentence(first, second, scale):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"c": rng.normal(size=42) * scale})
    table["a"] = pd.Series((first * 7)[:42], dtype=object)
    table["y"] = pd.Series((second * 7)[:42], dtype=object)
    try:
        fitted = fit_world(table, "y")
    except pr.InvalidInput:
        return
    assert fitted.summary()
    assert all(isinstance(text, str) for text in fitted.warnings)
