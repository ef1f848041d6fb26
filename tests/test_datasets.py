"""The built-in tables are what their sources say they are."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.data.datasets import load_breast_cancer, load_diabetes
from preceptor.data.world_fitting import fit_world
from tests.body_fat import TABLE, load_body_fat

every = pytest.mark.parametrize("load", [load_body_fat, load_diabetes, load_breast_cancer])


@every
def test_every_column_has_a_unit_and_the_frame_ends_with_the_outcome(load):
    data = load()
    assert set(data.units) == set(data.columns) == {*data.tests, data.outcome}
    assert list(data.frame.columns) == [*data.tests, data.outcome]
    assert data.frame.shape == (data.rows, len(data.tests) + 1)
    assert not data.frame.isna().to_numpy().any()
    assert data.source in data.describe()
    assert data.licence in data.describe()


@every
def test_a_world_comes_out(load):
    data = load()
    fitted = fit_world(data.frame, data.outcome)
    assert fitted.rows == data.rows
    assert fitted.world.names == data.tests
    assert fitted.dropped == ()
    assert fitted.world == fit_world(data.columns, data.outcome).world


def test_body_fat_is_the_published_table():
    data = load_body_fat()
    assert (data.rows, len(data.tests)) == (252, 13)
    correlation = np.corrcoef([data.columns[test] for test in data.tests])
    strongest = np.abs(correlation - np.eye(13)).max()
    assert round(float(strongest), 2) == 0.94  # weight and hip
    # rows of Johnson's table: the first, and the oddities that his notes name
    row = {name: values[0] for name, values in data.columns.items()}
    assert (row["brozek"], row["age"], row["weight"], row["wrist"]) == (12.6, 23.0, 154.25, 17.1)
    assert data.columns["height"][41] == 29.5
    assert data.columns["brozek"][181] == 0.0
    assert any("Row 42" in note for note in data.notes)
    assert any("row 182 is 0" in note for note in data.notes)


def test_body_fat_follows_from_density_but_for_the_rows_that_the_notes_name():
    text = TABLE.read_text("utf-8")
    header = text.splitlines()[0].split(",")
    table = np.loadtxt(text.splitlines()[1:], delimiter=",")
    density = table[:, header.index("density")]
    for outcome, formula in (("brozek", 457 / density - 414.2), ("siri", 495 / density - 450)):
        data = load_body_fat(outcome)
        assert data.outcome == outcome
        off = np.abs(np.maximum(formula, 0.0) - data.columns[outcome])
        assert {1 + int(i) for i in np.flatnonzero(off > 2.0)} == {48, 76, 96}
    assert formula[181] < 0


def test_height_is_doubted():
    data = load_body_fat()
    [doubt] = fit_world(data.columns, data.outcome).rows_in_doubt
    assert "column 'height', row 42" in doubt


def test_diabetes_is_on_its_original_scale():
    data = load_diabetes()
    assert (data.rows, len(data.tests)) == (442, 10)
    assert 18 < data.columns["age"].min() < data.columns["age"].max() < 80
    assert_allclose(data.columns["progression"].mean(), 152.13, atol=0.01)


def test_diabetes_is_what_scikit_learn_gives():
    from sklearn.datasets import load_diabetes as load

    loaded, data = load(scaled=False), load_diabetes()
    assert np.array_equal(loaded.data, np.column_stack([data.columns[t] for t in data.tests]))
    assert np.array_equal(loaded.target, data.columns["progression"])
    # which of their columns got which of our names
    words = loaded.DESCR.lower()
    for name, theirs in (("total cholesterol", "s1"), ("LDL", "s2"), ("HDL", "s3")):
        meant = data.units[name].split(",")[0] if name != "total cholesterol" else "total serum"
        assert re.search(rf"{theirs}\s+\w+, {meant}", words)
        assert data.tests.index(name) == loaded.feature_names.index(theirs)


def test_diabetes_is_found_wherever_scikit_learn_keeps_it(monkeypatch):
    here = load_diabetes()
    monkeypatch.setattr("preceptor.data.datasets.Path.is_file", lambda self: False)
    moved = load_diabetes()
    assert all(np.array_equal(here.columns[name], moved.columns[name]) for name in here.columns)


def test_diabetes_needs_scikit_learn(monkeypatch):
    monkeypatch.setattr("preceptor.data.datasets.find_spec", lambda name: None)
    with pytest.raises(pr.MissingExtra, match=re.escape("pip install 'preceptor[data]'")):
        load_diabetes()


@pytest.mark.parametrize("moved", [False, True])
def test_breast_cancer_is_what_scikit_learn_gives(moved, monkeypatch):
    from sklearn.datasets import load_breast_cancer as load

    loaded = load()
    if moved:
        monkeypatch.setattr("preceptor.data.datasets.Path.is_file", lambda self: False)
    data = load_breast_cancer()
    assert np.array_equal(
        loaded.data[:, :10], np.column_stack([data.columns[t] for t in data.tests])
    )
    assert [f"mean {name}" for name in data.tests] == list(loaded.feature_names[:10])
    assert np.array_equal(loaded.target == 0, data.columns["malignant"] == 1)


def test_an_unknown_outcome():
    with pytest.raises(
        pr.InvalidInput, match=re.escape("outcome: 'fat', must be 'brozek' or 'siri'")
    ):
        load_body_fat("fat")
