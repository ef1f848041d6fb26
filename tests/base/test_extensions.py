"""Curves and solvers of another installed package: found by name, loaded when asked for."""

import json
import os
import subprocess
import sys
import textwrap
import zipfile

import pytest

import preceptor as pr
from tests.registries import only_ours

PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.2"

[tool.hatch.build.targets.wheel]
include = ["*.py"]

[project.entry-points."preceptor.extensions"]
"""

CURVES = '''
    from dataclasses import dataclass
    from typing import ClassVar

    import preceptor as pr


    @dataclass(frozen=True, eq=False)
    class Hyperbolic(pr.Curve):
        """φ(m) = 1/(1 + rate·m)."""

        kind: ClassVar[str] = "hyperbolic"

        rate: float

        def raw(self, counts):
            return 1.0 / (1.0 + self.rate * counts)
'''

SOLVER = '''
    import preceptor as pr
    from preceptor.planning.bounds import floor_bound
    from preceptor.planning.solver import Solver


    def solve_first(problem):
        """Always the first set."""
        policy = pr.Stationary(problem.sets[0])
        value = pr.evaluate(problem, policy)
        bound = min(floor_bound(problem), value)
        return pr.Plan(problem, policy, value, bound, pr.Status.BOUNDED, "first", 0.0, 1)


    FIRST = Solver("first", solve_first, proves="an instant bound")
    TAKEN = Solver("finite", solve_first, proves="nothing")
'''

PROBLEM = """\
budget = {kind = "at-most", k = 1}
horizon = 3
discount = 1.0

[world]
coefficients = [1.0, 0.8]
correlation = 0.5

[learner]
initial = [0.2, 1.3]
curves = {kind = "CURVE", rate = 0.5}
"""


def install(folder, target, name, entries, **modules):
    """Build a wheel of some modules and unpack it, which is what an installer does."""
    source = folder / name
    source.mkdir()
    listed = "".join(f'{key} = "{value}"\n' for key, value in entries.items())
    (source / "pyproject.toml").write_text(PYPROJECT.format(name=name) + listed)
    for module, code in modules.items():
        (source / f"{module}.py").write_text(textwrap.dedent(code), "utf-8")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=source, check=True
    )
    (wheel,) = (source / "dist").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Runs Python where a good and a broken extension are installed, next to three files."""
    folder, target = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("site")
    good = {"curves": "good_curves", "first": "good_solver:FIRST"}
    install(folder, target, "good", good, good_curves=CURVES, good_solver=SOLVER)
    bad = {
        "lost": "bad_lost",
        "taken": "good_solver:TAKEN",
        "number": "bad_number:NUMBER",
        "same": "bad_same",
    }
    files = {"bad_lost": "import not_there", "bad_number": "NUMBER = 5", "bad_same": CURVES}
    install(folder, target, "zbad", bad, **files)
    for kind in ("hyperbolic", "unheard-of"):
        (folder / f"{kind}.toml").write_text(PROBLEM.replace("CURVE", kind))
    paths = os.pathsep.join([str(target), *filter(None, sys.path)])

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    return run


def test_a_problem_file_names_a_curve_and_a_method_of_another_package(python):
    asked = ("-m", "preceptor", "solve", "hyperbolic.toml", "--json")
    plans = []
    for method in ("auto", "first"):
        done = python(*asked, "--method", method)
        assert done.returncode == 0, done.stderr
        plans.append(json.loads(done.stdout))
    best, first = plans
    assert best["problem"]["learner"]["curves"] == {"kind": "hyperbolic", "rate": 0.5}
    assert (best["status"], first["method"]) == ("optimal", "first")
    assert first["lower_bound"] <= best["value"] <= first["value"]


@pytest.mark.full
def test_what_cannot_be_loaded_is_named_where_a_name_is_missing(python):
    done = python("-m", "preceptor", "solve", "unheard-of.toml")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "curve: kind 'unheard-of' is not known; known are geometric" in said
    assert "extension 'lost' of zbad 1.2 (bad_lost) cannot be loaded: ModuleNotFoundError" in said
    assert (
        "extension 'same' of zbad 1.2 (bad_same) cannot be loaded: TypeError: kind 'hyperbolic' is "
        "already used by Hyperbolic of good_curves" in said
    )


@pytest.mark.full
def test_lists_hold_what_works_and_say_what_does_not(python):
    methods = python("-m", "preceptor", "methods")
    assert methods.returncode == 0
    assert "first        Always the first set." in methods.stdout
    assert methods.stdout.count("finite") == python("-c", BUILT_IN).stdout.count("finite")
    for entry, wrong in {
        "'lost'": "No module named 'not_there'",
        "'taken'": "method 'finite' exists already",
        "'number'": "is 5, must be a module, a class with a kind or a Solver",
    }.items():
        assert [line for line in methods.stderr.splitlines() if entry in line and wrong in line]
    schema = python("-m", "preceptor", "schema")
    assert "hyperbolic-curve" in json.loads(schema.stdout)["$defs"]
    assert "'lost'" in schema.stderr


BUILT_IN = """
from preceptor.planning import SOLVERS
for name, solver in SOLVERS.items(): print(name, solver.summary, solver.proves)
"""


@pytest.mark.full
def test_nothing_is_loaded_before_it_is_asked_for(python):
    code = """
import sys, preceptor as pr
world = pr.World.equicorrelated([1.0, 0.8], 0.5)
problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=3)
pr.solve(pr.Problem.from_toml(problem.to_toml()))
pr.schema()
print({"good_curves", "good_solver", "bad_lost"} & {*sys.modules})
try: pr.solve(problem, "unheard-of")
except pr.UnknownMethod as error: print(error)
print(pr.solve(problem, "first").method)
"""
    done = python("-c", code)
    before, unknown, method = done.stdout.splitlines()
    assert before == "set()"
    assert "certified, first; extension 'lost' of zbad 1.2" in unknown
    assert method == "first"


def test_without_extensions_messages_are_as_before():
    with only_ours(), pytest.raises(pr.InvalidFile, match=r"known are geometric.*branch$"):
        pr.Curve.from_dict({"kind": "unheard-of"})
