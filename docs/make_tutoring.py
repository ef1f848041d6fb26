"""Closed loop: cost of a tutor compared with an oracle that knows the kind, per problem.

`python docs/make_tutoring.py TABLE [WORKERS]` prints one table of the pages `people.md` and
`tutor.md`; results are kept in a journal among the temporary files, so an interrupted run
resumes. If the person is one of the crowd, a fixed plan is simulated with the same people, too.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from people_measured import five, problem, strangers, twelve_others

import preceptor as pr
from preceptor._base.many import run_many
from preceptor._base.parallel import LocalProcesses, Serial
from preceptor._base.values import FloatArray
from preceptor.learners.simulated_tutoring import Tutored, tutored

# Scatter of answers over the outcome's standard deviation: of an attentive machine, and of people.
QUIET, PEOPLE = 0.1, 0.6
DRAWS = tuple(f"B{i}" for i in range(20))


class Table(NamedTuple):
    """Settings of a table: problems, the tutor's crowd, and the scatter of answers."""

    problems: tuple[str, ...]
    crowd: str
    scatter: float
    beliefs_known: bool = True
    seeds: int = 1
    rounds: int = 400


# Runs at the scatter of people have fewer people, so that each takes a few minutes of one core.
TABLES: dict[str, Table] = {
    "B-five": Table(DRAWS, "five", QUIET),
    "B-five-people": Table(DRAWS[:4], "five", PEOPLE),
    "B-quiet": Table(DRAWS, "five", 0.03),
    "B-noisy": Table(DRAWS, "five", 0.3),
    "B-twelve": Table(DRAWS, "twelve", QUIET, beliefs_known=False),
    "B-twelve-people": Table(DRAWS[:1], "twelve", PEOPLE, beliefs_known=False),
    "A-five": Table(("A",), "five", QUIET, seeds=4),
    "A-five-people": Table(("A",), "five", PEOPLE),
    "A-twelve": Table(("A",), "twelve", QUIET, beliefs_known=False, seeds=4),
    "A-twelve-people": Table(("A",), "twelve", PEOPLE, beliefs_known=False),
    "C-five": Table(("C",), "five", QUIET, seeds=4),
    "C-five-people": Table(("C",), "five", PEOPLE),
    "C-twelve": Table(("C",), "twelve", QUIET, beliefs_known=False, seeds=4),
    "C-twelve-people": Table(("C",), "twelve", PEOPLE, beliefs_known=False),
    "B-strangers": Table(DRAWS[:8], "strangers", QUIET),
    # What `preceptor tutor` does: the default crowd, and first beliefs that are not quite known.
    "default-60": Table(("A", *DRAWS[:6]), "default", QUIET, beliefs_known=False, rounds=60),
    "default-60-people": Table(
        ("A", *DRAWS[:6]), "default", PEOPLE, beliefs_known=False, rounds=60
    ),
}


def crowd_of(name: str, crowd: str) -> pr.Crowd:
    """The crowd that the tutor and the fixed plan assume."""
    if crowd == "default":
        setting = problem(name)
        tests = max(map(len, setting.sets))
        return pr.Crowd.default(setting.world, setting.by_showings.initial, tests=tests)
    return pr.Crowd(twelve_others(name) if crowd == "twelve" else five(name))


def taught(name: str, crowd: str) -> dict[str, pr.Person]:
    """The people who are taught."""
    if crowd == "default":
        return crowd_of(name, crowd).people
    return strangers(name) if crowd == "strangers" else five(name)


@cache
def on_paper(name: str, crowd: str, rounds: int) -> tuple[tuple[int, ...], ...]:
    """The plan with the least mean cost for the crowd, made before the first answer."""
    setting = problem(name).replace(learner=crowd_of(name, crowd), horizon=rounds)
    plan = pr.solve(setting, "search", objective="mean", max_kicks=1, time_limit=None)
    return tuple(plan.policy.schedule(rounds))


def one(item: tuple[str, str, str, float, bool, int, int]) -> dict[str, Any]:
    """Costs of one person with the tutor, a fixed plan and an oracle, and rounds until sure."""
    name, crowd, who, scatter, known, seed, rounds = item
    setting = problem(name).replace(horizon=rounds)
    person = taught(name, crowd)[who]
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
    alone = pr.Tutor(setting.replace(learner=person), spread=spread, none_of_these=0.0, level=False)
    oracle = tutored(alone, acting, rounds, seed, response_noise=noise)
    tutor = pr.Tutor(
        setting.replace(learner=crowd_of(name, crowd)),
        spread=spread,
        level=False,
    )
    run = tutored(tutor, acting, rounds, seed, response_noise=noise)
    found = {"name": name, "who": who, "tutor": run.cost, "oracle": oracle.cost}
    if crowd == "five":
        found["sure"] = sure_after(run, who)
    if crowd in ("five", "default"):
        plan = tutored(alone, acting, rounds, seed, schedule=on_paper(name, crowd, rounds))
        found["fixed plan"] = plan.cost
    return found


def sure_after(run: Tutored, who: str, share: float = 0.95) -> int | None:
    """Rounds until this kind had that share for good; None if it never came to that."""
    column = run.kinds[:, run.tutor.names.index(who)]
    below = np.flatnonzero(column < share)
    if not below.size:
        return 0
    return None if below[-1] == column.size - 1 else int(below[-1]) + 1


def _with_beliefs(person: pr.Person, initial: Any) -> pr.Person:
    data = person.to_dict() | {"initial": np.asarray(initial).tolist()}
    found: pr.Person = pr.Person.from_dict(data)
    return found


def table(name: str, workers: int = 1) -> str:
    """One row per kind; for the default crowd also all kinds, weighted as in the crowd.

    Cost of the tutor and the fixed plan relative to the oracle, of the tutor relative to the plan,
    and rounds until the kind was known.
    """
    asked = TABLES[name]
    kinds = list(taught(asked.problems[0], asked.crowd))
    items = [
        (p, asked.crowd, who, asked.scatter, asked.beliefs_known, seed, asked.rounds)
        for p in asked.problems
        for who in kinds
        for seed in range(asked.seeds)
    ]
    journal = Path(tempfile.gettempdir()) / f"tutoring-{name}.jsonl"
    executor = Serial() if workers == 1 else LocalProcesses(workers)
    rows = run_many(one, items, executor=executor, journal=journal, key=repr)
    compared = [("tutor", "oracle")]
    if "fixed plan" in rows[0]:
        compared += [("fixed plan", "oracle"), ("tutor", "fixed plan")]
    lines = [
        f"| {asked.scatter:g} | "
        + " | ".join(f"{one} against {other}, %" for one, other in compared)
        + " | rounds until sure (median) |",
        "|---|" + "---|" * (len(compared) + 1),
    ]
    # Rows are in the order of items: problems, kinds, seeds.
    shape = (len(asked.problems), len(kinds), asked.seeds)
    logs = {
        pair: np.log([row[pair[0]] / row[pair[1]] for row in rows]).reshape(shape)
        for pair in compared
    }
    for k, who in enumerate(kinds):
        sure = [
            asked.rounds if row["sure"] is None else row["sure"]
            for row in rows
            if row["who"] == who and "sure" in row
        ]
        cells = [_in_words(logs[pair][:, k]) for pair in compared]
        lines.append(_row([who, *cells, f"{np.median(sure):.0f}" if sure else ""]))
    if asked.crowd == "default":
        weights = crowd_of(asked.problems[0], asked.crowd).weights
        cells = [_in_words(np.einsum("k,pks->ps", weights, logs[pair])) for pair in compared]
        lines.append(_row(["all, as likely as in the crowd", *cells, ""]))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _in_words(logs: FloatArray) -> str:
    """Logarithms of ratios of costs: geometric mean, its standard error and the largest, in %."""
    error = logs.std(ddof=1) / np.sqrt(logs.size) if logs.size > 1 else np.nan
    mean, largest = 100 * np.expm1(logs.mean()), 100 * np.expm1(logs.max())
    return f"{mean:.1f} ± {100 * error:.1f} [{largest:.0f}]"


def pictures() -> None:
    """One run: probabilities of the kinds, what was shown, and the cost compared with an oracle."""
    from people_pictures import on_paper

    from preceptor.report import session
    from preceptor.report.charts import DASHES, Axis, Line, line_chart
    from preceptor.report.session import Run, running

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
        Line("oracle", range(1, rounds + 1), lately["oracle"].tolist(), "#D55E00",
             DASHES[1]),
    ]  # fmt: skip
    drawn = {
        "tutor-kinds": session.draw_kinds(run.tutor, Run.of(run.tutor)),
        "tutor-shown": session.draw_shown(run.tutor),
        "tutor-loss": line_chart(
            "tutor-loss",
            "Expected loss of recent rounds, compared with an oracle that knows the kind",
            lines,
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
