"""`preceptor next --record`: what people type is taken as they mean it, and slips are refused."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.cli._recording import number_in, results_in
from preceptor.logs import Log
from preceptor.logs.plausible import implausible
from preceptor.model.units import Units
from tests.cli.conftest import no_traceback

HALF = 0.5
LEVELS = {"cell": {"adeno": "cell=adeno", "large": "cell=large", "small": ""}}
GROUPS = {"cell": [2, 3]}
NAMES = ["score", "chf", "cell=adeno", "cell=large"]
UNITS = Units(
    [60.0, HALF, 0.25, 0.25], [20.0, HALF, 0.1875**0.5, 0.1875**0.5], "days", 120.0, LEVELS
)
WORLD = pr.World([30.0, 9.0, 9.0, 9.0], np.eye(4), 100.0, NAMES, groups=GROUPS, units=UNITS)


@pytest.fixture
def ask(tmp_path, run):
    """A plan that shows score and cell, and a way to record with it."""

    def record(*options, shown=(0, 2, 3), log="log.csv"):
        problem = pr.Problem(WORLD, pr.Learner([0.0] * 4, pr.Geometric(1.1)), 2, horizon=9)
        policy = pr.Stationary(shown)
        value = pr.evaluate(problem, policy)
        plan = pr.Plan(problem, policy, value, 0.0, pr.Status.BOUNDED, "by hand", 0.0)
        plan.save(tmp_path / "plan.json")
        where = ("--log", log, "--participant", "ann")
        return run("next", "plan.json", *where, *options)

    return record


@pytest.mark.parametrize(
    ("level", "ones"), [("small", []), ("Large ", [3]), ("adeno", [2])], ids=str
)
def test_every_level_can_be_recorded_and_is_written_as_it_was_seen(ask, tmp_path, level, ones):
    result = ask("--record", "--values", f"55,{level}", "--answer", "100", "--outcome", "90")
    assert result.exit_code == 0, result.stderr
    written = (tmp_path / "log.csv").read_text()
    assert f"score;cell,55.0;{level.strip().lower()}," in written
    assert f"score 55, cell {level.strip().lower()}; answer 100, outcome 90" in result.stderr
    log = Log.read(tmp_path / "log.csv", WORLD)
    assert log.shown[0].tolist() == [True, False, True, True]
    assert np.flatnonzero(log.values[0, 2:] == 1.0).tolist() == [i - 2 for i in ones]


def test_tests_are_named_without_capitals(ask):
    result = ask("--record", "--values", "Score=55,CELL=Large", "--answer", "100")
    assert result.exit_code == 0, result.stderr
    assert "score 55, cell large; answer 100" in result.stderr
    twice = no_traceback(ask("--record", "--values", "score=5,Score=6", "--answer", "1"))
    assert "--values: 'score' and 'Score' are the same; keep one of them" in twice


def test_a_level_that_is_not_known_names_the_one_that_was_meant_and_all_others(ask):
    said = no_traceback(ask("--record", "--values", "55;smal", "--answer", "100"))
    assert "--values: cell 'smal' is not one of its levels; did you mean 'small'?" in said
    assert "known are 'adeno', 'large', 'small'" in said
    empty = no_traceback(ask("--record", "--values", "score=55,cell=", "--answer", "100"))
    assert "known are 'adeno', 'large', 'small'" in empty


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("log.csv", "participant,round,score,chf,cell,prediction,outcome\nann,1,50,,large,9,9\n"),
        (
            "log.csv",
            "participant,round,score,chf,cell=adeno,cell=large,prediction,outcome\n"
            "ann,1,50,,0,1,9,9\n",
        ),
        (
            "log.jsonl",
            '{"participant": "ann", "round": 1, "score": 50, "chf": null, "cell": "large", '
            '"prediction": 9, "outcome": 9}\n',
        ),
        (
            "log.jsonl",
            '{"participant": "ann", "round": 1, "shown": ["cell"], "values": ["large"], '
            '"prediction": 9, "outcome": 9}\n',
        ),
    ],
    ids=["a column of levels", "columns of 0 and 1", "keys", "lists"],
)
def test_levels_go_where_the_file_has_a_place_for_them(ask, tmp_path, name, before):
    (tmp_path / name).write_text(before)
    options = ("--record", "--values", "55;small", "--answer", "100", "--outcome", "90")
    result = ask(*options, log=name)
    assert result.exit_code == 0, result.stderr
    after = (tmp_path / name).read_text()
    assert after.startswith(before)
    assert ("small" in after) == ("cell=adeno" not in before)
    log = Log.read(tmp_path / name, WORLD)
    assert log.shown[1].tolist() == [True, False, True, True]
    assert log.values[1, [0, 2, 3]].tolist() == [55.0, 0.0, 0.0]


def test_a_level_with_a_semicolon_is_written_by_its_columns(tmp_path):
    from preceptor.logs.appending import LogFile, NewRound

    units = Units([0.5], [0.5], levels={"a": {"x;y": "a=x;y", "z": ""}})
    world = pr.World([1.0], [[1.0]], 1.0, ["a=x;y"], groups={"a": [0]}, units=units)
    entry = NewRound("ann", (0,), (0.0,), 1.0, 2.0)
    after = LogFile.at(tmp_path / "log.csv").append(None, world, entry)
    assert Log.read(tmp_path / "log.csv", world) == after
    with pytest.raises(pr.InvalidFile, match="a name with a semicolon"):
        LogFile.at(tmp_path / "other.csv").append(None, world, NewRound("bob", (0,), (1.0,), 1.0))
    found = LogFile.at(tmp_path / "log.jsonl").append(None, world, NewRound("b", (0,), (1.0,), 1.0))
    assert Log.read(tmp_path / "log.jsonl", world) == found


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("--values", "score=600", "--answer", "100"),
            "--values: score 600, but by the table -100",
        ),
        (("--values", "chf=25", "--answer", "100"), "--values: chf 25, but by the table 0 or 1 is"),
        (("--values", "chf=2", "--answer", "100"), "--values: chf 2, but"),
        (("--values", "score=60", "--answer", "9e4"), "--answer: 90000, but by the table"),
        (
            ("--values", "score=60", "--answer", "100", "--outcome", "7200000"),
            "--outcome: 7200000, but by the table",
        ),
    ],
)
def test_numbers_that_cannot_be_are_refused_unless_somebody_insists(
    ask, tmp_path, options, complaint
):
    said = no_traceback(ask("--record", *options))
    assert complaint in said
    assert "record it nevertheless with --anyway" in said
    assert not (tmp_path / "log.csv").exists()
    assert ask("--record", *options, "--anyway").exit_code == 0
    assert len(Log.read(tmp_path / "log.csv", WORLD)) == 1


def test_all_that_is_implausible_is_said_at_once():
    faults = implausible(WORLD, (0, 1), (600.0, 25.0), -1e4, 1e4)
    about = [fault.split(":")[0] for fault in faults]
    assert about == ["values", "values", "answer", "outcome"]
    assert "-100 to 220 is plausible (average 60, standard deviation 20)" in faults[0]
    assert implausible(WORLD, (0, 1, 2, 3), (219.0, 1.0, 0.0, 1.0), 300.0, None) == []


def test_an_outcome_of_two_values_takes_no_third_but_probabilities_are_answers():
    units = Units([60.0], [20.0], "died", 0.3)
    world = pr.World([0.2], [[1.0]], 0.16, ["score"], units=units)
    assert implausible(world, (0,), (60.0,), 0.25, 1.0) == []
    [fault] = implausible(world, (0,), (60.0,), 0.25, 2.0)
    assert fault == "outcome: 2, but by the table 0 or 1 is to be expected"
    # What only looks like two values by its spread may take others.
    assert implausible(world, (0,), (60.0,), 0.25, 0.5) == []


def test_without_units_numbers_are_those_of_the_world():
    world = pr.World([1.0], [[4.0]], 1.0)
    assert implausible(world, (0,), (15.9,), 0.0, None) == []
    assert implausible(world, (0,), (16.1,), 0.0, None)


def test_where_nothing_is_shown_no_results_are_asked_for(ask, tmp_path):
    asked = ask(shown=())
    assert "show nothing." in asked.stdout
    assert "--record --case 1 --answer ... --outcome ..." in asked.stderr
    result = ask("--record", "--answer", "100", "--outcome", "90", shown=())
    assert result.exit_code == 0, result.stderr
    assert "Recorded case 1 of ann in log.csv: nothing shown; answer 100" in result.stderr
    assert not Log.read(tmp_path / "log.csv", WORLD).shown.any()
    missing = no_traceback(ask("--record"))
    assert "--values: give the results that were seen, of score and cell in this order" in missing
    assert "--answer: give what the person said" in missing


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("900,5", 900.5),
        ("900.5", 900.5),
        (" -3 ", -3.0),
        ("0,125", 0.125),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("1e3", 1000.0),
    ],
)
def test_numbers_are_read_with_points_and_commas(text, number):
    assert number_in(text) == number


def test_a_number_that_could_be_two_is_asked_for_again():
    with pytest.raises(ValueError, match=r"could be 1\.234 or 1234"):
        number_in("1,234")
    assert number_in("1,234", ",") == 1.234
    assert number_in("1.234", ",") == 1234.0


@pytest.mark.parametrize(
    ("option", "text", "complaint"),
    [
        ("--answer", "much", "--answer: 'much' is not a number; write e.g. 20 or 20.5"),
        ("--answer", "1,234", "--answer: '1,234' could be 1.234 or 1234"),
        ("--outcome", "inf", "--outcome: 'inf' is not a number"),
        ("--outcome", "9,9,9", "--outcome: '9,9,9' is not a number"),
    ],
)
def test_answers_that_are_no_numbers_say_so(ask, option, text, complaint):
    given = {"--answer": "100", "--outcome": "90"} | {option: text}
    options = [part for pair in given.items() for part in pair]
    assert complaint in no_traceback(ask("--record", "--values", "55;small", *options))


def test_decimal_commas_in_results_answers_and_outcomes(ask, tmp_path):
    typed = ("--values", "score=55,5,cell=small", "--answer", "100,5", "--outcome", "90,25")
    assert ask("--record", *typed).exit_code == 0
    log = Log.read(tmp_path / "log.csv", WORLD)
    assert (log.values[0, 0], log.prediction[0], log.outcome[0]) == (55.5, 100.5, 90.25)
    assert results_in("55,5", WORLD, (0,)) == ((0,), (55.5,))


def test_a_workbook_cannot_be_added_to_and_it_says_how_to_go_on(ask, tmp_path):
    from preceptor.logs.appending import LogFile, NewRound

    with pytest.raises(pr.InvalidFile, match="File, Save As, CSV in UTF-8 with commas"):
        LogFile.at(tmp_path / "log.xlsx").append(None, WORLD, NewRound("ann", (), (), 1.0))


def test_somebody_off_the_plan_from_its_first_case_is_told_how_it_begins(ask, tmp_path):
    ask("--record", "--values", "chf=1", "--answer", "100", "--outcome", "90")
    said = ask(shown=(0,)).stdout
    assert "They are off the plan: it begins with score, but they have seen chf once." in said
