"""Simulated participants of several kinds, and programs that take part."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

from preceptor.cli._app import app
from preceptor.errors import InvalidInput
from preceptor.live.bot_pages import read_page
from preceptor.live.bot_programs import BotProgram, as_data, filled
from preceptor.live.bots import StudyBots, humans_named
from preceptor.live.store import participants, rounds
from preceptor.live.store.database import Store
from preceptor.live.study.simulated_people import assumptions
from tests.commands import CliRunner
from tests.live.study.opened import small_study

EXAMPLE = Path(__file__).parents[3] / "examples" / "participant.py"
RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})
PAGE = """<header><p>Arm <data id="arm" value="secret">secret</data></p></header><main id="main">
<h1>Case 1</h1><dl id="results"><dt>Age</dt><dd><data value="3.25">3</data></dd></dl>
<form action="/x"><input type="hidden" name="step" value="3"><p>Type it <input name="answer"></p>
<fieldset><legend>Sure?</legend>
<p><input type="radio" id="q-1" name="q" value="1"> <label for="q-1">Very <b>much</b></label></p>
<label><input type="radio" name="q" value="2"> No</label></fieldset>
<button name="choice" value="go">Go on</button></form></main>"""


def program(*lines, seconds=20.0):
    """A program that runs these lines of Python, with a loop over pages at hand."""
    head = ["import json, sys, time", "pages = map(json.loads, sys.stdin)"]
    return BotProgram((sys.executable, "-c", "\n".join([*head, *lines])), seconds)


def test_a_page_as_a_person_sees_it():
    said = as_data(read_page(PAGE))
    assert said["title"] == "Case 1"
    assert said["results"] == {"Age": 3.25}
    lines = ["Case 1", "Age 3", "Type it", "Sure?", "Very much No Go on"]
    assert said["text"].splitlines() == lines
    assert said["fields"] == {
        "answer": None,
        "q": {"1": "Very much", "2": "No"},
        "choice": {"go": "Go on"},
    }
    assert "secret" not in json.dumps(said)


@pytest.mark.parametrize(
    ("fields", "said", "values"),
    [
        ({"answer": None}, 1.5, {"answer": "1.5"}),
        ({"answer": None}, {"answer": "1,5"}, {"answer": "1,5"}),
        ({}, None, {}),
        ({}, {}, {}),
        ({"comment": None}, None, {}),
        ({"agree": {"yes": "I agree"}, "q": {"1": "a", "2": "b"}}, {"agree": True, "q": 2},
         {"agree": "yes", "q": "2"}),
        ({"agree": {"yes": "I agree"}}, False, {}),
    ],
)  # fmt: skip
def test_what_programs_say_fills_forms(fields, said, values):
    assert filled(fields, said) == values


@pytest.mark.parametrize(
    ("fields", "said", "why"),
    [
        ({"a": None, "b": None}, 1.5, "must be an object with a, b"),
        ({"answer": None}, {"other": 1}, "has no field 'other'; there are answer"),
        ({}, {"answer": 1}, "there are none"),
        ({"q": {"1": "x", "2": "y"}}, 3, "q must be one of 1, 2"),
        ({"answer": None}, {"answer": [1]}, "answer must be a number or a text"),
    ],
)
def test_what_fits_no_form_is_refused(fields, said, why):
    with pytest.raises(ValueError, match=why):
        filled(fields, said)


FAILING = {
    "ended with code 3; it wrote: .*no more": [
        "next(pages)", "print('no more', file=sys.stderr)", "sys.exit(3)"
    ],
    "ended with code 0": ["pass"],
    "gave no answer within 0.2 s": ["next(pages)", "time.sleep(60)"],
    "answered 'hello': Expecting value": ["print('hello', flush=True)", "time.sleep(60)"],
    "answered 'null 1': Extra data": ["print('null 1', flush=True)", "time.sleep(60)"],
}  # fmt: skip


@pytest.mark.parametrize("why", FAILING)
def test_programs_that_fail_say_how_and_are_ended(why):
    running = program(*FAILING[why], seconds=0.2 if "0.2" in why else 20.0).start("bot-7")
    with pytest.raises(InvalidInput, match=f"bot-7: at the page 'Case 1' the program {why}"):
        running.fill(read_page(PAGE))
    running.seconds = 0.01
    running.stop()
    assert running.process.poll() is not None


def test_programs_that_are_not_there_are_refused():
    with pytest.raises(InvalidInput, match="'/no/such/program' cannot be run"):
        BotProgram(("/no/such/program",)).start("bot-1")


def test_names_weights_and_commands():
    study = small_study()
    mixed = humans_named(study, "delta-rule=0.7, exemplar=0.3", 0.5)
    assert [(kind.name, kind.weight) for kind in mixed] == [("delta-rule", 0.7), ("exemplar", 0.3)]
    assert [kind.weight for kind in humans_named(study, "lms,bayes")] == [1.0, 1.0]
    assumed = humans_named(study, "assumed")
    assert [kind.name for kind in assumed] == [kind.name for kind in assumptions(study)]
    assert len(assumed[0].humans) == len(assumptions(study)[0].members)
    command = humans_named(study, f"{shlex.quote(sys.executable)} -m this", seconds=3.0)
    assert command == BotProgram((sys.executable, "-m", "this"), 3.0)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("nobody", "'nobody', must be assumed, one of paper"),
        ("delta-rule=0.7,nobody=0.3", "a command that can be run"),
        ("delta-rule=much,exemplar=0", "delta-rule has the weight 'much'(.|\n)*exemplar"),
        ("", "a command that can be run"),
    ],
)
def test_who_is_not_known_is_refused(said, why):
    with pytest.raises(InvalidInput, match=why):
        humans_named(small_study(), said)


def test_kinds_are_drawn_by_their_weights():
    study = small_study()
    crowd = StudyBots("http://x/s/y", 400, humans_named(study, "delta-rule=3,exemplar=1"))
    kinds, humans = crowd._humans(study)
    assert Counter(kinds)["exemplar"] == pytest.approx(100, abs=27)  # three standard errors
    assert crowd._humans(study)[0] == kinds
    assert len({id(human) for human in humans}) == 2


def test_a_mixture_takes_part(opened, site):
    study = opened()
    given = ["study", "bots", f"{site.address}/s/{study.id}", "--people", "6", "--json"]
    said = RUNNER.invoke(app, [*given, "--human", "delta-rule=1,exemplar=1"])
    assert said.exit_code == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["finished"] == 6
    assert set(found["kinds"]) <= {"delta-rule", "exemplar"}
    assert sum(found["kinds"].values()) == 6


def test_the_example_takes_part_and_learns(opened, site, database):
    study = opened()
    given = ["study", "bots", f"{site.address}/s/{study.id}", "--people", "2", "--json"]
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(EXAMPLE))}"
    said = RUNNER.invoke(app, [*given, "--human", command])
    assert said.exit_code == 0, said.stderr
    found = json.loads(said.stdout)
    assert found["finished"] == 2
    assert found["answers"] == 2 * len(study.protocol.trials)
    with Store(str(database)) as store:
        everyone = store.read(lambda c: participants.everyone(c, study.id))
        for who in everyone:
            assert (who.kind, who.status, who.quizzes) == ("bot", "completed", 0)
            played = store.read(lambda c, w=who: rounds.all_of(c, w.id))
            # It knows no level before the first outcome, and the last one afterwards.
            told = [each for each in played if each.status == "told"]
            assert told[0].prediction == 0.0
            assert told[1].prediction == pytest.approx(told[0].outcome, abs=1e-9)
            checks = store.read(lambda c, w=who: participants.answers_of(c, w.id))
            assert all(each.is_right is not False for each in checks)


def test_a_program_may_correct_what_the_page_refuses(opened, site):
    study = opened(outcome={"low": 0.0, "high": 10.0})
    answering = [
        "for page in pages:",
        "    fields = page['fields']",
        "    if fields is None: break",
        "    if 'agree' in fields: said = {'agree': True, 'choice': 'yes'}",
        "    elif 'question-0' in fields: said = {'question-0': 1, 'question-1': 2}",
        "    elif page['title'].startswith('A short'): said = 7",
        "    elif 'answer' in fields: said = 5 if 'out of range' in page['text'] else 99",
        "    else: said = {}",
        "    print(json.dumps(said), flush=True)",
    ]
    url = f"{site.address}/s/{study.id}"
    assert StudyBots(url, 1, program(*answering)).play().finished == (True,)
    stubborn = [line.replace("5 if", "98 if") for line in answering]
    with pytest.raises(InvalidInput, match=r"422: Please check your answer.*out of range"):
        StudyBots(url, 1, program(*stubborn), prefix="other-").play()
