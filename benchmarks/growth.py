"""How time and memory grow with tests, rounds, caps and width; drawn for the documentation."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import preceptor as pr
from benchmarks.instances import instance
from benchmarks.measure import Row
from preceptor.planning.count_space import CountSpace, PlannedSets
from preceptor.planning.finite import bytes_needed
from preceptor.planning.lattice import CapEffects

PICTURE = Path("docs/assets/growth.png")
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]
_ENOUGH = 20.0  # seconds at which a curve ends


def finite_against_rounds() -> dict[str, list[tuple[float, float, float]]]:
    curves = {}
    for size, budget in [
        (2, pr.Exactly(1)),
        (2, pr.AtMost(1)),
        (3, pr.Exactly(2)),
        (3, pr.AtMost(2)),
    ]:
        problem = instance(size, 1, 0.9, budget=budget)
        points = []
        for rounds in (25, 50, 100, 200, 400, 800, 1600):
            finite = problem.replace(horizon=rounds)
            needed = bytes_needed(
                finite, CountSpace.smallest(PlannedSets.of(finite).family, rounds)
            )
            if needed > 2**31 or (points and points[-1][1] > _ENOUGH / 8):
                break
            points.append((rounds, timed(lambda p=finite: pr.solve(p, "finite")), needed))
        curves[budget.in_words(size)] = points
    return curves


def lattice_against_cap() -> dict[str, list[tuple[float, float, float]]]:
    curves = {}
    for size, k, caps in [
        (2, 1, (50, 100, 200, 400, 800, 1600)),
        (3, 2, (25, 50, 100, 200, 400)),
        (4, 2, (10, 20, 40, 80)),
        (5, 2, (6, 12, 24)),
    ]:
        problem = instance(size, k, 0.9)
        effects = CapEffects.of(problem)
        points = []
        for cap in caps:
            needed = effects.bytes_needed(np.full(effects.dimensions, cap))
            points.append(
                (
                    cap,
                    timed(lambda p=problem, c=cap: pr.solve(p, "lattice", caps=c)),
                    needed,
                )
            )
        curves[f"n={size}, at most {k}"] = points
    return curves


def losses_against_tests() -> dict[str, list[tuple[float, float, float]]]:
    curves = {}
    for k in (1, 2, 3, 4, 5):
        points = []
        for size in (6, 8, 10, 14, 20, 28, 40):
            problem = instance(size, k, 0.9)
            if problem.budget.count(size) > 200_000:
                break
            errors = np.repeat(problem.initial_errors[None], 64, axis=0)
            seconds = timed(lambda p=problem, e=errors: p.oracle.losses(e))
            points.append((size, seconds, 8.0 * 64 * len(problem.sets)))
        curves[f"at most {k}"] = points
    return curves


def beam_against_width() -> dict[str, list[tuple[float, float, float]]]:
    curves = {}
    for size, k in [(5, 2), (10, 2), (15, 3)]:
        problem = instance(size, k, 0.99)
        points = []
        for width in (1, 4, 16, 64, 256):
            seconds = timed(
                lambda p=problem, w=width: pr.solve(p, "beam", width=w, layers=20), least=1
            )
            points.append((width, seconds, 8.0 * width * len(problem.sets) * (size + 4)))
            if seconds > _ENOUGH / 8:
                break
        curves[f"n={size}, at most {k}, 20 layers"] = points
    return curves


def timed(work, least: int = 2) -> float:
    work()
    best = np.inf
    for _ in range(least):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return float(best)


def draw(panels) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, len(panels), sharex="col")
    for column, (title, label, curves) in enumerate(panels):
        for (name, points), colour in zip(curves.items(), COLOURS, strict=False):
            x, seconds, needed = np.array(points).T
            axes[0, column].loglog(x, seconds, "o-", color=colour, label=name, markersize=4)
            axes[1, column].loglog(x, np.array(needed) / 2**20, "o-", color=colour, markersize=4)
        axes[0, column].set_title(title, fontsize=11)
        names = axes[0, column].get_legend_handles_labels()
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "ncols": 2}
        axes[1, column].legend(*names, fontsize=8, frameon=False, **place)
        axes[1, column].set_xlabel(label)
        if label == "tests n":
            axes[1, column].set_xticks([6, 10, 20, 40], ["6", "10", "20", "40"])
            axes[1, column].tick_params(axis="x", which="minor", labelbottom=False)
        for row in (0, 1):
            axes[row, column].grid(visible=True, which="major", color="#e5e5e5")
            axes[row, column].spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_ylabel("seconds (one run, warm)")
    axes[1, 0].set_ylabel("memory of the tables (MiB)")
    figure.savefig(PICTURE, dpi=110)


def growth() -> list[Row]:
    panels = [
        ("finite", "rounds T", finite_against_rounds()),
        ("lattice", "cap M on every count", lattice_against_cap()),
        ("losses of all sets, 64 states", "tests n", losses_against_tests()),
        ("beam", "width", beam_against_width()),
    ]
    draw(panels)
    rows = []
    for title, label, curves in panels:
        for name, points in curves.items():
            if len(points) < 2:
                continue
            (x0, y0, _), (x1, y1, _) = points[-2:]
            slope = np.log(y1 / y0) / np.log(x1 / x0)
            rows.append(
                Row(
                    work=f"growth of {title} ({name})",
                    against=f"exponent in {label} at the end of the curve",
                    ratio=float(slope),
                    wanted=0.0,
                    details={"points": [[float(v) for v in p] for p in points]},
                )
            )
    return rows


ROWS = {"growth": growth}
