"""The runner: cells do not know what else is run, and what was computed is not computed again."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from preceptor._base.many import Journal
from preceptor.paper import stationary
from preceptor.paper.reproduction import run
from preceptor.paper.sweep import Sweep, run_sweeps
from tests.paper import tasks


def fractions(sweeps, journal=None) -> list[float]:
    """What the progress callback was told."""
    told = []
    run_sweeps(sweeps, journal=journal, progress=lambda update: told.append(update.done))
    return told


# --- seeds


def test_more_draws_change_nothing_that_was_there():
    few = run_sweeps([tasks.sweep(draws=2)])
    many = run_sweeps([tasks.sweep(draws=7)])
    assert many[many["draw"] < 2].reset_index(drop=True).equals(few)
    assert many["number"].is_unique


def test_other_settings_change_nothing():
    alone = run_sweeps([tasks.sweep(scales=(2.0,))])
    among = run_sweeps([tasks.sweep(scales=(1.0, 2.0, 0.5))])
    assert among[among["scale"] == 2.0].reset_index(drop=True).equals(alone)


def test_the_same_for_a_real_experiment():
    few = run("stationary", draws=1, rho=[0.9], quick=True, workers=1)
    many = run("stationary", draws=3, rho=[0.1, 0.9, 0.5], quick=True, workers=1)
    chosen = many[(many["draw"] == 0) & ((many["part"] != "curves") | (many["rho"] == 0.9))]
    assert chosen.reset_index(drop=True).equals(few)


def test_draws_are_children_of_the_seed():
    frame = run_sweeps([tasks.sweep(scales=(1.0,), draws=4, seed=12)])
    children = np.random.SeedSequence(12).spawn(4)
    expected = [np.random.default_rng(child).standard_normal() for child in children]
    assert frame.loc[frame["row"] == 0, "number"].to_list() == expected


def test_another_seed_gives_other_numbers():
    one, other = (run_sweeps([tasks.sweep(seed=seed)])["number"] for seed in (0, 1))
    assert not set(one) & set(other)


def test_settings_share_draws_so_that_they_can_be_compared():
    frame = run_sweeps([tasks.sweep(scales=(1.0, 2.0))])
    halves = [frame.loc[frame["scale"] == s, "number"].to_numpy() / s for s in (1.0, 2.0)]
    assert (halves[0] == halves[1]).all()


@pytest.mark.parametrize("batch", [1, 2, 4, 100])
def test_how_cells_travel_does_not_matter(batch):
    assert run_sweeps([tasks.sweep(batch=batch)]).equals(run_sweeps([tasks.sweep()]))


# --- progress


def test_progress_grows_to_one():
    told = fractions([tasks.sweep(batch=2), tasks.sweep(name="others", scales=(3.0,))])
    assert told == sorted(told)
    assert told[0] > 0.0
    assert told[-1] == 1.0


def test_progress_of_a_run_taken_up_again_starts_where_it_was_and_ends_at_one(tmp_path):
    journal = Journal(tmp_path / "run.jsonl")
    first, second = tasks.sweep(), tasks.sweep(name="others")
    run_sweeps([first], journal=journal)
    told = fractions([first, second], journal)
    assert told == sorted(told)
    assert told[0] >= 0.5
    assert told[-1] == 1.0


@pytest.mark.parametrize("known", ["second", "both"])
def test_progress_ends_at_one_when_the_last_part_is_known(tmp_path, known):
    journal = Journal(tmp_path / "run.jsonl")
    first, second = tasks.sweep(), tasks.sweep(name="others")
    run_sweeps([second] if known == "second" else [first, second], journal=journal)
    assert fractions([first, second], journal)[-1:] == [1.0]


# --- the journal


def counting(monkeypatch) -> list:
    """Cells that are computed from now on."""
    computed = []
    original = Sweep._run_cell
    monkeypatch.setattr(
        Sweep, "_run_cell", lambda self, cell: computed.append(cell) or original(self, cell)
    )
    return computed


def test_what_the_journal_has_is_not_run_again(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "run.jsonl")
    whole = run_sweeps([tasks.sweep(draws=2)], journal=journal)
    computed = counting(monkeypatch)
    assert run_sweeps([tasks.sweep(draws=2)], journal=journal).equals(whole)
    assert computed == []
    more = run_sweeps([tasks.sweep(draws=3)], journal=journal)
    assert computed == [(0, 2), (1, 2)]
    assert more.equals(run_sweeps([tasks.sweep(draws=3)]))


def test_what_failed_is_not_in_the_journal_but_what_came_before_is(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    with pytest.raises(ZeroDivisionError):
        run_sweeps([tasks.sweep(), tasks.sweep(tasks.refuses, name="bad")], journal=Journal(path))
    assert len(path.read_text().splitlines()) == len(tasks.sweep().cells)
    computed = counting(monkeypatch)
    run_sweeps([tasks.sweep()], journal=Journal(path))
    assert computed == []


@pytest.mark.parametrize("left", [0, 1, 17, -1])
def test_a_torn_last_line_is_run_again(tmp_path, monkeypatch, left):
    """A kill may leave the last line half-written, or whole but without its end."""
    path = tmp_path / "run.jsonl"
    whole = run_sweeps([tasks.sweep()], journal=Journal(path))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:left])
    computed = counting(monkeypatch)
    assert run_sweeps([tasks.sweep()], journal=Journal(path)).equals(whole)
    assert len(computed) == 1
    # and the file is whole again
    assert [json.loads(line) for line in path.read_text().splitlines()]
    assert path.read_text().splitlines(keepends=True) == lines


def seed(monkeypatch):
    return dataclasses.replace(tasks.sweep(), seed=1)


def code(monkeypatch):
    monkeypatch.setattr("inspect.getsource", lambda module: "def numbers(): ...")
    return tasks.sweep()


def package(monkeypatch):
    monkeypatch.setattr("preceptor._base.many.package_code", lambda: "another planner")
    return tasks.sweep()


@pytest.mark.parametrize("change", [seed, code, package])
def test_a_journal_of_something_else_is_not_used(tmp_path, monkeypatch, change):
    journal = Journal(tmp_path / "run.jsonl")
    run_sweeps([tasks.sweep()], journal=journal)
    changed = change(monkeypatch)
    computed = counting(monkeypatch)
    frame = run_sweeps([changed], journal=journal)
    assert len(computed) == len(changed.cells)
    assert frame.equals(run_sweeps([changed]))


def test_every_bit_survives_the_journal(tmp_path):
    journal = Journal(tmp_path / "run.jsonl")
    sweeps = [tasks.sweep(), tasks.sweep(tasks.with_holes, name="holes")]
    fresh = run_sweeps(sweeps, journal=journal)
    known = run_sweeps(sweeps, journal=journal)
    pd.testing.assert_frame_equal(known, fresh, check_exact=True)
    assert (fresh["tenth"].dropna() == 0.1 + 0.2).all()


@pytest.mark.parametrize("name", ["action-map", "misspecification", "theorems"])
def test_every_bit_of_an_experiment_survives_it(tmp_path, monkeypatch, name):
    path = tmp_path / "run.jsonl"
    fresh = run(name, draws=1, rho=[0.5, 0.99], quick=True, workers=1, journal=path)
    computed = counting(monkeypatch)
    known = run(name, draws=1, rho=[0.5, 0.99], quick=True, workers=1, journal=path)
    assert computed == []
    pd.testing.assert_frame_equal(known, fresh, check_exact=True)


def test_keys_do_not_depend_on_the_grid_or_the_order_of_a_settings_words():
    one = Sweep("curves", stationary.task, ({"rho": 0.5, "alpha": 1.1},), 3)
    other = Sweep("curves", stationary.task, ({"x": 1}, {"alpha": 1.1, "rho": 0.5}), 9)
    assert one.key_of((0, 2)) == other.key_of((1, 2))
    assert one.key_of((0, 2)) != one.key_of((0, 1))


def test_time_is_measured_part_by_part():
    seconds = {}
    pauses = [tasks.sweep(tasks.slow_numbers, draws=1, pause=p, name=f"{p}") for p in (0.0, 0.05)]
    run_sweeps(pauses, seconds=seconds)
    assert list(seconds) == ["0.0", "0.05"]
    assert seconds["0.05"] >= 0.1
