"""What the package offers, that it is light to import, and what it says without its extras."""

import subprocess
import sys

import pytest

import preceptor as pr
from preceptor import simulation

PROBLEM = pr.Problem(pr.World([1.0], [[1.0]]), pr.Learner([0.0], pr.Geometric(1.1)), 1)


def test_exports_are_sorted_and_there():
    assert simulation.__all__ == sorted(simulation.__all__)
    assert all(getattr(simulation, name).__doc__ for name in simulation.__all__)


def test_importing_loads_no_heavy_library():
    code = "import sys, preceptor.simulation; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "preceptor.simulation.rollouts" in loaded
    assert not {"numba", "pandas", "sklearn", "scipy.optimize"} & set(loaded)


def test_without_pandas_the_extra_is_named(monkeypatch):
    paper = {"paper": PROBLEM.learner}
    table = simulation.compare(PROBLEM, {}, paper, 3, 2, rng=0)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(pr.MissingExtra, match=r"preceptor\[data\]"):
        table.to_frame()
    assert "paper" in str(table)
