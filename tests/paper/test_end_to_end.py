"""Each experiment at tiny size: its table, its figure, what it finds, and what it writes."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_allclose

from preceptor.errors import InvalidInput
from preceptor.paper.experiment import Agreement, Scale
from preceptor.paper.reproduction import EXPERIMENTS, UNFINISHED, find, reproduce, run
from tests.paper.conftest import TINY

NAMES = tuple(EXPERIMENTS)
# What takes seconds even at tiny size.
DEAR = ("exploration", "truncation", "variants")
each = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.full] if n in DEAR else []) for n in NAMES]
)

# For each part: columns, apart from part and draw; and how many settings at tiny size.
PARTS = {
    "stationary": {
        "curves": "budget alpha discount rho best fixed floor retained excess",
        "named points": "budget alpha discount rho best fixed floor retained excess",
    },
    "action-map": {"actions": "rho length actions"},
    "exploration": {
        "pairs": "n k budget horizon rho length value",
        "triples": "n k budget horizon rho length value",
        "horizons": "n k budget horizon rho length value",
        "certificates": "n k rho certified",
        "named points": "n k budget horizon rho length value",
    },
    "truncation": {
        "quality": "budget alpha length suffix retained excess",
        "time": "program length seconds",
    },
    "beam": {"matched": "n k suffix width beam truncated ratio seconds_beam"},
    "misspecification": {
        "repeats": "input level retained excess",
        "signs": "input level sign retained excess",
    },
    "variants": {
        "phases": "scenario rho length value",
        "quality": "scenario planned retained",
        "time": "scenario planned seconds",
    },
    "theorems": {
        "phases": "rho discount gain threshold",
        "ratios": "rho ahead ratio theorem guaranteed",
    },
}
# Least and largest value of a column, wherever it is.
RANGES = {
    "retained": (1e-9, 100.0 + 1e-9),
    "excess": (-1e-9, 100.0 + 1e-9),
    "length": (0, 600),
    "certified": (0, np.inf),
    "certified_plan": (0, np.inf),
    "value": (1e-3, np.inf),
    "best": (1e-3, np.inf),
    "fixed": (1e-3, np.inf),
    "floor": (1e-3, np.inf),
    "gain": (0.0, 100.0),
    "ratio": (1e-9, np.inf),
    "threshold": (0.0, 1.0),
    "seconds": (1e-9, np.inf),
    "seconds_beam": (1e-9, np.inf),
}


def test_there_is_one_experiment_for_each_section_of_the_paper():
    assert set(NAMES) == set(PARTS)


@pytest.mark.few(3)
@each
def test_the_table_has_its_parts_and_columns(reproduced, name):
    frame = reproduced(name).result.frame
    assert list(frame["part"].unique()) == list(PARTS[name])
    for part, columns in PARTS[name].items():
        rows = frame[frame["part"] == part]
        assert len(rows) > 0
        filled = rows[columns.split()].notna()
        # A beam may be faster than every truncated plan: then there is nothing to compare.
        optional = {"beam": ["truncated", "ratio"]}.get(name, [])
        assert filled.drop(columns=optional, errors="ignore").all(axis=None), part
        assert set(rows["draw"]) <= {0, 1}


@each
def test_numbers_are_possible(reproduced, name):
    frame = reproduced(name).result.frame
    checked = [column for column in RANGES if column in frame]
    for column in checked:
        least, most = RANGES[column]
        values = frame[column].dropna().astype(float)
        assert values.between(least, most).all(), (column, values.min(), values.max())
    assert checked


def test_showing_less_is_allowed_so_at_most_is_never_worse(reproduced):
    frame = reproduced("stationary").result.frame
    named = frame[frame["part"] == "named points"]
    table = named.pivot(index=["alpha", "rho", "draw"], columns="budget", values="best")
    assert (table["at most"] <= table["exactly"] * (1 + 1e-12)).all()
    assert (frame["floor"] <= frame["best"]).all()
    assert (frame["best"] <= frame["fixed"] * (1 + 1e-12)).all()


@pytest.mark.full
def test_choosing_the_end_is_never_worse_than_repeating_the_last_set(reproduced):
    frame = reproduced("truncation").result.frame
    quality = frame[frame["part"] == "quality"]
    table = quality.pivot(
        index=["budget", "alpha", "length", "draw"], columns="suffix", values="retained"
    )
    assert (table["best"] >= table["last"] - 1e-9).all()


def test_a_beam_is_compared_with_plans_that_took_no_longer(reproduced):
    frame = reproduced("beam").result.frame
    assert_allclose(frame["ratio"], 100 * frame["truncated"] / frame["beam"])
    assert set(frame["suffix"]) == {"last", "best"}
    # With the end chosen, the opponent is stronger, so no ratio is larger.
    table = frame.pivot(index=["width", "draw"], columns="suffix", values="ratio")
    beams = frame.pivot(index=["width", "draw"], columns="suffix", values="beam")
    assert (beams["last"] == beams["best"]).all()
    assert len(table.dropna()) > 0


# --- figures

# Parts whose correlations are those that the person asks for.
CHOSEN = {"curves", "actions", "pairs", "triples", "certificates", "phases"}


def only(frame, rho):
    """The table as it would be if only this correlation had been asked for."""
    return frame[~frame["part"].isin(CHOSEN) | (frame["rho"] == rho)] if "rho" in frame else frame


def panels(figure):
    """All axes but the colour bars."""
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def drawn(figure):
    """The figure after it was laid out and painted; a warning would be an error."""
    FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.few(3)
@each
def test_the_figure_says_what_it_shows_and_legends_cover_nothing(reproduced, name):
    result = reproduced(name).result
    figure = drawn(result.experiment.figure(result.frame))
    assert panels(figure)
    for ax in panels(figure):
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        legend = ax.get_legend()
        labels = [text.get_text() for text in legend.get_texts()]
        assert labels
        assert len(set(labels)) == len(labels)
        assert all(labels)
        box = legend.get_window_extent()
        assert not any(box.overlaps(other.get_window_extent()) for other in panels(figure))
        for text in legend.get_texts():  # all on the page
            inside = text.get_window_extent()
            assert figure.bbox.contains(inside.x0, inside.y0), text
            assert figure.bbox.contains(inside.x1, inside.y1), text
        for line in ax.lines:  # nothing is cut off; ends of error bars have no label
            low, high = sorted(ax.get_ylim())
            y = np.asarray(line.get_ydata(), dtype=float)
            assert line.get_label().startswith("_") or not np.any((y < low) | (y > high)), line
    for ax in figure.axes:  # colour bars too
        assert ax.get_xlabel() or ax.get_ylabel()


def test_lines_are_the_means_of_the_table(reproduced):
    result = reproduced("stationary").result
    figure = result.experiment.figure(result.frame)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    frame = result.frame[result.frame["part"] == "curves"]
    for alpha in (1.05, 1.10, 1.20):
        rows = frame[(frame["alpha"] == alpha) & (frame["discount"] == 0.99)]
        expected = rows.groupby("rho")["retained"].mean()
        assert_allclose(lines[f"α = {alpha:.2f}"].get_xdata(), expected.index)
        assert_allclose(lines[f"α = {alpha:.2f}"].get_ydata(), expected)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name",
    ["stationary", "action-map", "theorems", pytest.param("exploration", marks=pytest.mark.full)],
)
def test_one_correlation_can_be_drawn(reproduced, name):
    result = reproduced(name).result
    drawn(result.experiment.figure(only(result.frame, 0.99)))


# --- findings


@each
def test_findings_say_something(reproduced, name):
    findings = reproduced(name).result.findings
    assert findings
    for finding in findings:
        assert finding.claim
        assert finding.paper
        assert finding.ours
        assert (finding.paper == "-") == (finding.verdict is Agreement.NOT_SAID)
        assert finding.verdict is not Agreement.NOT_COMPARABLE or "no comparison" in finding.why
    claims = [finding.claim for finding in findings]
    assert len(set(claims)) == len(claims)


def without_a_number(finding) -> bool:
    return bool(re.search(r"\bnan\b|(^|: )-( |$)", finding.ours))


@each
def test_nothing_is_judged_that_was_not_run(reproduced, name):
    """Statements about ρ = .99 cannot agree or differ when only ρ = .5 was run."""
    result = reproduced(name).result
    for finding in result.experiment.findings(only(result.frame, 0.5)):
        if without_a_number(finding):
            assert finding.verdict in (Agreement.NOT_RUN, Agreement.NOT_SAID), finding


VARIES = {name: experiment.varies for name, experiment in EXPERIMENTS.items()}


# --- files


@each
def test_files_are_written_and_can_be_read(reproduced, name):
    result, folder = reproduced(name)
    names = {path.name for path in folder.iterdir()}
    expected = {f"{name}{suffix}" for suffix in (".parquet", ".png", ".pdf", ".json")}
    assert names == expected | {"report.md", "report.json"}
    pd.testing.assert_frame_equal(pd.read_parquet(folder / f"{name}.parquet"), result.frame)
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF-")
    told = json.loads((folder / "report.json").read_text("utf-8"))
    (about,) = told["experiments"]
    asked = {"draws": 2, "rho": [0.5, 0.99]}
    meant = {option: value if option in VARIES[name] else None for option, value in asked.items()}
    assert about["scale"] == {**meant, "quick": True, "seed": 0}
    assert about["name"] == name
    assert [f["verdict"] for f in about["findings"]] == [f.verdict.value for f in result.findings]
    assert set(about["seconds"]) == {*PARTS[name], "files and figure"}


@each
def test_the_report_has_every_finding_in_a_row_of_four_cells(reproduced, name):
    result, folder = reproduced(name)
    text = (folder / "report.md").read_text("utf-8")
    assert f"]({name}.png)" in text
    table = text.split("|---|---|---|---|\n", 1)[1].split("\n\n", 1)[0].splitlines()
    assert len(table) == len(result.findings)
    for row, finding in zip(table, result.findings, strict=True):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert len(cells) == 4, row
        assert cells[0].replace("\\|", "|") == finding.claim
        assert cells[2] == finding.ours
        assert cells[3].strip("*") == finding.verdict.value


def test_several_experiments_come_in_the_order_of_the_paper(tmp_path):
    names = ["misspecification", "action-map"]
    told = []
    results = reproduce(
        names,
        output=tmp_path / "new" / "folder",
        scale=Scale(draws=1, quick=True),
        workers=1,
        tell=lambda name: told.append(name) or (lambda update: None),
    )
    assert [result.experiment.name for result in results] == names[::-1] == told
    text = (tmp_path / "new" / "folder" / "report.md").read_text("utf-8")
    assert text.index("action-map.png") < text.index("misspecification.png")
    assert not list((tmp_path / "new" / "folder").glob(f"*{UNFINISHED}"))


def test_run_gives_the_table_that_reproduce_writes(reproduced):
    frame = run("misspecification", draws=2, rho=TINY.rho, quick=True, workers=1)
    pd.testing.assert_frame_equal(frame, reproduced("misspecification").result.frame)


def test_unknown_experiments_are_all_named():
    with pytest.raises(InvalidInput, match=r"(?s)'stationery' is unknown.*'bean' is unknown"):
        find(["stationery", "beam", "bean"])


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        ({"draws": 0}, "draws: 0"),
        ({"draws": 1.5}, "draws: 1.5"),
        ({"rho": (0.5, 1.0)}, "rho: 1.0"),
        ({"rho": (-0.1,)}, "rho: -0.1"),
        ({"rho": (float("nan"),)}, "rho: nan"),
        ({"rho": ()}, "no correlation given"),
        ({"seed": -1}, "seed: -1"),
    ],
)
def test_bad_scales_are_refused(faulty, complaint):
    with pytest.raises(InvalidInput, match=re.escape(complaint)):
        Scale(**faulty)


@each
def test_a_correlation_given_twice_is_refused_or_run_once(name):
    try:
        sweeps = EXPERIMENTS[name].sweeps(Scale(draws=1, rho=(0.5, 0.5), quick=True))
    except InvalidInput as error:
        assert "0.5" in str(error)  # noqa: PT017
        return
    for sweep in sweeps:
        keys = [sweep.key_of(cell) for cell in sweep.cells]
        assert len(set(keys)) == len(keys), sweep.name


@pytest.mark.full
def test_one_more_experiment_leaves_the_others_in_the_report(tmp_path):
    scale = Scale(draws=1, rho=(0.5, 0.99), quick=True)
    for name in ("theorems", "action-map"):
        reproduce([name], output=tmp_path, scale=scale, workers=1)
    told = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [one["name"] for one in told["experiments"]] == ["action-map", "theorems"]
    assert "theorems.png" in (tmp_path / "report.md").read_text("utf-8")


def test_another_experiment_does_not_forget_what_a_stopped_one_has(tmp_path):
    started = tmp_path / f"stationary{UNFINISHED}"
    started.write_text("not ours to remove\n")
    scale = Scale(rho=(0.5, 0.99), quick=True)
    reproduce(["action-map"], output=tmp_path, scale=scale, workers=1)
    assert started.exists()
