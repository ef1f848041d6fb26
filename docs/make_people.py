"""Make every table and picture of the page `people.md`, between its markers.

python docs/make_people.py              everything, about twenty minutes on a slow core
python docs/make_people.py dial late    only these; see `TABLES`
python docs/make_people.py pictures     draw the pictures again, from the tables on the page
python docs/make_people.py --check      cost the stored plans of A again and compare with the page

`people_measured.py` defines what is measured, and how. Everything is seeded and independent of run
time, so the numbers are reproducible. The plans of A are stored next to the pictures, so that its
table can be checked without searching.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import people_measured as measured
from people_measured import FIVE, FIXED, PAPER, PREDICTIVE, ROBUST, ROUNDS

import preceptor as pr
from preceptor import simulation
from preceptor._base.values import FloatArray
from preceptor.model.evaluation import expectations
from preceptor.people.exposures import Exposures
from preceptor.planning.crowd_plans import own_plans
from preceptor.planning.maintenance import best_mixes, maintenance_words
from preceptor.planning.price_search import ScheduleSearch
from preceptor.planning.semidefinite import semidefinite_bound

DOCS = Path(__file__).parent
PAGE = DOCS / "people.md"
ASSETS = DOCS / "assets" / "people"
STORED = ASSETS / "diabetes.json"

DRAWS = tuple(f"B{draw}" for draw in range(20))
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
STRANGERS_MEET = tuple(f"B{draw}" for draw in range(6))
PLAYERS = 2_000
BAYESIANS_DRAWN = 60
SEARCHED_FIRST = 100
NO_FIXED = "best fixed = most predictive"


# --- regrets ---


def contest(name: str, plans: dict[str, pr.Policy]) -> str:
    """Regrets of policies (rows) for the five people (columns) and their worst."""
    plans = dict(plans)
    if plans[FIXED].commit == plans[PREDICTIVE].commit:
        plans = {NO_FIXED if key == FIXED else key: plan for key, plan in plans.items()}
        del plans[PREDICTIVE]
    costs = np.array([measured.costs_of_five(name, plan) for plan in plans.values()])
    lost = measured.regrets(costs)
    lines = [_row([f"{name}: regret, %", *FIVE, "worst"]), "|---" * (len(FIVE) + 2) + "|"]
    lines.append(_row(["cost of the best plan", *(_cost(c) for c in costs.min(axis=0)), ""]))
    for plan, row in zip(plans, lost, strict=True):
        lines.append(_row([plan, *(_percent(x) for x in row), f"**{_percent(row.max())}**"]))
    return "\n".join(lines)


def diabetes() -> str:
    """A; its plans are stored."""
    plans = measured.policies("A")
    ASSETS.mkdir(exist_ok=True)
    stored = {name: plan.to_dict() for name, plan in plans.items()}
    STORED.write_text(json.dumps(stored) + "\n", "utf-8")
    return contest("A", plans)


def stored_plans() -> dict[str, pr.Policy]:
    """The plans behind the table of A."""
    stored = json.loads(STORED.read_text("utf-8"))
    return {name: pr.Policy.from_dict(data) for name, data in stored.items()}


def body_fat() -> str:
    """C."""
    return contest("C", measured.policies("C"))


def others() -> str:
    """C: the plan for twelve others, for three readings of what their Bayesians are like."""
    rows = [measured.robust_for_others("C", pair) for pair in measured.BAYESIAN_PAIRS]
    known = [*measured.policies("C").values(), *rows]
    costs = np.array([measured.costs_of_five("C", plan) for plan in known])
    lost = measured.regrets(costs)[-len(rows) :]
    head = ["C: Bayesians among the twelve", *FIVE, "worst"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for pair, row in zip(measured.BAYESIAN_PAIRS, lost, strict=True):
        lines.append(_row([pair, *(_percent(x) for x in row), f"**{_percent(row.max())}**"]))
    return "\n".join(lines)


def draws() -> str:
    """B, twenty draws: geometric mean [largest] of the regrets, and the worst of the five."""
    tables, names = [], []
    for name in DRAWS:
        plans = measured.policies(name, others=False)
        names = list(plans)
        costs = np.array([measured.costs_of_five(name, plan) for plan in plans.values()])
        tables.append(measured.regrets(costs))
    lost = np.array(tables)  # (draws, policies, people)
    head = [f"B, {len(DRAWS)} draws, %", *FIVE, "worst of five: mean, median"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for i, plan in enumerate(names):
        cells = [_mean_and_largest(lost[:, i, j]) for j in range(len(FIVE))]
        worst = lost[:, i].max(axis=1)
        both = f"{_percent(worst.mean(), 0)}, {_percent(float(np.median(worst)), 0)}"
        lines.append(_row([plan, *cells, f"**{both}**"]))
    return "\n".join(lines)


def dial() -> str:
    """B0 to B7: people between the paper's and a regression."""
    head = ["regret, % (B0 to B7)", *(f"λ = {share:g}" for share in SHARES)]
    rows: dict[str, list[str]] = {PAPER: [], PREDICTIVE: [], ROBUST: []}
    for share in SHARES:
        lost = np.array([_dialled(name, share) for name in DRAWS[:8]])
        for row, column in zip(rows, lost.T, strict=True):
            rows[row].append(_percent(measured.geometric_mean(1.0 + column) - 1.0))
    lines = [_row(head), "|---" * len(head) + "|"]
    return "\n".join([*lines, *(_row([name, *cells]) for name, cells in rows.items())])


def _dialled(name: str, share: float) -> FloatArray:
    """Regrets of the three policies with one such person."""
    return _beside_own(name, measured.folding(name, share))


def _beside_own(name: str, person: pr.Person) -> FloatArray:
    """Regrets of the paper's plan, most predictive and the robust plan, against their own plan."""
    everything = measured.policies_in_short(name)
    everything["own"] = measured.plan_alone(name, person)
    costs = np.array([measured.cost(name, person, plan) for plan in everything.values()])
    lost: FloatArray = costs[:-1] / costs.min() - 1.0
    return lost


def strangers() -> str:
    """People who are in no crowd: on A, on C and on some draws of B."""
    head = ["cost above their own plan, %: A / C / B [largest]", ROBUST, PAPER, PREDICTIVE]
    lines = [_row(head), "|---" * len(head) + "|"]
    for who in measured.strangers("A"):
        on_a, on_c = (_beside_own(name, measured.strangers(name)[who]) for name in "AC")
        on_b = np.array([_beside_own(b, measured.strangers(b)[who]) for b in STRANGERS_MEET])
        cells = [
            f"{_percent(on_a[i])} / {_percent(on_c[i])} / {_mean_and_largest(on_b[:, i])}"
            for i in (2, 0, 1)
        ]
        lines.append(_row([who, *cells]))
    return "\n".join(lines)


# --- forgetting ---


def forgetting() -> str:
    """B0 to B5: how much of a forgetful person's plan must be searched."""
    head = [
        "cost above the best found, %",
        "best fixed set",
        "a cycle from round 1",
        f"{SEARCHED_FIRST} searched rounds, then the cycle",
        "all 400 rounds searched: from fixed sets / from the cycle",
    ]
    lines = [_row(head), "|---" * len(head) + "|"]
    for share in (0.02, 0.05):
        lost = np.array([_kept_up(name, share) for name in DRAWS[:6]]).mean(axis=0)
        cells = [_percent(x, 2) for x in lost]
        lines.append(_row([f"forgetting {100 * share:g} %", *cells[:3], " / ".join(cells[3:])]))
    return "\n".join(lines)


def _kept_up(name: str, share: float) -> FloatArray:
    """Excess of five ways to plan for a forgetful person."""
    setting = measured.asked(name, {"forgetful": measured.forgetful(name, share)})
    (expected,) = expectations(setting)
    assert isinstance(expected, Exposures)
    word = maintenance_words(expected, setting.discount)[0]
    repeated = np.resize(np.array(word), ROUNDS)
    fixed = min(
        expected.total([position] * ROUNDS, setting.discount, ())
        for position in range(len(setting.sets))
    )
    searched = [
        ScheduleSearch((expected,), ROUNDS, setting.discount, False, len(setting.sets)).find(
            measured.KICKS, starts
        )
        for starts in ([], [(repeated, ())])
    ]
    costs = np.array(
        [
            fixed,
            expected.total(repeated, setting.discount, ()),
            expected.total(_then_word(setting, expected), setting.discount, ()),
            *(found.costs[0] for found in searched),
        ]
    )
    lost: FloatArray = costs / costs.min() - 1.0
    return lost


def _then_word(setting: pr.Problem, expected: Exposures) -> list[int]:
    """All 400 rounds of a plan that is searched for the first and then repeats a word."""
    words = tuple(maintenance_words(expected, setting.discount)[:3])
    search = ScheduleSearch(
        (expected,), SEARCHED_FIRST, setting.discount, True, len(setting.sets), words
    )
    (found,) = own_plans(search, measured.KICKS).plans
    tail = np.resize(np.array(found.tail), ROUNDS - SEARCHED_FIRST)
    return [*found.schedule.tolist(), *tail.tolist()]


def maintenance() -> str:
    """The paper's plan, a random order and their own plan, for people who forget 2 % per round."""
    rows: dict[str, list[float]] = {PAPER: [], PREDICTIVE: [], "random order": [], "own plan": []}
    for name in DRAWS:
        person = measured.forgetful(name, 0.02)
        own = measured.policies(name, others=False)["plan for forgets"]
        costs = [
            measured.cost(name, person, measured.paper_plan(name)),
            measured.cost(name, person, measured.most_predictive(name)),
            _in_random_order(name, person),
            measured.cost(name, person, own),
        ]
        for row, cost in zip(rows.values(), costs, strict=True):
            row.append(cost)
    best = np.array(rows["own plan"])
    head = ["forgetting 2 %", "cost on B0", "above their own plan, 20 draws, % [largest]"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for row, costs in rows.items():
        lines.append(_row([row, _cost(costs[0]), _mean_and_largest(np.array(costs) / best - 1.0)]))
    return "\n".join(lines)


def _in_random_order(name: str, person: pr.Person, orders: int = 50) -> float:
    """Mean cost of seeded random orders, each exact."""
    setting = measured.asked(name, {"one": person})
    (expected,) = expectations(setting)
    rng = np.random.default_rng(0)
    sizes = setting.sets.sizes
    full = np.flatnonzero(sizes == sizes.max())
    return float(
        np.mean(
            [expected.total(rng.choice(full, ROUNDS), setting.discount, ()) for _ in range(orders)]
        )
    )


def late() -> str:
    """What a forgetful person of B0 is shown for good, and what that costs."""
    head = ["B0", "what is shown in the long run", "loss per round: optimised / simulated"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for share in (0.02, 0.05):
        setting = measured.asked("B0", {"forgetful": measured.forgetful("B0", share)})
        (expected,) = expectations(setting)
        assert isinstance(expected, Exposures)
        word = _then_word(setting, expected)[SEARCHED_FIRST:]
        period = next(p for p in range(1, 20) if word[: 2 * p] == word[:p] * 2)
        word = word[:period]
        told = ", ".join(
            f"{_set_in_words(setting, s)} in {word.count(s)} of {period} cases"
            for s in dict.fromkeys(word)
        )
        if len(set(word)) == 1:
            told = _set_in_words(setting, word[0])
        losses = expected.orbit_losses(tuple(word)).mean()
        costs = f"{best_mixes(expected)[0].loss:.4f} / {losses:.4f}"
        told = f"from case {SEARCHED_FIRST + 1} on: {told}"
        lines.append(_row([f"forgetting {100 * share:g} %", told, costs]))
    return "\n".join(lines)


def _set_in_words(setting: pr.Problem, position: int) -> str:
    return " + ".join(setting.world.labels[i] for i in setting.sets[position])


# --- comparison with proofs and simulation ---


def search() -> str:
    """The search compared with `certified`, for people who learn by showings."""
    head = [
        "by showings",
        "`certified`",
        "proven lower bound",
        "search",
        "above `certified`",
    ]
    lines = [_row(head), "|---" * len(head) + "|"]
    for name in ("A", *DRAWS[:5], "C"):
        setting = measured.problem(name)
        proven = pr.solve(setting, "certified", max_iterations=20, width=50, time_limit=None)
        found = measured.plan_alone(name, setting.by_showings)
        value = measured.cost(name, setting.by_showings, found)
        cells = [f"{x:.6g}" for x in (proven.value, proven.lower_bound, value)]
        lines.append(_row([name, *cells, f"{_percent(value / proven.value - 1.0, 3)} %"]))
    return "\n".join(lines)


def proofs() -> str:
    """How far above what is proven own plans of linear people are, without an end; no clock."""
    names = DRAWS[:3]
    head = ["own plan above the bound, %", *names]
    lines = [_row(head), "|---" * len(head) + "|"]
    for who in LINEAR:
        cells = []
        for name in names:
            setting = measured.problem(name)
            asked = setting.replace(learner=LINEAR[who](name), horizon=None)
            plan = pr.solve(asked, "search", max_kicks=measured.KICKS, time_limit=None)
            (expected,) = expectations(asked)
            found = semidefinite_bound(expected, asked.discount, time_limit=600.0)
            assert not isinstance(found, str), found
            cells.append(f"{100 * (plan.value / found.bound - 1.0):.2f}")
        lines.append(_row([who, *cells]))
    return "\n".join(lines)


LINEAR: dict[str, Callable[[str], pr.Person]] = {
    "by showings": lambda name: pr.Crowd({"paper": measured.problem(name).learner}),
    "delta rule": lambda name: measured.five(name)["least mean squares"],
    "delta rule, ignoring correlations": lambda name: pr.DeltaRule(
        measured.problem(name).learner.initial,
        measured.five(name)["least mean squares"].rate,
        1.0,
    ),
    "folding, λ = 1": lambda name: measured.folding(name, 1.0),
    "folding, λ = 0.5": lambda name: measured.folding(name, 0.5),
}


def rollouts() -> str:
    """Expected costs of the five compared with simulation."""
    names = ("A", "B10", "C")
    head = ["robust regret plan: expected, simulated", *names]
    lines = [_row(head), "|---" * 4 + "|"]
    far: dict[str, list[float]] = {name: [] for name in names}
    for who in FIVE:
        cells = [who]
        for name in names:
            person = measured.five(name)[who]
            for kind, plan in measured.policies_in_short(name).items():
                expected = measured.cost(name, person, plan)
                met = measured.played(name, person, plan, PLAYERS)
                if who != "Bayesian":  # whose expectation is an approximation
                    far[name].append(abs(met.total - expected) / met.total_error)
                if kind == ROBUST:
                    cells.append(f"{_cost(expected)}, {_give_or_take(met.total, met.total_error)}")
        lines.append(_row(cells))
    cells = [f"{max(far[name]):.1f} standard errors" for name in names]
    lines.append(_row(["largest difference: kinds with exact costs, three policies", *cells]))
    return "\n".join(lines)


def bayesians() -> str:
    """Expected costs of plans compared with simulation, for Bayesians drawn at random."""
    head = ["expected cost relative to simulated, %", "lowest", "10 %", "median", "90 %", "highest",
            "largest standard error"]  # fmt: skip
    lines = [_row(head), "|---" * len(head) + "|"]
    for factor, who in ((1.0, "matched"), (3.0, "off by up to a factor of three")):
        for what in ("own plan", "random sets"):
            off, errors = [], []
            for draw in range(BAYESIANS_DRAWN):
                setting = measured.any_bayesian(draw, factor)
                assert setting.horizon is not None
                if what == "own plan":
                    plan = pr.solve(setting, "search", max_kicks=0, time_limit=None)
                    schedule = plan.policy.schedule(setting.horizon)
                else:
                    order = simulation.RandomOrder(list(setting.sets))
                    schedule = order.schedule_for(setting.horizon, np.random.default_rng(draw))
                policy = pr.ExploreThenCommit(schedule, schedule[-1])
                met = simulation.rollout(setting, policy, setting.horizon, PLAYERS, rng=draw)
                off.append(pr.evaluate(setting, policy) / met.total - 1.0)
                errors.append(met.total_error / met.total)
            cells = [f"{100 * x:+.1f}" for x in np.quantile(off, (0.0, 0.1, 0.5, 0.9, 1.0))]
            lines.append(_row([f"{who}, {what}", *cells, f"{100 * max(errors):.1f}"]))
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {
    "diabetes": diabetes,
    "body-fat": body_fat,
    "others": others,
    "draws": draws,
    "dial": dial,
    "forgetting": forgetting,
    "maintenance": maintenance,
    "late": late,
    "strangers": strangers,
    "search": search,
    "proofs": proofs,
    "rollouts": rollouts,
    "bayesians": bayesians,
}


# --- the page ---


def marked(page: str, name: str) -> str | None:
    """The table of that name on a page; None where its markers are missing."""
    found = re.search(_between(name), page, re.DOTALL)
    return None if found is None else found.group(2)


def with_table(page: str, name: str, table: str) -> str:
    """The page with another table between the markers of that name."""
    return re.sub(
        _between(name), lambda m: f"{m.group(1)}{table}{m.group(3)}", page, flags=re.DOTALL
    )


def cells_of(table: str) -> list[list[str]]:
    """A table as rows of cells, the rule below its head left out."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [rows[0], *rows[2:]]


def _between(name: str) -> str:
    return rf"(<!-- table {name} -->\n)(.*?)(\n<!-- end of table {name} -->)"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _percent(share: float, places: int | None = None) -> str:
    """A share in %, with a decimal where it is small."""
    value = 100.0 * share
    if places is None:
        places = 1 if abs(value) < 9.95 else 0
    text = f"{value:.{places}f}"
    return "0" if float(text) == 0.0 else text.replace("-", "−")


def _mean_and_largest(lost: FloatArray) -> str:
    mean = measured.geometric_mean(1.0 + lost) - 1.0
    return f"{_percent(mean)} [{_percent(float(lost.max()), 0)}]"


def _cost(value: float) -> str:
    return f"{value:.1f}" if value >= 1000 else f"{value:.2f}"


def _give_or_take(value: float, error: float) -> str:
    """Digits down to the second one of the standard error."""
    places = int(np.clip(1 - np.floor(np.log10(error)), 0, 12)) if error > 0 else 2
    return f"{value:.{places}f} ± {error:.{places}f}"


def differing_rows() -> list[str]:
    """Rows of A, costed again from the stored plans, that the page does not have."""
    shown = (marked(PAGE.read_text("utf-8"), "diabetes") or "").splitlines()
    return [row for row in contest("A", stored_plans()).splitlines() if row not in shown]


def draw_pictures() -> None:
    """Draw what the tables of the page say."""
    from people_pictures import dial_picture, regrets_picture

    page = PAGE.read_text("utf-8")
    tables = {name: cells_of(marked(page, name) or "") for name in ("diabetes", "body-fat", "dial")}
    ASSETS.mkdir(exist_ok=True)
    for name, title in (("diabetes", "A: diabetes"), ("body-fat", "C: body fat")):
        picture = regrets_picture(f"regrets-{name}", title, tables[name])
        (ASSETS / f"{name}.svg").write_text(picture, "utf-8")
    (ASSETS / "dial.svg").write_text(dial_picture(tables["dial"]), "utf-8")


def main(arguments: list[str]) -> None:
    """Write the tables that are named, all of them if none is."""
    if arguments == ["--check"]:
        differing = differing_rows()
        sys.exit("\n".join(["not on the page:", *differing]) if differing else 0)
    names = [name for name in arguments if name != "pictures"]
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        sys.exit(f"{unknown[0]}: no such table; there are {', '.join(TABLES)}, and pictures")
    for name in names or (() if arguments else TABLES):
        if marked(PAGE.read_text("utf-8"), name) is None:
            sys.exit(f"{PAGE.name} has no markers for the table {name!r}")
        table = TABLES[name]()
        # Read again: writing a table takes long, and words may have changed meanwhile.
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), name, table), "utf-8")
        print(f"{name} written", flush=True)
    draw_pictures()


if __name__ == "__main__":
    main(sys.argv[1:])
