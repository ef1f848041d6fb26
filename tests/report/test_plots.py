"""Pictures: what is drawn is what is planned, and nothing outside is touched."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

import preceptor as pr
from preceptor.model.evaluation import losses_along
from preceptor.report import plots
from preceptor.report.palette import TESTS
from preceptor.report.plots import plot_plan
from preceptor.report.schedule_view import rounds_shown

WORLD = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.6, names=["bmi", "bp", "co$t $"])
PROBLEM = pr.Problem(WORLD, pr.Learner([0.2, 1.3, -0.4], pr.Geometric(1.1)), budget=2)


def plan_of(policy, problem=PROBLEM):
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, value, pr.Status.OPTIMAL, "by hand", 0.0)


POLICIES = {
    "explores": pr.ExploreThenCommit([(0, 1)] * 5 + [(2,), (1,)] * 4, (0, 2)),
    "long": pr.ExploreThenCommit([(0,), (1,)] * 400, (0,)),
    "alternating": pr.Alternating([(0,), (1,)]),
    "stationary": pr.Stationary((0, 1)),
    "nothing": pr.Stationary(()),
}


def intervals(axes, row):
    """The rounds that are filled in one row of the timeline."""
    boxes = [path.get_extents() for path in axes.collections[row].get_paths()]
    rounds = [range(round(b.x0 - 0.5), round(b.x1 - 0.5)) for b in boxes]
    return {t for stretch in rounds for t in stretch}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_timeline_and_losses_are_those_of_the_plan(policy):
    plan = plan_of(policy)
    figure = plot_plan(plan)
    timeline, losses, errors = figure.axes
    schedule = policy.schedule(rounds_shown(plan))
    for test in range(3):
        shown = {t for t, tests in enumerate(schedule) if test in tests}
        assert intervals(timeline, test) == shown
    line = next(line for line in losses.lines if line.get_label() == "this plan")
    np.testing.assert_allclose(line.get_ydata(), losses_along(PROBLEM, schedule))
    assert errors.get_xlabel() == "case"
    assert all(axes.get_ylabel() for axes in figure.axes)
    assert [label.get_text().replace(r"\$", "$") for label in timeline.get_yticklabels()] == [
        "bmi",
        "bp",
        "co$t $",
    ]


def test_errors_start_where_the_person_starts():
    problem = PROBLEM.replace(start=(4, 0, 0))
    _, _, errors = plot_plan(plan_of(POLICIES["explores"], problem)).axes
    first = {line.get_label(): line.get_ydata()[0] for line in errors.lines}
    assert first["bmi"] == pytest.approx(0.8 / 1.1**4)


def test_legends_lie_beside_the_data():
    figure = plot_plan(plan_of(POLICIES["explores"]))
    figure.draw_without_rendering()
    for axes in figure.axes[1:]:
        assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


def test_colours_tell_tests_apart():
    _, _, errors = plot_plan(plan_of(POLICIES["explores"])).axes
    colours = {line.get_label(): to_hex(line.get_color()) for line in errors.lines}
    assert [colours[name] for name in ("bmi", "bp")] == [colour.light for colour in TESTS[:2]]


def test_window_is_bounded():
    assert rounds_shown(plan_of(POLICIES["long"])) == 600
    assert rounds_shown(plan_of(POLICIES["explores"], PROBLEM.replace(horizon=9))) == 9
    assert rounds_shown(plan_of(POLICIES["explores"])) == 13 + 15


def test_only_shown_tests_get_a_row_when_there_are_many():
    size = 25
    world = pr.World.equicorrelated(np.ones(size), 0.2)
    problem = pr.Problem(
        world, pr.Learner(np.zeros(size), pr.Geometric(1.1)), pr.AtMost(9, price=0.1)
    )
    plan = plan_of(pr.ExploreThenCommit([(3,), (4,)], tuple(range(9))), problem)
    figure = plot_plan(plan)
    assert len(figure.axes[0].get_yticklabels()) == 9
    assert "prices" in figure.axes[1].get_ylabel()
    labels = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
    assert labels.count("never shown") == 1


def test_large_differences_use_a_logarithmic_axis():
    world = pr.World.equicorrelated([1.0, 0.8], 0.5, noise_variance=1e-3)
    problem = pr.Problem(world, pr.Learner([9.0, -9.0], pr.OneShot()), 2)
    assert plot_plan(plan_of(pr.Stationary((0, 1)), problem)).axes[1].get_yscale() == "log"


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures_are_written_whole(tmp_path, suffix, magic):
    target = tmp_path / f"plan.{suffix}"
    plan_of(POLICIES["explores"]).plot(target)
    assert target.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_picture_leaves_nothing(tmp_path, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(pr.InvalidFile, match=r"plan\.png: the disk is full"):
        plan_of(POLICIES["explores"]).plot(tmp_path / "plan.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["plan.xyz", "plan", "missing/plan.png", "folder.png"])
def test_bad_targets_are_named(tmp_path, name):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(pr.InvalidFile, match=r"plan|missing|folder"):
        plan_of(POLICIES["stationary"]).plot(tmp_path / name)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(pr.MissingExtra, match=r"preceptor\[plot\]"):
        plot_plan(plan_of(POLICIES["stationary"]))


@pytest.mark.full
def test_pyplot_is_never_imported():
    code = (
        "import sys, preceptor as pr\n"
        "w = pr.World([1.0], [[1.0]])\n"
        "pr.solve(pr.Problem(w, pr.Learner([0.0], pr.OneShot()), 1)).plot()\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_headline_and_titles_say_how_it_ends():
    bounded = replace(plan_of(POLICIES["explores"]), status=pr.Status.BOUNDED, lower_bound=40.0)
    assert "above the best possible" in plot_plan(bounded).get_suptitle()
    title = plots.plot_plan(plan_of(POLICIES["alternating"])).axes[0].get_title(loc="left")
    assert title.startswith("over and over: ")
    assert "in 1 of 2 cases" in title
    note = plot_plan(bounded).axes[0].get_title(loc="left")
    assert note.startswith("from case 14: always bmi + co")


def test_a_test_of_several_columns_has_one_row():
    world = pr.World([1.0, 0.5, 0.2], np.eye(3), names=["age", "a", "b"], groups={"site": [1, 2]})
    problem = pr.Problem(world, pr.Learner(np.zeros(3), pr.Geometric(1.1)), 1)
    timeline = plot_plan(plan_of(pr.ExploreThenCommit([(1, 2)] * 3, (0,)), problem)).axes[0]
    assert [label.get_text() for label in timeline.get_yticklabels()] == ["age", "site"]
    assert intervals(timeline, 1) == {0, 1, 2}
