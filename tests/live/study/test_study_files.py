"""Study files: what ships can be run, and what is wrong is said all at once."""

from __future__ import annotations

import copy
import itertools
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.files import parse_toml
from preceptor.cli._app import app
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.learners.diagnostic_blocks import decisive_design
from preceptor.learners.recommendations import TAU
from preceptor.live.study.arms import Arm, make_arms
from preceptor.live.study.opening import doubts, overview
from preceptor.live.study.registration import from_template, placeholders, template, template_names
from preceptor.live.study.study import Study
from preceptor.model.policies import Stationary
from tests.commands import CliRunner

ROOT = Path(__file__).parents[3]
RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})


def run(*arguments):
    return RUNNER.invoke(app, [str(a) for a in arguments])


def data_of(name="plan-or-fixed"):
    return copy.deepcopy(dict(parse_toml(template(name))))


def faults_of(data):
    with pytest.raises(InvalidInput) as error:
        Study.from_dict(data)
    return error.value.faults


@pytest.mark.parametrize("name", template_names())
def test_templates_are_studies_with_places_to_fill_in(name):
    study = Study.from_dict(parse_toml(from_template(name, "my-study", 12)))
    assert (study.id, study.configuration.seed) == ("my-study", 12)
    assert len(placeholders(study)) >= 8
    kinds = [block.kind for block in study.configuration.block]
    assert kinds[0] == "consent"
    assert kinds[-1] == "debrief"
    assert len(study.configuration.assumed.kind) >= 2
    assert sum(len(getattr(block, "check", ())) for block in study.configuration.block) == 2


def test_the_decisive_template_is_the_decisive_design():
    study = Study.from_dict(data_of("decisive"))
    steps = decisive_design(study.problem.world, (0,), (1,), 48)
    green = study.columns(["green"])
    trials = [trial for trial in study.protocol.trials if trial.block > 2]  # after practice
    arm = make_arms(study)[0]
    schedule = arm.schedule(study.training_rounds, 1, 0)
    assert len(trials) == len(steps)
    for trial, step in zip(trials, steps, strict=True):
        shown = schedule[trial.training] if trial.show is None else study.columns(trial.show)
        # Green, which everybody knows, is added wherever amber is not probed alone.
        added = () if step.show == ("amber",) and trial.show is not None else tuple(green)
        assert tuple(shown) == (*study.columns(step.show), *added)
        assert trial.feedback == step.feedback
        if step.values is not None:
            results = dict(zip(trial.show, trial.values, strict=True))
            np.testing.assert_allclose([results[name] for name in step.show], step.values)
    assert study.problem.world.covariance[0, 1] == pytest.approx(0.8)


@pytest.mark.full
def test_the_deskilling_template_compares_helping_with_teaching():
    study = Study.from_dict(data_of("deskilling"))
    arms = {arm.name: arm.in_view for arm in make_arms(study)}
    assert arms == {"fixed": None, "helps": pr.CaseAware(0.0), "teaches": pr.CaseAware(TAU)}
    tested = [
        t.show for t in study.protocol.trials if t.block == study.configuration.analysis.block - 1
    ]
    pairs = [study.problem.world.name_of(pair) for pair in itertools.combinations(range(4), 2)]
    assert Counter(map(frozenset, tested)) == dict.fromkeys(map(frozenset, pairs), 4)
    assert {kind.human for kind in study.configuration.assumed.kind} >= {"exemplar", "delta-rule"}


def test_the_deskilling_template_has_a_delayed_block_to_uncomment():
    text = template("deskilling")
    begin, end = text.index("# [[block]]"), text.index('[[block]]\nkind = "debrief"')
    late = re.sub(r"^# ?", "", text[begin:end], flags=re.MULTILINE)
    study = Study.from_dict(parse_toml(text[:begin] + late + text[end:]))
    (block,) = (b for b in study.configuration.block if getattr(b, "after_days", None))
    assert (block.after_days, block.within_days) == (7.0, 3.0)
    assert len(study.protocol.trials) == 2 + 60 + 24 + 24


@pytest.mark.full
def test_an_assistant_that_teaches_for_other_sets_than_the_test_is_doubted():
    data = data_of("deskilling")
    study = Study.from_dict(data)
    arms = make_arms(study)
    assert not [each for each in doubts(study, arms) if "its assistant" in each]
    data["arm"][2]["alone"] = "best"
    said = list(doubts(Study.from_dict(data), arms))
    assert "prepares people for the most predictive set" in " ".join(said)
    data["arm"][2]["alone"] = "any"
    data["block"][4]["show"] = [["amber", "blue"]]
    assert "the test shows other sets" in " ".join(doubts(Study.from_dict(data), arms))


def test_people_who_remember_cases_can_be_assumed():
    data = data_of("deskilling")
    kinds = data["assumed"]["kind"]
    (exemplar,) = (kind for kind in kinds if kind["human"] == "exemplar")
    exemplar |= {"rate": 0.1, "imputation": 0.5}
    said = " ".join(faults_of(data))
    assert "exemplar has no rate" in said
    assert "exemplar remembers cases and imputes nothing" in said


@pytest.mark.parametrize(
    ("name", "methods"), [("decisive", ["stationary"]), ("plan-or-fixed", ["auto"])]
)
def test_only_arms_that_need_a_plan_are_solved(monkeypatch, name, methods):
    asked = []

    def solve(problem, method, **options):
        asked.append(method)
        return pr.solve(problem, "stationary")

    monkeypatch.setattr("preceptor.live.study.arms.solve", solve)
    arms = make_arms(Study.from_dict(data_of(name)))
    assert asked == methods
    for arm in arms:  # what is known of the problem is said of given sets too
        assert pr.Plan.from_json(arm.plan).value == arm.value
        assert arm.gap is not None


def test_all_faults_at_once_and_where_they_are():
    data = data_of()
    data["people"] = "many"
    data["arm"][1]["policy"] = "best"
    data["block"][3]["rounds"] = 0
    data["colour"] = "green"
    del data["problem"]["world"]["coefficients"]
    said = "\n".join(faults_of(data))
    for part in ("people", "arm 2", "block 4 (training)", "colour", "problem"):
        assert part in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["arm"][1].update(name="plan"), "the name 'plan' occurs twice"),
        (lambda d: d.update(id="enter"), "the address of another page"),
        (lambda d: d["analysis"].update(compare=["plan", "other"]), "analysis.compare"),
        (lambda d: d["analysis"].update(measure="slope change"), "analysis.probe: missing"),
        (lambda d: d["block"][4].update(show=[["amber", "teal"]]), "teal"),
        (lambda d: d["block"][4].update(show=[["amber", "amber"]]), "names a test twice"),
        (lambda d: d["block"][3]["check"][0].update(after=60), "a check after 60 rounds"),
        (lambda d: d["block"][1]["question"][0].update(right=9), "9 is right"),
        (lambda d: d["block"].append(d["block"].pop(0)), "consent comes first"),
        (lambda d: d["arm"].append({"name": "own", "policy": "sets"}), "none is named"),
        (lambda d: d["outcome"].update(answer="slider", low=None), "outcome"),
        (lambda d: d["outcome"].update(answer="percent"), "outcome.answer"),
        (lambda d: d["outcome"].update(low=200.0), "low must be less"),
        (lambda d: d["assumed"]["kind"][0].update(human="martian"), "'martian'"),
        (lambda d: d["assumed"]["kind"][2].update(rate=0.1), "has no rate"),
        (lambda d: d["analysis"].update(test="mixed"), "must be 'permutation' or 'welch'"),
    ],
)
def test_what_does_not_fit_together(change, said):
    data = data_of()
    change(data)
    assert any(said in fault for fault in faults_of(data)), faults_of(data)


def test_faults_of_a_file_name_it(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(from_template("decisive", "try", 1).replace("people = 70", "people = 0"))
    with pytest.raises(InvalidFile, match=r"study\.toml"):
        Study.load(path)
    done = run("study", "check", path)
    assert done.exit_code == 2
    assert "people" in done.stderr


def test_a_new_study_is_never_written_over(tmp_path):
    path = tmp_path / "My study.toml"
    assert run("study", "new", path, "--template", "decisive").exit_code == 0
    study = Study.load(path)
    assert study.id == "my-study"
    again = run("study", "new", path)
    assert again.exit_code == 2
    assert "already exists" in again.stderr
    assert Study.load(path).sha256 == study.sha256
    assert run("study", "new", tmp_path / "other.toml", "--seed", 5).exit_code == 0
    assert Study.load(tmp_path / "other.toml").configuration.seed == 5
    listed = run("study", "new", "--list").stdout
    assert all(name in listed for name in template_names())
    assert "plan-or-fixed" in run("study", "new", tmp_path / "x.toml", "--template", "y").stderr
    assert run("study", "new").exit_code == 2


@pytest.mark.full
def test_check_says_what_a_participant_goes_through(tmp_path):
    path = tmp_path / "study.toml"
    run("study", "new", path, "--template", "decisive", "--seed", 1)
    done = run("study", "check", path)
    assert done.exit_code == 0
    assert "| training | 36 | told | 2 |" in done.stdout
    assert "50 rounds, about" in done.stdout
    assert "amber + green × 36" in done.stdout
    assert re.search(r"\d+ places to fill in", done.stdout)
    assert "If everybody answered at random: p below 0.05 in 0 of 20 simulated" in done.stdout
    assert "do not depend on the results shown" in done.stdout


def arm(name, shown, value=1.0):
    return Arm(name, "best fixed", "", Stationary(shown), value, None)


def test_what_is_doubtful_is_said():
    study = Study.from_dict(data_of())
    same = list(doubts(study, [arm("plan", (0,)), arm("fixed", (0,))]))
    assert any("no contrast" in each for each in same)
    worse = list(doubts(study, [arm("plan", (0,), 2.0), arm("fixed", (1,), 1.0)]))
    assert any("costs the problem's person more" in each for each in worse)
    data = data_of()
    data["block"] = [b for b in data["block"] if b["kind"] not in ("test", "consent")]
    for block in data["block"]:
        if block["kind"] == "training":
            block["check"][0]["after"] = 1
    data["exclusions"]["failed_checks"] = 3
    data["analysis"]["measure"] = "training error"
    data["people"] = 6
    found = "\n".join(doubts(Study.from_dict(data), [arm("plan", (0,)), arm("fixed", (1,))]))
    for part in ("no consent", "no test after", "after the first round", "2 checks", "6 people"):
        assert part in found


def test_kinds_of_two_arms_are_doubtful():
    data = data_of()
    data["analysis"]["measure"] = "kind"
    found = list(doubts(Study.from_dict(data), [arm("plan", (0,)), arm("fixed", (1,))]))
    assert any("probabilities of kinds differ even if people do not" in each for each in found)


def test_yes_or_no_is_looked_at_too():
    data = data_of()
    problem = dict(parse_toml((ROOT / "examples" / "diagnosis.toml").read_text("utf-8")))
    data |= {"problem": problem | {"horizon": 60}, "tests": {}, "outcome": {}}
    for block in data["block"]:
        if block["kind"] in ("practice", "test"):
            block["show"] = [[name] for name in problem["world"]["names"]]
    study = Study.from_dict(data)
    found = list(doubts(study, [arm("plan", (0,)), arm("fixed", (1,))]))
    assert any("answers are yes or no" in each for each in found)
    data["analysis"]["measure"] = "kind"
    assert any("numeric outcome" in fault for fault in faults_of(data))


def test_nothing_is_left_to_look_at_once_it_is_filled_in():
    text = re.sub(r"\[\[[^\]]+ [^\]]+\]\]", "filled in", from_template("plan-or-fixed", "try", 1))
    study = Study.from_dict(parse_toml(text))
    made = overview(study, [arm("plan", (0,), 1.0), arm("fixed", (1,), 2.0)])
    assert made.doubts == ()
    assert 10 < made.minutes < 30
