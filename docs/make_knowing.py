"""Print the tables about knowing the person: how often kinds are found, and published data.

python docs/make_knowing.py confusion [people]     groups and κ found from 40, 80 and 160 rounds
python docs/make_knowing.py coverage [people]      how often intervals hold the truth
python docs/make_knowing.py population [groups]    the same for means of people who differ
python docs/make_knowing.py albrecht [file]        evidence of every family on published data
python docs/make_knowing.py speed                  how long weighing takes
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import preceptor as pr
from preceptor.data.log import Log
from preceptor.learners.families import GROUPS
from preceptor.learners.populations import GroupWeighed, group_people
from preceptor.learners.records import Record
from preceptor.learners.weigh_people import weigh_people
from preceptor.learners.weighing import Weighed, weigh
from preceptor.model.person import Person
from preceptor.model.world import Units

ROOT = Path(__file__).parents[1]
ALBRECHT = ROOT.parent / "shared" / "data" / "albrecht2019.csv"
ROUNDS = (40, 80, 160)
KAPPAS = ("κ of three", "κ of two")
# What an earlier study of these data found: AIC against no learning, last quarter in nats.
BEFORE = {"floor": (-889, 128), "bayesian": (-735, 109), "delta rule": (-502, 70)}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def some_person(
    world: pr.World, group: str, rng: np.random.Generator, rate: float, kappa: float
) -> Person:
    """A person of a group; first weights have half a standard deviation of the outcome."""
    first = 0.5 * np.sqrt(world.outcome_variance) * rng.standard_normal(world.size)
    if group == "none":
        return pr.NoLearning(first, kappa)
    if group == "by showings":
        return pr.Learner(first, pr.Geometric(1.0 / (1.0 - rate)), kappa)
    return pr.DeltaRule(first, rate, kappa)


def some_world(rng: np.random.Generator, tests: int, explained: float = 0.999) -> pr.World:
    """Correlations of one half and uniform weights, as in the paper; an outcome of variance 1.

    The paper's outcomes have next to no noise; `explained` is the share that tests explain.
    """
    weights = rng.random(tests)
    raw = pr.World.equicorrelated(weights, 0.5, 0.0).outcome_variance
    return pr.World.equicorrelated(weights * np.sqrt(explained / raw), 0.5, 1.0 - explained)


def played(
    world: pr.World, person: Person, rounds: int, rng: np.random.Generator, scatter: float = 0.6
) -> Record:
    """Random pairs of tests, with feedback; scatter over the outcome's standard deviation."""
    shown = np.zeros((rounds, world.size), dtype=bool)
    cases, outcomes = world.sample(rounds, rng)
    acting, answers = person.acting(world), np.empty(rounds)
    slips = scatter * np.sqrt(world.outcome_variance) * rng.standard_normal(rounds)
    for t in range(rounds):
        pair = tuple(sorted(rng.choice(world.size, 2, replace=False).tolist()))
        shown[t, list(pair)] = True
        answers[t] = acting.predict(pair, cases[t, list(pair)]) + slips[t]
        acting.feedback(pair, cases[t, list(pair)], outcomes[t])
    return Record(world, shown, cases, answers, outcomes, np.ones(rounds, dtype=bool))


def confused(
    people: int, rounds: int, rate: float = 0.05, explained: float = 0.999
) -> dict[str, float]:
    """Share of people whose group is found, by group and in all, and whose κ is.

    Half of the worlds have four tests and half have five; κ is 0 or 1. Found is what is likeliest:
    of three groups, of the κ that a fit weighs (0, ½ and 1), or, told that it is not ½, of two.
    """
    right: dict[str, list[bool]] = {group: [] for group in (*GROUPS, *KAPPAS)}
    for i in range(people):
        rng = np.random.default_rng([i, rounds])
        world, kappa = some_world(rng, 4 + i % 2, explained), float(i // 2 % 2)
        for group in GROUPS:
            person = some_person(world, group, rng, rate, kappa)
            weighed = weigh(world, played(world, person, rounds, rng))
            right[group].append(weighed.group == group)
            for column, dials in zip(KAPPAS, (weighed.dials, (0.0, 1.0)), strict=True):
                right[column].append(max(dials, key=weighed.dials.__getitem__) == kappa)
    found = {name: float(np.mean(hits)) for name, hits in right.items()}
    return {**found, "all": float(np.mean([found[group] for group in GROUPS]))}


def confusion(people: int = 60) -> str:
    """Groups and κ found, with and without noise in the outcomes, and for slow people."""
    rows = []
    for explained, rate in ((0.999, 0.05), (0.75, 0.05), (0.999, 0.02)):
        for rounds in ROUNDS:
            found = confused(people, rounds, rate, explained)
            cells = [f"{found[name]:.2f}" for name in (*GROUPS, "all", *KAPPAS)]
            rows.append([explained, rate, rounds, *cells])
    return table(["tests explain", "rate", "rounds", *GROUPS, "all", *KAPPAS], rows)


def coverage(people: int = 120) -> str:
    """How often 95 % intervals hold the truth, for people drawn from the prior."""
    hits: dict[str, list[bool]] = {}
    for i in range(people):
        rng = np.random.default_rng([7, i])
        world, group = some_world(rng, 4), GROUPS[1 + i % 2]
        rate = float(np.clip(np.exp(np.log(0.05) + 1.1 * rng.standard_normal()), 0.003, 0.4))
        scatter = float(np.exp(np.log(0.5) + 0.6 * rng.standard_normal()))
        kappa = float(rng.random())
        person = some_person(world, group, rng, rate, kappa)
        weighed = weigh(world, played(world, person, 80, rng, scatter))
        for name, estimate, truth in (
            ("scatter", weighed.scatter, scatter),
            *(
                ("first weights", *pair)
                for pair in zip(weighed.initial, person.initial, strict=True)
            ),
        ):
            hits.setdefault(name, []).append(bool(estimate.low <= truth <= estimate.high))
    return table(
        ["95 % interval of", "cases", "holds the truth in"],
        [(name, len(found), f"{np.mean(found):.3f}") for name, found in hits.items()],
    )


def population(groups: int = 30, size: int = 10) -> str:
    """Intervals for groups of people whose log rates differ by .7 and log scatters by .3.

    How common the three ways of learning are is drawn anew for each group, all equally likely.
    """
    hits: dict[str, list[bool]] = {"mean log rate": [], "mean log scatter": [], "frequency": []}
    for i in range(groups):
        rng = np.random.default_rng([9, i])
        world, people, common = some_world(rng, 4), {}, rng.dirichlet(np.ones(3))
        for j in range(size):
            rate = float(np.clip(np.exp(np.log(0.05) + 0.7 * rng.standard_normal()), 0.003, 0.4))
            scatter = float(np.exp(np.log(0.5) + 0.3 * rng.standard_normal()))
            group = GROUPS[rng.choice(3, p=common)]
            person = some_person(world, group, rng, rate, 1.0)
            record = played(world, person, 80, rng, scatter)
            people[str(j)] = weigh(world, record)
        found = group_people(people)
        for name, estimate, truth in (
            ("mean log rate", found.rate.mean, np.log(0.05)),
            ("mean log scatter", found.scatter.mean, np.log(0.5)),
            *(("frequency", found.groups[name], common[g]) for g, name in enumerate(GROUPS)),
        ):
            hits[name].append(bool(estimate.low <= truth <= estimate.high))
    return table(
        ["95 % interval of", "cases", "holds the truth in"],
        [(name, len(found), f"{np.mean(found):.2f}") for name, found in hits.items()],
    )


def albrecht_log(file: Path = ALBRECHT) -> tuple[pr.World, Log]:
    """Albrecht and others (2019), experiment 1: three cues, all shown, six items repeated."""
    with file.open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["phase"] == "training"]
    cues = ["f1", "f2", "f3"]
    values = np.array([[float(row[cue]) for cue in cues] for row in rows])
    outcomes = np.array([float(row["outcome"]) for row in rows])
    items = np.unique(np.column_stack([values, outcomes]), axis=0)
    x, y = items[:, :3], items[:, 3]
    units = Units(x.mean(axis=0), x.std(axis=0), "points", float(y.mean()))
    standard, centred = units.standardise(x), units.centre(y)
    weights = np.linalg.lstsq(standard, centred, rcond=None)[0]
    left = float(np.mean((centred - standard @ weights) ** 2))
    world = pr.World(weights, standard.T @ standard / len(y), left, names=cues, units=units)
    names = [row["participant"] for row in rows]
    seen: dict[str, int] = {}
    rounds = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        rounds.append(seen[name])
    answers = [float(row["prediction"]) for row in rows]
    return world, Log(cues, names, rounds, np.ones_like(values, bool), values, answers, outcomes)


def albrecht_weighed(file: Path = ALBRECHT, answers: str = "gaussian") -> GroupWeighed:
    """All people weighed; κ does not matter, as nothing was hidden."""
    world, log = albrecht_log(file)
    return weigh_people(world, log, workers=1, dials=(0.0,), answers=answers)


def albrecht(file: str = str(ALBRECHT)) -> str:
    """-2 log evidence against no learning and the last quarter, with earlier results."""
    found = albrecht_weighed(Path(file))
    rows = []
    for name, total in found.log_evidence.items():
        best = sum(_best(weighed) == name for weighed in found.alone.values())
        before = BEFORE.get(name)
        rows.append([
            name,
            f"{-2 * (total - found.log_evidence['none']):.0f}",
            f"{found.held_out[name] - found.held_out['none']:+.0f}",
            best,
            f"{found.families[name].mean:.2f}",
            "" if before is None else f"{before[0]} / {before[1]:+d}",
        ])  # fmt: skip
    head = ["family", "-2 log evidence against none", "last quarter, nats", "best of people",
            "frequency", "before: AIC / last quarter"]  # fmt: skip
    shares = ", ".join(f"{name} {share.mean:.2f}" for name, share in found.groups.items())
    return table(head, rows) + f"\n\n{len(found.alone)} people; frequencies of groups: {shares}"


def speed() -> str:
    """Warm, on an 80-round log of five tests."""
    rng = np.random.default_rng(0)
    world = some_world(rng, 5)
    record = played(world, some_person(world, "by outcomes", rng, 0.05, 1.0), 80, rng)
    rows = []
    for answers in ("gaussian", "t"):
        weigh(world, record, answers=answers)
        taken = []
        for _ in range(20 if answers == "gaussian" else 3):
            begun = time.perf_counter()
            weighed = weigh(world, record, answers=answers)
            taken.append(time.perf_counter() - begun)
        cells = sum(cells.log_evidence.size for cells in weighed.cells)
        rows.append([answers, len(weighed.cells), cells, f"{1e3 * np.median(taken):.0f} ms"])
    return table(["answers", "families", "cells", "median"], rows)


def _best(weighed: Weighed) -> str:
    return max(weighed.log_evidence, key=weighed.log_evidence.__getitem__)


TABLES = {f.__name__: f for f in (confusion, coverage, population, albrecht, speed)}


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    if chosen not in TABLES:
        sys.exit(__doc__)
    given = [int(text) if text.isdigit() else text for text in sys.argv[2:]]
    print(TABLES[chosen](*given))
