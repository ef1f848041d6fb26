"""What to show case by case: rows that end where teaching ends, and files that run no formulas."""

import csv
import io

import pytest

import preceptor as pr
from preceptor._base.words import safe_cell
from preceptor.advice.advice import schedule_csv, schedule_rows
from preceptor.model.policies import ExploreThenRepeat

WORLD = pr.World([1.0, 0.8, 0.5], pr.World.equicorrelated([1, 1, 1], 0.5).covariance, 0.3)


def plan_of(policy, *, names=("bmi", "=cmd()", "-x"), horizon=None, discount=0.9):
    world = pr.World(WORLD.coefficients, WORLD.covariance, 0.3, names=names)
    learner = pr.Learner([0.0, 0.0, 0.0], pr.Geometric(1.2))
    problem = pr.Problem(world, learner, 2, discount, horizon)
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, value / 2, pr.Status.BOUNDED, "by hand", 0.0)


def test_every_case_of_a_horizon_and_none_after_it():
    plan = plan_of(pr.ExploreThenCommit([(0,), (0, 1)], (2,)), horizon=4, discount=1.0)
    rows = schedule_rows(plan)
    assert [row.case for row in rows] == ["1", "2", "3", "4"]
    assert rows[1].shown == ("bmi", "=cmd()")
    assert rows[3].text == "-x"


def test_open_ended_teaching_ends_in_a_line_for_the_rest():
    rows = schedule_rows(plan_of(pr.ExploreThenCommit([(0,), (1,)], (0, 2))))
    assert [row.case for row in rows] == ["1", "2", "from case 3 on"]
    assert rows[-1].shown == ("bmi", "-x")
    (only,) = schedule_rows(plan_of(pr.Stationary((1,))))
    assert only.case == "every case"


def test_a_cycle_is_written_once_and_repeated_in_words():
    rows = schedule_rows(plan_of(ExploreThenRepeat([(0,)], word=[(1,), (2,)])))
    assert [row.case for row in rows] == ["1", "2", "3", "from case 4 on"]
    assert rows[-1].text == "repeat cases 2 to 3"


def test_long_schedules_are_cut_and_say_so():
    plan = plan_of(pr.ExploreThenCommit([(0,), (1,)] * 20, (2,)))
    rows = schedule_rows(plan, most=10)
    assert len(rows) == 12
    assert rows[-1].case == "from case 41 on"
    assert (rows[-2].case, rows[-2].shown) == ("cases 11 to 40", ())
    long = plan_of(pr.Stationary((0,)), horizon=50, discount=1.0)
    assert schedule_rows(long, most=10)[-1].case == "from case 11 on"


def test_a_file_for_spreadsheets_has_no_formulas():
    plan = plan_of(pr.ExploreThenCommit([(1,), (0, 2), ()], (2,)), horizon=4, discount=1.0)
    table = list(csv.reader(io.StringIO(schedule_csv(plan))))
    assert table[0] == ["case", "show", "test 1", "test 2"]
    assert table[1] == ["1", "'=cmd()", "'=cmd()", ""]
    assert table[2] == ["2", "bmi + -x", "bmi", "'-x"]
    assert table[3] == ["3", "nothing", "", ""]
    cells = [cell for row in table for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


@pytest.mark.parametrize("cell", ["=1+1", "+a", "-a", "@a", "\ta", "\ra"])
def test_text_stays_text(cell):
    assert safe_cell(cell) == "'" + cell
    assert safe_cell("a=b") == "a=b"
    assert safe_cell("") == ""
