"""Closed loop: how much is lost against somebody who knew the kind, problem by problem.

`python docs/make_tutoring.py TABLE [WORKERS]` prints one table of the page `people.md`; finished
people are kept in a journal beside the temporary files, so a run that was killed goes on.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from people_measured import FIVE, five, problem, strangers, twelve_others

import preceptor as pr
from preceptor._base.executors import LocalProcesses, Serial
from preceptor._base.many import run_many
from preceptor.simulation import tutored

ROUNDS = 400
# Problems, crowd, scatter of answers in sd of the outcome, first beliefs known, probing, seeds.
DRAWS = tuple(f"B{i}" for i in range(20))
TABLES: dict[str, tuple[tuple[str, ...], str, float, bool, bool, int]] = {
    "B-five": (DRAWS, "five", 0.1, True, False, 1),
    "B-quiet": (DRAWS, "five", 0.03, True, False, 1),
    "B-noisy": (DRAWS, "five", 0.3, True, False, 1),
    "B-twelve": (DRAWS, "twelve", 0.1, False, False, 1),
    "B-probing": (DRAWS, "five", 0.1, True, True, 1),
    "A-five": (("A",), "five", 0.1, True, False, 4),
    "A-twelve": (("A",), "twelve", 0.1, False, False, 4),
    "C-five": (("C",), "five", 0.1, True, False, 4),
    "C-twelve": (("C",), "twelve", 0.1, False, False, 4),
    "B-strangers": (DRAWS[:8], "strangers", 0.1, True, False, 1),
}


def one(item: tuple[str, str, str, float, bool, bool, int]) -> dict[str, Any]:
    """Excess of the tutor over an oracle for one person, as a share, and what was found out."""
    name, crowd, who, scatter, known, probing, seed = item
    setting = problem(name)
    pool = strangers(name) if crowd == "strangers" else five(name)
    person = pool[who]
    kinds = twelve_others(name) if crowd == "twelve" else five(name)
    noise = scatter * float(np.sqrt(setting.world.outcome_variance))
    spread = 0.0 if known else None
    first = person
    if not known:
        # Their first beliefs are not those that the tutor starts from.
        rng = np.random.default_rng(1_000 + seed)
        errors = setting.world.coefficients - person.initial
        away = 0.3 * np.sqrt(np.mean(errors**2)) * rng.standard_normal(setting.size)
        first = _with_beliefs(person, person.initial + away)
    acting = first.acting(setting.world)
    oracle = pr.Tutor(
        setting.replace(learner=person), spread=spread, none_of_these=0.0, level=False
    )
    best = tutored(oracle, acting, ROUNDS, seed, response_noise=noise).cost
    tutor = pr.Tutor(
        setting.replace(learner=pr.Crowd(dict(kinds))), spread=spread, probing=probing, level=False
    )
    run = tutored(tutor, acting, ROUNDS, seed, response_noise=noise)
    sure = run.sure_after(who) if crowd == "five" else None
    return {"name": name, "who": who, "excess": run.cost / best - 1.0, "sure": sure}


def _with_beliefs(person: pr.Person, initial: Any) -> pr.Person:
    data = person.to_dict() | {"initial": np.asarray(initial).tolist()}
    found: pr.Person = pr.Person.from_dict(data)
    return found


def table(name: str, workers: int = 1) -> str:
    """One row a kind: geometric mean, its standard error, median and largest excess; rounds."""
    problems, crowd, scatter, known, probing, seeds = TABLES[name]
    whom = strangers(problems[0]) if crowd == "strangers" else FIVE
    items = [
        (p, crowd, who, scatter, known, probing, seed)
        for p in problems
        for who in whom
        for seed in range(seeds)
    ]
    journal = Path(tempfile.gettempdir()) / f"tutoring-{name}.jsonl"
    executor = Serial() if workers == 1 else LocalProcesses(workers)
    rows = run_many(one, items, executor=executor, journal=journal, key=repr)
    lines = [
        "| | mean | s.e. | median | largest | rounds until sure (median) |",
        "|---|" + "---|" * 5,
    ]
    for who in whom:
        logs = np.array([np.log1p(row["excess"]) for row in rows if row["who"] == who])
        sure = [ROUNDS if r["sure"] is None else r["sure"] for r in rows if r["who"] == who]
        error = 100 * np.expm1(logs.std(ddof=1) / np.sqrt(logs.size))
        cells = (
            f"{100 * np.expm1(logs.mean()):.1f} %", f"{error:.1f}",
            f"{100 * np.expm1(np.median(logs)):.1f} %", f"{100 * np.expm1(logs.max()):.0f} %",
            f"{np.median(sure):.0f}" if crowd == "five" else "",
        )  # fmt: skip
        lines.append(f"| {who} | {' | '.join(cells)} |")
    return "\n".join(lines)


def pictures() -> None:
    """One run: who the tutor thought it was, what it showed, what that cost beside an oracle."""
    from people_pictures import on_paper

    from preceptor.report import run_figures
    from preceptor.report.axes import Axis
    from preceptor.report.charts import DASHES, Line, line_chart
    from preceptor.report.run import Run, running

    name, who, seed, rounds = "B3", "paper", 0, 150
    setting, kinds = problem(name), five(name)
    noise = 0.1 * float(np.sqrt(setting.world.outcome_variance))
    acting = kinds[who].acting(setting.world)
    crowd = setting.replace(learner=pr.Crowd(dict(kinds)))
    run = tutored(pr.Tutor(crowd, spread=0.0, level=False), acting, rounds, seed,
                  response_noise=noise)  # fmt: skip
    alone = pr.Tutor(setting.replace(learner=kinds[who]), spread=0.0, level=False)
    oracle = tutored(alone, acting, rounds, seed, response_noise=noise)
    lately = {name: running(np.sqrt(each.losses), 10) ** 2
              for name, each in (("run", run), ("oracle", oracle))}  # fmt: skip
    lines = [
        Line("tutor", range(1, rounds + 1), lately["run"].tolist(), "#0072B2", DASHES[0], 2.2),
        Line("who knew the kind", range(1, rounds + 1), lately["oracle"].tolist(), "#D55E00",
             DASHES[1]),
    ]  # fmt: skip
    drawn = {
        "tutor-kinds": run_figures.kinds(run.tutor, Run.of(run.tutor)),
        "tutor-shown": run_figures.shown(run.tutor),
        "tutor-loss": line_chart(
            "tutor-loss", "Expected loss lately, beside somebody who knew the kind", lines,
            x_axis=Axis.counting(0.5, rounds + 0.5), x_label="round",
            y_label="expected loss, mean of the last 10 rounds",
        ),
    }  # fmt: skip
    folder = Path(__file__).parent / "assets" / "people"
    for title, picture in drawn.items():
        (folder / f"{title}.svg").write_text(on_paper(picture, 2000.0), "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["pictures"]:
        pictures()
    else:
        print(table(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1))
