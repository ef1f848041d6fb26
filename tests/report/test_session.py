"""The page of a run: what it draws is what happened, in one safe page of its own."""

import re
from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.model.world import Units
from preceptor.report import session
from preceptor.report.charts import escaped
from preceptor.report.session import Run, outcome_given, render_session, running, write_session
from tests.report.test_charts import paths, texts
from tests.report.test_html import Page

WORLD = pr.World(
    [1.0, 0.8, 0.5],
    pr.World.equicorrelated([1, 1, 1], 0.6).covariance,
    0.5,
    names=["bmi", "<b>bp</b>", 'co$t & "more"'],
    units=Units([25, 90, 3], [4, 10, 1], "fat, <%>", 19.0),
)
CROWD = pr.Crowd(
    {
        "by <showings>": pr.Learner([0.2, 1.3, 0.0], pr.Geometric(1.1)),
        "by outcomes": pr.DeltaRule([0.2, 1.3, 0.0], rate=0.1),
    }
)
PROBLEM = pr.Problem(WORLD, CROWD, budget=2, horizon=30)
SETS = [(0, 1), (1,), (0, 2), (), (0, 1)]


def run_of(rounds=12, seed=0):
    """A tutor with some rounds: answers at random, some truths not told, one told late."""
    rng = np.random.default_rng(seed)
    tutor = pr.Tutor(PROBLEM)
    drawn = WORLD.sample(rounds, rng=seed)
    for i in range(rounds):
        shown = SETS[i % len(SETS)]
        values = WORLD.units.restore(drawn.features[i])[list(shown)]
        truth = 19.0 + drawn.outcomes[i]
        untold = i % 5 == 1
        tutor = tutor.after(shown, values, 19.0 + rng.normal(), None if untold else truth)
        if i == 8:
            tutor = tutor.told(20.0, 1)
    return tutor


TUTOR = run_of()
PAGE = render_session(TUTOR, name="ann <1>", reasons=["because & why"] * 12)


def test_the_run_ends_where_the_tutor_is():
    run = Run.of(TUTOR)
    assert run.kinds.shape == (13, 3)
    np.testing.assert_allclose(run.kinds[-1], list(TUTOR.kinds.values()))
    np.testing.assert_allclose(run.kinds.sum(axis=1), 1.0)
    for played in range(1, 12):
        # Whatever was told later is not known yet.
        record = [
            entry if entry.heard is None or entry.heard <= played else
            replace(entry, outcome=None, heard=None)
            for entry in TUTOR.record[:played]
        ]  # fmt: skip
        then = replace(TUTOR, record=tuple(record))
        np.testing.assert_allclose(run.kinds[played], list(then.kinds.values()))


def test_truths_told_between_two_rounds_are_followed_as_they_are_kept():
    np.testing.assert_allclose(
        list(pr.Tutor.from_json(TUTOR.to_json()).kinds.values()), list(TUTOR.kinds.values())
    )


def test_errors_are_answers_less_truths():
    run = Run.of(TUTOR)
    for entry, error in zip(TUTOR.record, run.errors, strict=True):
        if entry.outcome is None:
            assert np.isnan(error)
        else:
            assert error == entry.answer - entry.outcome


def test_what_an_outcome_is_given_some_results():
    """By regression on many cases that were drawn."""
    drawn = WORLD.sample(200_000, rng=3)
    for shown in ((), (1,), (0, 2), (0, 1, 2)):
        seen = drawn.features[:, list(shown)]
        weights = np.linalg.lstsq(seen, drawn.outcomes, rcond=None)[0] if shown else np.zeros(0)
        left = drawn.outcomes - seen @ weights
        values = np.linspace(-1.0, 1.5, len(shown))
        mean, variance = outcome_given(WORLD, shown, values)
        assert mean == pytest.approx(float(values @ weights), abs=0.03)
        assert variance == pytest.approx(left.var(), rel=4 * np.sqrt(2 / 200_000))


def test_expected_errors_are_right_on_average():
    """With one kind, known weights and known scatter the squared error has this mean."""
    problem = pr.Problem(WORLD, pr.NoLearning([0.5, 0.5, 0.0]), budget=2)
    drawn = WORLD.sample(400, rng=5)
    rng = np.random.default_rng(6)
    tutor = pr.Tutor(problem, spread=0.0, none_of_these=0.0, level=False)
    for i in range(400):
        shown = [(0, 1), (1,)][i % 2]
        x = drawn.features[i, list(shown)]
        answer = 19.0 + x @ np.array([0.5, 0.5, 0.0])[list(shown)] + 0.3 * rng.normal()
        values = WORLD.units.restore(drawn.features[i])[list(shown)]
        tutor = tutor.after(shown, values, answer, 19.0 + drawn.outcomes[i])
    run = Run.of(tutor)
    gone = run.errors[20:] ** 2 - run.expected[20:] ** 2
    assert abs(gone.mean()) < 4 * gone.std() / np.sqrt(gone.size)
    assert np.all(run.least <= run.expected)


def test_running_errors():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=40)
    errors[[0, 7, 8]] = np.nan
    found = running(errors, 3)
    assert np.isnan(found[0])
    for i in range(1, 40):
        window = [e for e in errors[max(0, i - 2) : i + 1] if np.isfinite(e)]
        assert found[i] == pytest.approx(np.sqrt(np.mean(np.square(window))))


def test_the_page_is_whole_safe_and_alone():
    page = Page(PAGE)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert "<b>bp</b>" not in PAGE
    assert "ann &lt;1&gt; after 12 rounds" in PAGE
    assert PAGE.count("because &amp; why") == 12
    assert not re.search(r"(?:src|href)=", PAGE)
    assert PAGE.count('role="img"') == 4
    page = PAGE.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")
    assert escaped(TUTOR.recommendation().reason) in page
    assert "prefers-color-scheme: dark" in PAGE


def test_the_pictures_name_everything():
    words = texts(session.draw_kinds(TUTOR, Run.of(TUTOR)))
    assert {"by <showings>", "by outcomes", "none of these"} <= set(words)
    shown = texts(session.draw_shown(TUTOR))
    assert "truth not told" in shown
    assert "bmi" in shown
    lines = session.draw_errors(TUTOR, Run.of(TUTOR))
    assert len(paths(lines, "currentColor")) == 1
    beliefs = session.belief_rows(TUTOR)
    np.testing.assert_allclose([row.value for row in beliefs], TUTOR.coefficients)
    np.testing.assert_allclose([(row.low, row.high) for row in beliefs], TUTOR.intervals())


def test_before_the_first_round_there_is_a_page_too():
    page = render_session(pr.Tutor(PROBLEM))
    assert "After 0 rounds" in page
    assert 'id="kinds"' not in page


def test_nothing_told_and_nothing_answered():
    tutor = pr.Tutor(PROBLEM).after((0,), [25.0], 19.0).after((1,), [90.0])
    page = render_session(tutor)
    assert 'id="errors"' not in page
    assert "not told" in page


def test_a_log_is_as_good_as_a_tutor(tmp_path):
    rows = [entry for entry in TUTOR.record if entry.answer is not None]
    shown = np.zeros((len(rows), 3), dtype=bool)
    values = np.full((len(rows), 3), np.nan)
    for i, entry in enumerate(rows):
        shown[i, list(entry.shown)] = True
        values[i, list(entry.shown)] = entry.values
    outcome = [np.nan if entry.outcome is None else entry.outcome for entry in rows]
    answers = [entry.answer for entry in rows]
    log = Log(WORLD.labels, ["eve"] * 12, np.arange(12), shown, values, answers, outcome)
    write_session((PROBLEM, log), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "eve after 12 rounds" in text
    assert text == render_session(pr.Tutor(PROBLEM).through(log), name="eve")
    with pytest.raises(InvalidInput, match="reasons: 2 for 12 rounds"):
        render_session((PROBLEM, log), reasons=["a", "b"])
