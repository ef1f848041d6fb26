"""One assumption changed: what runs, what is said about it, what is refused, and what stays."""

import hashlib
import json
import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.errors import InvalidInput
from preceptor.paper import beam, misspecification, variants
from preceptor.paper.experiment import NAMES, Agreement, Assumptions, Scale
from preceptor.paper.instances import draw
from preceptor.paper.reproduction import EXPERIMENTS, findings_of, read_sections, reproduce, run
from preceptor.paper.sweep import run_sweeps

TINY = {"draws": 1, "rho": (0.5, 0.99), "quick": True}
# A digest of all cells at tiny size, and sums of columns, from before anything could be changed.
BEFORE = {
    "stationary": ("a117379675510e4c", 20, {"best": 102.81463875025563,
                   "retained": 1714.0126982248266, "excess": 1696.0729987911836}),
    "action-map": ("03de0adfbac250ae", 2, {"length": 151.0}),
    "exploration": ("4e2a9988a64f8e29", 38, {"length": 1689.0, "value": 202.83865112349767,
                    "certified": 905.0}),
    "truncation": ("0df57ac095edfb1b", 36, {"retained": 3562.853865736224,
                   "excess": 3514.653505777418}),
    "beam": ("8ce2e9c741107b0b", 0, {}),
    "misspecification": ("89110d56644846e9", 30, {"retained": 2900.2122624962685,
                         "excess": 2448.55615437171}),
    "variants": ("52fd0c249b5ce707", 30, {"length": 701.0, "value": 111.03574509318761,
                 "retained": 784.0807255455438}),
    "theorems": ("47910d76133e846d", 25, {"gain": 73.54433982051161,
                 "ratio": 52.261744692769156}),
}  # fmt: skip
# For each experiment everything it takes, changed at once, and small enough to run.
CHANGES = {
    "stationary": {"alpha": 1.37, "discount": 0.93, "floor": 0.07, "imputation": 0.4, "tests": 3,
                   "budget": "exactly 2", "horizon": 12},
    "action-map": {"alpha": 1.37, "discount": 0.93, "floor": 0.07, "imputation": 0.4,
                   "budget": "exactly 1", "horizon": 30},
    "exploration": {"alpha": 1.37, "discount": 0.8, "floor": 0.07, "imputation": 0.4, "tests": 3,
                    "budget": "exactly 1", "horizon": 12},
    "truncation": {"alpha": 1.37, "discount": 0.93, "floor": 0.07, "imputation": 0.4, "tests": 3,
                   "budget": "exactly 1", "horizon": 14},
    "beam": {"alpha": 1.37, "discount": 0.93, "floor": 0.07, "imputation": 0.4, "tests": 5,
             "budget": "at most 1", "horizon": 25},
    "misspecification": {"alpha": 1.37, "discount": 0.93, "floor": 0.07, "budget": "exactly 1",
                         "horizon": 30},
    "variants": {"alpha": 1.37, "discount": 0.93, "floor": 0.07, "imputation": "cubic", "tests": 3,
                 "budget": "exactly 1", "horizon": 12},
    "theorems": {"alpha": 1.37, "discount": 0.93},
}  # fmt: skip

each = pytest.mark.parametrize("name", EXPERIMENTS)
each_change = pytest.mark.parametrize(
    ("name", "changed"), [(name, one) for name, many in CHANGES.items() for one in many]
)


def scale_of(**changes):
    return Scale(**TINY, assume=Assumptions(**changes))


def keys_of(sweeps):
    return [sweep.key_of(cell) for sweep in sweeps for cell in sweep.cells]


@pytest.fixture(autouse=True)
def less(monkeypatch):
    monkeypatch.setattr(variants, "LENGTHS", (10, 60))
    monkeypatch.setattr(variants, "_REPEATS", 1)
    # A busy machine may find no truncated plan as fast as a beam: here beams take three seconds,
    # and truncated plans one for each of their rounds.
    monkeypatch.setattr(beam, "_timed", lambda problem, method, **options: (
        pr.solve(problem, method, **options), float(options.get("length", 3))
    ))  # fmt: skip


@pytest.mark.few(3)
@each
def test_nothing_changed_is_what_it_always_was(name):
    digest, rows, sums = BEFORE[name]
    sweeps = EXPERIMENTS[name].sweeps_of(Scale(**TINY))
    assert hashlib.sha256("\n".join(keys_of(sweeps)).encode()).hexdigest()[:16] == digest
    if rows:
        frame = run_sweeps([sweep for sweep in sweeps if not sweep.alone])
        assert len(frame) == rows
        assert_allclose([frame[c].sum() for c in sums], list(sums.values()), rtol=1e-9)


def test_every_assumption_of_every_experiment_is_tried_here():
    assert {name: set(changes) for name, changes in CHANGES.items()} == {
        name: set(experiment.assumes) for name, experiment in EXPERIMENTS.items()
    }
    assert set.union(*map(set, CHANGES.values())) == set(NAMES)


@each_change
def test_a_change_makes_other_cells(name, changed):
    experiment = EXPERIMENTS[name]
    usual = set(keys_of(experiment.sweeps_of(Scale(**TINY))))
    sweeps = experiment.sweeps_of(scale_of(**{changed: CHANGES[name][changed]}))
    keys = keys_of(sweeps)
    assert keys
    assert len(set(keys)) == len(keys)
    assert not usual & set(keys)


@pytest.mark.few(2)
@each
def test_everything_can_be_changed_at_once_and_is_drawn_and_told(name):
    experiment, scale = EXPERIMENTS[name], scale_of(**CHANGES[name])
    frame = run_sweeps(experiment.sweeps_of(scale))
    FigureCanvasAgg(experiment.figure(frame)).draw()
    findings = findings_of(experiment, scale, frame)
    assert {finding.verdict for finding in findings} == {Agreement.NOT_COMPARABLE}
    told = {f.claim: (f.paper, f.ours) for f in findings[: len(CHANGES[name])]}
    assert told == {
        f"assumed: {NAMES[one]}": (experiment.assumes[one], str(value))
        for one, value in CHANGES[name].items()
    }
    outcomes = findings[len(CHANGES[name]) :]
    assert outcomes
    assert all(finding.paper == "-" and finding.ours != "-" for finding in outcomes)


def test_the_changed_problem_is_what_is_solved():
    told = {"discount": 0.93, "floor": 0.07, "imputation": 0.4, "horizon": 12}
    frame = run("stationary", draws=2, rho=[0.7], workers=1, alpha=1.3, tests=3,
                budget="exactly 2", **told)  # fmt: skip
    row = frame[(frame["part"] == "curves") & (frame["draw"] == 1)].iloc[0]
    drawn = draw(3, np.random.SeedSequence(0, spawn_key=(1,)))
    problem = pr.Problem(
        pr.World.equicorrelated(drawn.coefficients, 0.7, noise_variance=1e-3),
        pr.Learner(drawn.initial, pr.Geometric(1.3, floor=0.07), 0.4),
        pr.Exactly(2),
        0.93,
        12,
    )
    assert_allclose(row["best"], pr.solve(problem, "finite").value)
    assert_allclose(row["fixed"], pr.solve(problem, "stationary").value)


def test_a_wrong_input_is_wrong_around_the_changed_truth():
    told = {"alpha": 1.3, "floor": 0.05, "horizon": 40}
    kept = misspecification.outcome("learning", 0.5, **told)
    truth = misspecification.planned_with(**told)
    believed = misspecification.planned_with(**{**told, "alpha": 1.3**1.5})
    value = pr.evaluate(truth, pr.solve(believed, "finite").policy)
    assert_allclose(kept["retained"], 100 * pr.solve(truth, "finite").value / value)


@each
def test_other_assumptions_are_refused_with_what_there_is(name):
    values = {"tests": 3, "imputation": 0.5, "horizon": 9, "floor": 0.1, "budget": 1}
    known = EXPERIMENTS[name].assumes
    for other in set(values) - set(known):
        with pytest.raises(InvalidInput, match=f"^{other}: not an.*{', '.join(known)}"):
            run(name, **{other: values[other]})


def test_all_refusals_come_at_once():
    with pytest.raises(InvalidInput, match=r"(?s)imputation: not.*tests: not"):
        run("misspecification", tests=3, imputation=0.1)
    with pytest.raises(InvalidInput, match="tests: not an assumption of action-map"):
        reproduce(["action-map", "stationary"], output="unused", scale=scale_of(tests=3))


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        ({"alpha": 1.0}, "alpha: 1.0"),
        ({"discount": 1.0}, "discount: 1.0"),
        ({"floor": -0.1}, "floor: -0.1"),
        ({"imputation": "square"}, "imputation: 'square'"),
        ({"imputation": 1.5}, "imputation: 1.5"),
        ({"tests": 1}, "tests: 1"),
        ({"budget": 0}, "budget: 0"),
        ({"budget": "some 2"}, "budget: 'some 2'"),
        ({"horizon": 2.5}, "horizon: 2.5"),
        ({"tests": 2, "budget": 3}, "budget: 3, more than there are `tests` (2)"),
    ],
)
def test_values_that_make_no_sense_are_refused(faulty, complaint):
    with pytest.raises(InvalidInput, match=re.escape(complaint)):
        Assumptions(**faulty)


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("stationary", {"budget": 3}, "3 shown of 2"),
        ("action-map", {"budget": 2}, "one test per round"),
        ("truncation", {"horizon": 5}, "the shortest T̄"),
        ("variants", {"imputation": 0.5}, "linear or cubic"),
        ("variants", {"horizon": 10}, "the shortest T̄"),
    ],
)
def test_values_that_an_experiment_cannot_have_are_refused(name, change, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        run(name, **change)


def test_numbers_of_other_libraries_are_taken():
    assume = Assumptions(alpha=np.float64(1.3), tests=np.int64(3), budget=np.int64(2))
    assert json.dumps(assume.changed) == '{"alpha": 1.3, "tests": 3, "budget": 2}'


def test_the_report_says_what_was_changed(tmp_path):
    scale = scale_of(alpha=1.37, horizon=30)
    reproduce(["misspecification"], output=tmp_path, scale=scale, workers=1)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "**Changed: learning speed α 1.37, horizon T 30.**" in text
    assert "agrees" not in text.split("##")[1]
    (section,) = read_sections(tmp_path)
    assert section["scale"]["assume"] == {"alpha": 1.37, "horizon": 30}


@pytest.mark.parametrize("name", ["stationary", "exploration", "truncation"])
def test_too_many_states_are_refused_in_terms_of_what_can_be_changed(name):
    words = r"4 tests over 600 rounds would take 5\.\d GiB .* shorter `horizon` \(\d+ rounds are"
    with pytest.raises(pr.TooLarge, match=words):
        run(name, **TINY, workers=1, tests=4)


def test_what_is_no_section_in_the_folder_is_refused_before_anything_runs(tmp_path):
    for text, words in (("{", "not valid JSON"), ("{}", "was not written by an experiment")):
        (tmp_path / "beam.json").write_text(text)
        with pytest.raises(InvalidInput, match=f"beam.json: {words}"):
            reproduce(["theorems"], output=tmp_path, scale=Scale(quick=True))
    assert [path.name for path in tmp_path.iterdir()] == ["beam.json"]
