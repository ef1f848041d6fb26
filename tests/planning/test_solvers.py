"""The records of the solvers: what is read off them, and that they tell the truth."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings

import preceptor as pr
from preceptor.planning import auto
from preceptor.planning.candidate_sets import shape_of
from preceptor.planning.solvers import SOLVERS
from tests.commands import CliRunner
from tests.strategies import problems

ROOT = Path(__file__).parents[2]

# A few steps instead of seconds.
QUICK = {
    "auto": {"time_limit": 0.3},
    "search": {"time_limit": None, "max_kicks": 1},
    "certified": {"time_limit": None, "max_iterations": 3, "width": 10},
    "truncated": {"length": 4},
    "beam": {"width": 3, "layers": 6},
}


def problem(rho=0.6, risk=None, horizon=None, budget=1):
    world = pr.World.equicorrelated([1.0, 0.8], rho)
    learner = pr.Learner([0.2, 1.3], pr.Geometric(1.3))
    return pr.Problem(world, learner, budget, discount=0.8, horizon=horizon, risk=risk)


OWN_RISK = pr.ResidualRisk(lambda r: np.abs(r) ** 1.5)
# A method, and a problem that it cannot serve.
UNSUITABLE = {
    "finite": problem(),
    "lattice": problem(horizon=5),
    "independent": problem(horizon=5),
    "search": problem(horizon=6000),
}


def methods_page():
    spec = spec_from_file_location("make_methods", ROOT / "docs" / "make_methods.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_table_of_methods_is_what_the_records_say():
    made = methods_page()
    page = ROOT / "docs/planning.md"
    written = made.between_markers(page.read_text("utf-8"))
    assert written == made.PAGES[page](), "run: python docs/make_methods.py"


def test_the_full_table_has_all_that_a_record_says():
    rows = methods_page().full_table().splitlines()[2:]
    for row, solver in zip(rows, SOLVERS.values(), strict=True):
        name, does, proves, options = (cell.strip() for cell in row.split(" | "))
        assert name == f"| `{solver.name}`"
        assert does == solver.summary.rstrip(".") != ""
        assert proves == solver.proves != ""
        assert [word.strip("`") for word in options.rstrip("| ").split(", ") if word] == [
            *solver.options
        ]


def test_a_table_is_written_between_its_markers_and_nowhere_else():
    made = methods_page()
    page = f"a\n{made.BEGIN}a\n{made.END}a\n"
    assert made.with_table(page, "b\n") == f"a\n{made.BEGIN}b\n{made.END}a\n"


def test_the_command_line_lists_every_record():
    from preceptor.cli._app import app

    printed = CliRunner().invoke(app, ["methods"]).stdout
    for solver in SOLVERS.values():
        for words in (solver.name, solver.summary, solver.proves, *solver.options):
            assert words in printed, solver.name


def test_an_unknown_method_is_told_every_known_one():
    with pytest.raises(pr.UnknownMethod) as caught:
        pr.solve(problem(), "best")
    assert str(caught.value).endswith(f"use one of {', '.join(SOLVERS)}")


@pytest.mark.parametrize("method", SOLVERS)
def test_an_unknown_option_is_told_every_known_one(method):
    with pytest.raises(pr.UnknownMethod, match=f"'{method}' has no option colour") as caught:
        pr.solve(problem(), method, colour="red")
    takes = ", ".join(SOLVERS[method].options) or "none"
    assert str(caught.value).endswith(f"it takes {takes}")


@pytest.mark.parametrize("method", UNSUITABLE)
def test_a_refusal_says_why_and_names_exactly_the_methods_that_can(method):
    given_problem = UNSUITABLE[method]
    why_not = SOLVERS[method].why_not(given_problem)
    with pytest.raises(pr.NotApplicable) as caught:
        pr.solve(given_problem, method, **QUICK.get(method, {}))
    said, able = str(caught.value).split("; methods that can: ")
    assert why_not != ""
    assert said.startswith(f"{method}: {why_not}")
    served = []
    for name in SOLVERS:
        try:
            pr.solve(given_problem, name, **QUICK.get(name, {}))
        except pr.NotApplicable:
            continue
        served.append(name)
    assert able.split(", ") == served


@settings(max_examples=25, deadline=None)
@given(problems(sizes=(1, 2, 3), horizons=(1, 4, None)))
def test_auto_never_picks_a_solver_that_objects(drawn):
    plan = pr.solve(drawn, **QUICK["auto"])
    assert plan.method != "auto"
    assert SOLVERS[plan.method].why_not(drawn) == ""


@pytest.mark.parametrize(("horizon", "risk"), [(None, None), (6, None), (6, OWN_RISK)])
def test_auto_keeps_to_that_when_nothing_is_small_enough_to_be_exact(horizon, risk, monkeypatch):
    monkeypatch.setattr(auto, "_EXACT_WORK", 0)
    given_problem = problem(horizon=horizon, risk=risk)
    plan = pr.solve(given_problem, **QUICK["auto"])
    assert plan.method == "certified"
    assert SOLVERS[plan.method].why_not(given_problem) == ""


def test_auto_searches_where_sets_cannot_be_listed():
    world = pr.World.equicorrelated(np.linspace(0.1, 1.0, 60), 0.5)
    many = pr.Problem(world, pr.Learner(np.zeros(60), pr.Geometric(1.1)), 6, discount=0.8)
    assert shape_of(many).too_many_sets
    plan = pr.solve(many, **QUICK["auto"])
    assert plan.method == "search"
    assert SOLVERS["search"].why_not(many) == ""


@pytest.fixture
def integer_programs(monkeypatch):
    """One entry for each integer program that is solved."""
    solved = []
    real = scipy.optimize.milp

    def counting(*arguments, **options):
        solved.append(arguments)
        return real(*arguments, **options)

    monkeypatch.setattr(scipy.optimize, "milp", counting)
    return solved


@pytest.mark.parametrize("method", ["auto", "search", "certified"])
def test_the_integer_program_of_a_knapsack_is_solved_once(method, integer_programs):
    world = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.6)
    learner = pr.Learner([0.0, 0.0, 0.0], pr.Geometric(1.3))
    costly = pr.Problem(world, learner, pr.Knapsack([1.0, 2.0, 2.5], 3.0), discount=0.8)
    pr.solve(costly, method, **QUICK[method])
    assert len(integer_programs) == 1
    pr.solve(costly, method, **QUICK[method])
    assert len(integer_programs) == 1, "the shape of a problem is remembered"
    pr.solve(costly.replace(discount=0.7), method, **QUICK[method])
    assert len(integer_programs) == 2, "another problem has a shape of its own"
