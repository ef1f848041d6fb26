"""Play every table of the page `people.md` and write it between its markers.

python docs/make_people.py              all tables, about five minutes on two idle cores
python docs/make_people.py diabetes     one of them: diabetes, random, body-fat or draws
python docs/make_people.py --check      replay the quick rows of diabetes and compare with the page

Everything is seeded and no clock decides anything, so the same numbers come out every time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np

import preceptor as pr
from preceptor import simulation
from preceptor.datasets import load_body_fat
from preceptor.simulation.choosing import Chooser

DOCS = Path(__file__).parent
PAGE = DOCS / "people.md"
EXAMPLE = DOCS.parent / "examples" / "diabetes.toml"

ROUNDS = 400
PEOPLE = 2_000
# scikit-learn is asked for one person and one case at a time, so fewer people play.
ONE_BY_ONE, FEWER_PEOPLE = "SGDRegressor", 100
DRAWS, PEOPLE_A_DRAW = 20, 200
BEST_FIXED = "best fixed set"
KINDS = ("paper", "least mean squares", "Bayesian", ONE_BY_ONE, "forgets", "ignores correlation")
QUICK_KINDS = tuple(kind for kind in KINDS if kind != ONE_BY_ONE)


def diabetes() -> pr.Problem:
    """A: four tests of the diabetes data, two shown."""
    return pr.Problem.load(EXAMPLE)


def random(draw: int = 0) -> pr.Problem:
    """B: five strongly correlated tests, two shown; truth and beliefs drawn at random."""
    rng = np.random.default_rng(draw)
    truth, beliefs = rng.random(5), rng.random(5)
    world = pr.World.equicorrelated(truth, 0.8)
    return pr.Problem(world, pr.Learner(beliefs, pr.Geometric(1.05)), budget=2, discount=0.99)


def body_fat() -> pr.Problem:
    """C: the problem of the page `practice.md`, with its misprint corrected."""
    cases = load_body_fat().frame
    cases.loc[41, "height"] = 69.5
    world = pr.fit_world(cases, "brozek", outcome="body fat, %").world
    novice = pr.Learner(np.zeros(world.size), pr.Geometric.from_half_life(14))
    return pr.Problem(world, novice, budget=3, discount=0.99)


def plan_for(problem: pr.Problem) -> pr.Plan:
    """A plan from a search that is limited by restarts, not by a clock."""
    return pr.solve(problem, "search", max_kicks=5, time_limit=None, seed=0)


def played(problem: pr.Problem, kinds: Collection[str]) -> list[simulation.Comparison]:
    """Four policies with some of the six kinds of people, one comparison per kind."""
    policies: dict[str, Chooser] = {
        "plan": plan_for(problem),
        "most predictive": simulation.most_predictive(problem),
        "random order": simulation.RandomOrder.of(problem),
    }
    return [
        simulation.compare(
            problem, policies, {name: human}, ROUNDS, _people(name), rng=0, against=BEST_FIXED
        )
        for name, human in simulation.humans_of(problem).items()
        if name in kinds
    ]


def _people(kind: str) -> int:
    return FEWER_PEOPLE if kind == ONE_BY_ONE else PEOPLE


def contest(title: str, problem: pr.Problem, kinds: Collection[str] = KINDS) -> str:
    """One problem as a table: a row per kind of person, a column per policy."""
    fixed = pr.solve(problem, "stationary").policy.commit
    same = fixed == simulation.most_predictive(problem).commit
    columns = {
        "plan": "plan",
        BEST_FIXED: "best fixed = most predictive" if same else "best fixed",
        "most predictive": "most predictive",
        "random order": "random order",
    }
    if same:
        del columns["most predictive"]
    lines = [
        _row([title, *columns.values(), "plan − best fixed"]),
        "|---" * (len(columns) + 2) + "|",
    ]
    for found in played(problem, kinds):
        (human,) = found.humans
        at = {name: found.policies.index(name) for name in columns}
        cells = [_give_or_take(found.mean[i, 0], found.standard_error[i, 0]) for i in at.values()]
        plan, base = at["plan"], at[BEST_FIXED]
        saved = found.difference[plan, 0]
        cells.append(
            f"{_give_or_take(saved, found.difference_error[plan, 0], sign='+')} "
            f"({_signed(saved / found.mean[base, 0])})"
        )
        lines.append(_row([human, *cells]))
    return "\n".join(lines)


def draws() -> str:
    """Twenty draws of B: by how much the plan beats the best fixed and the most predictive set."""
    ratios: dict[str, list[tuple[float, float]]] = {}
    for draw in range(DRAWS):
        problem = random(draw)
        cast = simulation.humans_of(problem)
        del cast[ONE_BY_ONE]
        policies: dict[str, Chooser] = {
            "plan": plan_for(problem),
            "most predictive": simulation.most_predictive(problem),
        }
        found = simulation.compare(problem, policies, cast, ROUNDS, PEOPLE_A_DRAW, rng=draw)
        rows = {name: found.mean[found.policies.index(name)] for name in found.policies}
        for j, human in enumerate(found.humans):
            fixed, predictive = (rows[name][j] for name in (BEST_FIXED, "most predictive"))
            pair = (float(rows["plan"][j] / fixed), float(rows["plan"][j] / predictive))
            ratios.setdefault(human, []).append(pair)
    head = f"B, {DRAWS} draws"
    columns = [head, "plan against best fixed", "better in", "plan against most predictive"]
    lines = [_row([*columns, "better in"]), "|---" * 5 + "|"]
    for human, pairs in ratios.items():
        cells = [human]
        for column in np.log(np.array(pairs)).T:
            mean = float(np.exp(column.mean()))
            error = mean * float(column.std(ddof=1)) / np.sqrt(DRAWS)
            better = int((column < 0.0).sum())
            cells += [f"{_signed(mean - 1.0)} ± {100 * error:.1f}", f"{better} of {DRAWS}"]
        lines.append(_row(cells))
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {
    "diabetes": lambda: contest("A: diabetes", diabetes()),
    "random": lambda: contest("B: random", random()),
    "body-fat": lambda: contest("C: body fat", body_fat()),
    "draws": draws,
}


def marked(page: str, name: str) -> str | None:
    """The table of that name on a page; None where its markers are missing."""
    found = re.search(_between(name), page, re.DOTALL)
    return None if found is None else found.group(2)


def with_table(page: str, name: str, table: str) -> str:
    """The page with another table between the markers of that name."""
    return re.sub(
        _between(name), lambda m: f"{m.group(1)}{table}{m.group(3)}", page, flags=re.DOTALL
    )


def _between(name: str) -> str:
    return rf"(<!-- table {name} -->\n)(.*?)(\n<!-- end of table {name} -->)"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _give_or_take(value: float, error: float, sign: str = "") -> str:
    """Digits down to the second one of the standard error."""
    places = int(np.clip(1 - np.floor(np.log10(error)), 0, 12)) if error > 0 else 2
    return f"{value:{sign}.{places}f} ± {error:.{places}f}".replace("-", "−")


def _signed(share: float) -> str:
    return f"{share:+.1%}".replace("-", "−").replace("%", " %")


def differing_rows(kinds: Collection[str] = QUICK_KINDS) -> list[str]:
    """Rows of the diabetes table that a quick replay plays and the page does not have."""
    shown = (marked(PAGE.read_text("utf-8"), "diabetes") or "").splitlines()
    replayed = contest("A: diabetes", diabetes(), kinds).splitlines()
    return [row for row in replayed if row not in shown]


def main(arguments: list[str]) -> None:
    """Write the tables that are named, all of them if none is."""
    if arguments == ["--check"]:
        differing = differing_rows()
        sys.exit("\n".join(["not on the page:", *differing]) if differing else 0)
    unknown = [name for name in arguments if name not in TABLES]
    if unknown:
        sys.exit(f"{unknown[0]}: no such table; there are {', '.join(TABLES)}")
    for name in arguments or TABLES:
        table = TABLES[name]()
        page = PAGE.read_text("utf-8")
        if marked(page, name) is None:
            sys.exit(f"{PAGE.name} has no markers for the table {name!r}")
        PAGE.write_text(with_table(page, name, table), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
