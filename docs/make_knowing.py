"""Print the tables about knowing the person: how often kinds are found.

python docs/make_knowing.py confusion [people]     groups and κ found from 40, 80 and 160 rounds
python docs/make_knowing.py coverage [people]      how often intervals hold the truth
python docs/make_knowing.py population [groups]    the same for means of people who differ
python -m docs.make_knowing reliability [people]   stated probabilities against frequencies
python -m docs.make_knowing scatters [people]      kinds in the list and strangers, by scatter
python -m docs.make_knowing apart [people]         a tutor's probabilities against a fit's
python docs/make_knowing.py speed                  how long weighing takes
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence

import numpy as np

import preceptor as pr
from preceptor._base.values import FloatArray
from preceptor.learners.families import GROUPS
from preceptor.learners.kind_posterior import read_log
from preceptor.learners.populations import group_people
from preceptor.learners.posterior import PROCESS_NOISE
from preceptor.learners.records import Record
from preceptor.learners.weighing import weigh
from preceptor.model.person import Person

ROUNDS = (40, 80, 160)
KAPPAS = ("κ of three", "κ of two")


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


BINS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 1.0001))


def reliability(people: int = 200) -> str:
    """People drawn from the prior: how often what is stated is true, and intervals hold.

    Six tenths as many people at 160 rounds, which take longest.
    """
    from tests.learners.test_one_posterior import NAMES, draw
    from tests.learners.test_one_posterior import reliability as weighed

    columns, held = [], []
    for rounds in ROUNDS:
        rng, count = np.random.default_rng(rounds), people if rounds < 160 else 6 * people // 10
        said, true, within = weighed([draw(rounds, rng, NAMES) for _ in range(count)], NAMES)
        cells = []
        for low, high in BINS:
            here = (said >= low) & (said < high)
            cells.append((said[here], true[here]))
        likeliest = np.argmax(said, axis=1)[:, None]
        cells.append(tuple(np.take_along_axis(a, likeliest, axis=1)[:, 0] for a in (said, true)))
        columns.append([_stated(*cell) for cell in cells])
        shares = [within[:, :-2].mean(), *within[:, -2:].mean(axis=0)]
        held.append([f"{rounds}, {count}", *(f"{share:.2f}" for share in shares)])
    names = ["below 0.1", "0.1 to 0.3", "0.3 to 0.6", "0.6 to 0.9", "above 0.9", "likeliest group"]
    rows = [[name, *cells] for name, *cells in zip(names, *columns, strict=True)]
    first = table(["stated", *(f"{rounds} rounds" for rounds in ROUNDS)], rows)
    return f"{first}\n\n{table(['rounds, people', 'first weights', 'bias', 'scatter'], held)}"


def _stated(said: FloatArray, true: FloatArray) -> str:
    """Mean stated probability, how often it was true with its standard error, and the number."""
    share = float(true.mean())
    error = float(np.sqrt(np.mean(said * (1.0 - said)) / said.size))
    return f"{said.mean():.2f}, {share:.2f} ± {error:.2f} ({said.size})"


def scatters(people: int = 20) -> str:
    """Mean probability of what is true after 40, 80 and 160 rounds, by scatter.

    That is the group of people in the list, of which the rate is 0.05 and κ is 0 or 1, and none of
    these for others.
    """
    from tests.learners.drawn_people import WORLD, played_by, strangers

    rows = []
    for kind in (*GROUPS, "exemplar", "capped"):
        for scatter in (0.1, 0.3, 0.6):
            cells = []
            for rounds in ROUNDS:
                rng, found = np.random.default_rng(rounds), []
                for i in range(people):
                    if kind in GROUPS:
                        human = some_person(WORLD, kind, rng, 0.05, float(i % 2)).acting(WORLD)
                    else:
                        human = strangers(kind, rng)
                    weighed = weigh(WORLD, played_by(human, rounds, rng, scatter=scatter))
                    found.append(weighed.groups.get(kind, weighed.none_of_these))
                cells.append(_give_or_take(found))
            rows.append([kind, scatter, *cells])
    return table(["true kind", "scatter", *(f"{rounds} rounds" for rounds in ROUNDS)], rows)


def apart(people: int = 40) -> str:
    """Largest difference of a group between `tutor.kinds` and `tutor.groups`, people of the prior.

    With the default crowd: as it is, and without random changes of the weights.
    """
    from tests.learners.drawn_people import WORLD, draw
    from tests.learners.test_one_posterior import NAMES, log_of

    rows = {"as a tutor chooses": PROCESS_NOISE, "without process noise": 0.0}
    cells: dict[str, list[str]] = {name: [] for name in rows}
    for rounds in ROUNDS[:2]:
        rng = np.random.default_rng(rounds)
        logs = [log_of(draw(rounds, rng, NAMES).record) for _ in range(people)]
        fits = [read_log(WORLD, log).people[0].groups for log in logs]
        for name, noise in rows.items():
            off = []
            for log, fit in zip(logs, fits, strict=True):
                crowd = pr.Crowd.default(WORLD)
                [chosen] = read_log(WORLD, log, crowd, process_noise=noise).people
                off.append(max(abs(chosen.groups[group] - fit[group]) for group in fit))
            cells[name].append(_give_or_take(off))
    head = ["largest difference", *(f"{rounds} rounds" for rounds in ROUNDS[:2])]
    return table(head, [[name, *found] for name, found in cells.items()])


def _give_or_take(sample: Sequence[float]) -> str:
    return f"{np.mean(sample):.2f} ± {np.std(sample) / np.sqrt(len(sample)):.2f}"


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


TABLES = {
    f.__name__: f for f in (confusion, coverage, population, reliability, scatters, apart, speed)
}


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    if chosen not in TABLES:
        sys.exit(__doc__)
    print(TABLES[chosen](*map(int, sys.argv[2:])))
