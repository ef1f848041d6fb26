"""Tables and pictures of the page `cases.md`, from what `make_cases.py` measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray

Item = tuple[str, str, int, int, str]
Found = Mapping[Item, Mapping[str, Any]]

NAMES = {
    "delta 0": "delta rule, knows correlations",
    "delta 1": "delta rule, ignores correlations",
    "delta 1 fast": "delta rule, ignores correlations, fast",
    "Bayesian": "Bayesian",
    "showings": "by showings",
    "exemplar 0.7": "remembers cases, broadly",
    "exemplar 3": "remembers cases, the nearest",
}
POLICIES = {
    "fixed": "fixed set",
    "random": "random sets",
    "plan": "blind plan",
    **{
        f"{looks}, {tutor}": f"{words}, {tutor}{'' if tutor == 'mixture' else ' kind'}"
        for looks, words in (
            ("nothing", "blind rule"),
            ("case", "sees the case"),
            ("pool", "picks the case"),
        )
        for tutor in ("right", "mixture", "wrong")
    },
}
HARM = {
    "random": "random sets",
    "nothing, mixture": "blind rule",
    "case, mixture": "sees the case",
    "pool free": "picks any case",
    "pool central": "picks from the central 90%",
    "pool, mixture": "and keeps outcomes balanced (default)",
}


def of(found: Found, part: str, table: str, kind: str) -> list[Mapping[str, Any]]:
    """All people measured, by policy."""
    return [v for (p, t, *_, k), v in sorted(found.items()) if (p, t, k) == (part, table, kind)]


def curves(people: Sequence[Mapping[str, Any]], policy: str) -> tuple[list[int], FloatArray]:
    """Rounds, and loss alone over an expert's (people, rounds)."""
    asked = [int(t) for t in people[0][policy]["alone"]]
    return asked, np.array([[p[policy]["alone"][str(t)] for t in asked] for p in people])


def needed(asked: Sequence[int], mean: FloatArray, within: float) -> str:
    """Cases until the mean stays within a share of an expert's loss, as far as was measured."""
    late = np.flatnonzero(mean > 1.0 + within)
    first = 0 if late.size == 0 else int(late[-1]) + 1
    return f">{asked[-1]}" if first == len(asked) else str(asked[first])


def give_or_take(sample: FloatArray, places: int = 2) -> str:
    error = sample.std(ddof=1) / np.sqrt(sample.size)
    return f"{sample.mean():.{places}f} ± {error:.{places}f}"


def rows(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(cells) + " |" for cells in body)])


# --- tables ---


def training(found: Found, table: str, kinds: Sequence[str]) -> str:
    """Loss alone over an expert's after 10 cases; cases to within 10% and 5%."""
    people = {kind: of(found, "training", table, kind) for kind in kinds}
    some = people[kinds[0]]
    body = []
    start = [give_or_take(curves(people[k], "fixed")[1][:, 0]) for k in kinds]
    body.append(["*before the first case*", *start])
    for policy, words in POLICIES.items():
        if policy not in some[0]:
            continue
        cells = []
        for kind in kinds:
            if policy not in people[kind][0]:
                cells.append("")
                continue
            asked, lost = curves(people[kind], policy)
            mean = lost.mean(axis=0)
            cases = "/".join(needed(asked, mean, within) for within in (0.1, 0.05))
            cells.append(f"{give_or_take(lost[:, asked.index(10)])}; {cases}")
        body.append([words, *cells])
    return rows([f"{len(some)} people each", *(NAMES[k] for k in kinds)], body)


def harm(found: Found, tables: Sequence[str]) -> str:
    """People who remember cases: loss alone over an expert's after 5, 10, 20 and 40 cases."""
    columns = [(t, k) for t in tables for k in ("exemplar 0.7", "exemplar 3")]
    body = []
    for policy, words in HARM.items():
        cells = []
        for column in columns:
            asked, lost = curves(of(found, "training", *column), policy)
            at = [lost[:, asked.index(t)] for t in (5, 10, 20, 40)]
            error = at[3].std(ddof=1) / np.sqrt(at[3].size)
            cells.append(" ".join(f"{x.mean():.2f}" for x in at) + f" (± {error:.2f})")
        body.append([words, *cells])
    head = [f"{t}: {NAMES[k].removeprefix('remembers cases, ')}" for t, k in columns]
    return rows(["", *head], body)


def frontier(found: Found, table: str, kinds: Sequence[str]) -> str:
    """Aided error over the fixed set's (paired), and loss alone over an expert's at the end."""
    body = []
    people = {kind: of(found, "live", table, kind) for kind in kinds}
    policies = [p for p in people[kinds[0]][0] if all(p in q for k in kinds for q in people[k])]
    for policy in sorted(policies, key=_order):
        cells = []
        for kind in kinds:
            paired = np.array([q[policy]["error"] / q["fixed"]["error"] for q in people[kind]])
            alone = curves(people[kind], policy)[1][:, -1]
            aided = "1" if policy == "fixed" else give_or_take(paired)
            cells.append(f"{aided}; {give_or_take(alone)}")
        body.append([_live_words(policy), *cells])
    return rows([f"{len(people[kinds[0]])} people each", *(NAMES[k] for k in kinds)], body)


def deskilling(found: Found, tables: Mapping[str, Sequence[str]]) -> str:
    """Change of the loss alone in 200 cases, % of an expert's, and the share who got worse."""
    policies = ("fixed", "case, 0", "case, 30", "case, 100")
    body = []
    for table, kinds in tables.items():
        for kind in kinds:
            cells = []
            for policy in policies:
                lost = curves(of(found, "live", table, kind), policy)[1]
                change = 100.0 * (lost[:, -1] - lost[:, 0])
                error = change.std(ddof=1) / np.sqrt(change.size)
                worse = f"{np.mean(change > 0.0):.0%}"
                cells.append(f"{change.mean():+.0f} ± {error:.0f} ({worse})".replace("-", "−"))
            body.append([f"{table}: {NAMES[kind]}", *cells])
    return rows(["", *(_live_words(policy) for policy in policies)], body)


def choosing(found: Found, tables: Sequence[str], kinds: Sequence[str]) -> str:
    """Aided error and loss alone over the fixed set's, in the geometric mean; their product."""
    body = []
    for policy in sorted(of(found, "live", tables[0], kinds[0])[0], key=_order):
        cells, products = [], []
        for table in tables:
            people = [p for kind in kinds for p in of(found, "live", table, kind)]
            if not all(policy in p for p in people):
                break
            aided = [np.log(p[policy]["error"] / p["fixed"]["error"]) for p in people]
            ends = [[p[name]["alone"]["200"] for p in people] for name in (policy, "fixed")]
            alone = np.log(np.array(ends[0]) / ends[1])
            cells += [f"{np.exp(np.mean(aided)):.3f}", f"{np.exp(alone.mean()):.3f}"]
            products.append(np.array(aided) + alone)
        else:
            both = np.concatenate(products)
            error = both.std(ddof=1) / np.sqrt(both.size)
            product = float(np.exp(both.mean()))
            body.append([_live_words(policy), *cells, f"{product:.3f} ± {product * error:.3f}"])
    head = [f"{t}: {what}" for t in tables for what in ("aided", "alone")]
    return rows(["", *head, "product"], body)


def comfort(found: Found, tables: Sequence[str], kinds: Sequence[str]) -> str:
    """Errors during training over an expert's alone, and how much more lawful cases look."""
    body = []
    for kind in kinds:
        cells = []
        for table in tables:
            people = of(found, "training", table, kind)
            for policy in ("case, mixture", "pool, mixture"):
                error = np.array([p[policy]["error"] / p[policy]["expert"] for p in people])
                cells.append(give_or_take(error))
            lawful = np.array([p["pool, mixture"]["lawful"] for p in people])
            cells.append(give_or_take(lawful))
        body.append([NAMES[kind], *cells])
    head = [f"{t}: {w}" for t in tables for w in ("sees the case", "picks the case", "R² beyond")]
    return rows(["", *head], body)


def _order(policy: str) -> tuple[bool, str, float]:
    looks, _, tau = policy.partition(", ")
    return policy != "fixed", looks, float(tau or 0.0)


def _live_words(policy: str) -> str:
    looks, _, tau = policy.partition(", ")
    if not tau:
        return "fixed set"
    return f"τ = {tau}" + (", half known" if looks == "half" else "")


# --- pictures ---

COLOURS = {"delta 0": "#0b5394", "delta 1": "#b45f06", "Bayesian": "#38761d", "showings": "#741b47"}
COLOURS["delta 1 fast"] = "#e69138"
LINES = {
    "fixed": ("always the same two or three tests", "#9a9a9a", "-"),
    "plan": ("blind plan", "#5a5a5a", ":"),
    "random": ("random tests", "#9a9a9a", "--"),
    "nothing, mixture": ("chosen for teaching, blindly", "#6fa8dc", "-"),
    "case, mixture": ("tests chosen after looking at the case", "#0b5394", "-"),
    "pool, mixture": ("case and tests chosen", "#cc0000", "-"),
}


def draw_learning(found: Found, tables: Sequence[str], kind: str, picture: Path) -> None:
    """Loss alone over an expert's, case by case, for one kind of person."""
    plt = _pyplot()
    figure, panels = plt.subplots(1, len(tables), figsize=(4.1 * len(tables), 4.0))
    for axes, table in zip(panels, tables, strict=True):
        people = of(found, "training", table, kind)
        for policy, (words, colour, style) in LINES.items():
            asked, lost = curves(people, policy)
            until = asked.index(40) + 1
            mean = lost.mean(axis=0)[:until]
            axes.plot(asked[:until], mean, style, color=colour, label=words, linewidth=1.6)
        axes.axhline(1.1, color="#dddddd", linewidth=0.8)
        axes.axhline(1.0, color="#555555", linewidth=0.8)
        axes.annotate("an expert", (40, 1.0), (0, -9), textcoords="offset points", ha="right",
                      fontsize=8, color="#555555")  # fmt: skip
        axes.set_title(table, fontsize=10, loc="left")
        axes.set_xlabel("cases seen")
        axes.set_ylim(bottom=1.0 - 0.1 * (axes.get_ylim()[1] - 1.0))
    panels[0].set_ylabel("error alone, as a multiple of an expert's")
    figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, loc="outside lower center",
                  ncols=3, fontsize=8)  # fmt: skip
    figure.savefig(picture, metadata={"Date": None})


def draw_frontier(found: Found, tables: Mapping[str, Sequence[str]], picture: Path) -> None:
    """Aided error against loss alone over tau; crosses are the fixed set."""
    plt = _pyplot()
    figure, panels = plt.subplots(1, len(tables), figsize=(4.1 * len(tables), 4.2))
    for axes, (table, kinds) in zip(panels, tables.items(), strict=True):
        for kind in kinds:
            people = of(found, "live", table, kind)
            fixed = np.mean([p["fixed"]["error"] for p in people])
            policies = [p for p in people[0] if p.startswith("case")]
            policies = [p for p in sorted(policies, key=_order) if all(p in q for q in people)]
            aided = [np.mean([q[p]["error"] for q in people]) / fixed for p in policies]
            alone = [curves(people, p)[1][:, -1].mean() for p in policies]
            colour = COLOURS[kind]
            axes.plot(aided, alone, ".-", color=colour, linewidth=1.2, label=NAMES[kind])
            place = {policy.partition(", ")[2]: i for i, policy in enumerate(policies)}
            first, usual = place["0"], place["30"]
            axes.plot(aided[first], alone[first], "o", color=colour, markerfacecolor="white")
            axes.plot(aided[usual], alone[usual], "o", color=colour, markersize=7)
            end = curves(people, "fixed")[1][:, -1].mean()
            axes.plot(1.0, end, "x", color=colour, markersize=7)
        axes.axhline(1.0, color="#555555", linewidth=0.8)
        axes.axvline(1.0, color="#dddddd", linewidth=0.8, zorder=0)
        axes.set_title(table, fontsize=10, loc="left")
        axes.set_xlabel("error with the assistant, over the fixed set's")
    panels[0].set_ylabel("error alone after 200 cases, over an expert's")
    lines = {line.get_label(): line for axes in panels for line in axes.get_lines()}
    named = {name: lines[name] for name in NAMES.values() if name in lines}
    figure.legend(named.values(), named.keys(), frameon=False, loc="outside lower center",
                  ncols=5, fontsize=8)  # fmt: skip
    figure.savefig(picture, metadata={"Date": None})


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"], plt.rcParams["svg.fonttype"] = "preceptor", "none"
    plt.rcParams["figure.constrained_layout.use"] = True
    plt.rcParams["axes.spines.top"] = plt.rcParams["axes.spines.right"] = False
    return plt
