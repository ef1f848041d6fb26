"""What the page on power shows: python docs/make_power.py sizes | decisive | level | deskilling.

`sizes`: people per arm for a power of 0.8, measure by measure, from the effect among 400 people of
a kind in each arm (`--quick`: 100). `decisive`: how people are read in the decisive experiment, by
seeds that no choice of design has seen. `level`: how often every registered analysis finds
something in people who do not learn (`level deskilling`: in one study). `deskilling [seeds]`: power
of that template at its registered size. `picture`: assets/power.svg.
"""

from __future__ import annotations

import copy
import math
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from body_fat import load_body_fat

import preceptor as pr
from preceptor._base.files import parse_toml
from preceptor._base.values import FloatArray
from preceptor.learners.families import NONE
from preceptor.live.study import simulated_people
from preceptor.live.study.analysis import exclusion_reasons, run_registered_test, welch
from preceptor.live.study.arms import make_arms
from preceptor.live.study.measures import MEASURES, Records, answer_costs, trials_of
from preceptor.live.study.power import plot, power
from preceptor.live.study.registration import template
from preceptor.live.study.simulated_people import (
    AssumedMember,
    Assumption,
    RandomAnswers,
    Recruits,
    SimulatedStudy,
    assumptions,
    make_stage,
    noise,
    played,
    recruited,
    with_tutored_banks,
)
from preceptor.live.study.study import Study

# For a power of 0.8 at a level of 0.05, two-sided.
REACH = 1.959964 + 0.841621


def data_of(name: str) -> dict[str, Any]:
    """A template as data, to be changed."""
    return copy.deepcopy(dict(parse_toml(template(name))))


def studies() -> dict[str, dict[str, Any]]:
    """The problems: two tests, five tests, and thirteen of which three may be shown."""
    wide = data_of("plan-or-fixed")
    cases = load_body_fat().frame
    cases.loc[41, "height"] = 69.5  # typed wrongly
    world = pr.fit_world(cases, "brozek", outcome="body fat, %").world
    person = pr.Learner(np.zeros(world.size), pr.Geometric(1.1))
    problem = pr.Problem(world, person, budget=3, horizon=60, discount=1.0)
    fixed = list(world.labels[:3])
    wide["problem"], wide["tests"] = problem.to_dict(), {}
    wide["outcome"] = {"answer": "number"}
    for block in wide["block"]:
        if block["kind"] in ("practice", "test"):
            block["show"] = [fixed, list(world.labels[3:6]), list(world.labels[6:9])]
    five = data_of("plan-or-predictive")
    return {"two tests": data_of("plan-or-fixed"), "five tests": five, "body fat (13, 3)": wide}


def needed(first: FloatArray, second: FloatArray) -> str:
    """People per arm, compared place by place, with the effect in standard deviations of that."""
    differences = first - second
    signal = float(differences.mean() / differences.std(ddof=1))
    size = welch(differences, None, "two-sided", 0.05).standardised
    # So far the average can be off by chance.
    if abs(signal) < 2.0 / math.sqrt(len(first)):
        return f"- ({size:+.2f})"
    return f"{math.ceil((REACH / signal) ** 2) + 1:,} ({size:+.2f})"


def everybody_of(
    stage: SimulatedStudy, kind: Assumption, people: int, rng: np.random.Generator
) -> Records:
    """People of one kind at the first places of the arms that are compared; no one drops out.

    Rates are the same at the same place of every arm, so that arms differ in nothing else.
    """
    compared = [stage.arms.index(name) for name in stage.study.configuration.analysis.compare]
    rates = len(kind.members)
    count = people * len(compared)
    recruits = Recruits(
        np.repeat(compared, people),
        np.tile(np.arange(people), len(compared)),
        np.zeros(count, dtype=np.int64),
        np.tile(rng.integers(rates, size=people), len(compared)),
        np.full(count, stage.trials),
        np.zeros(count, dtype=np.bool_),
    )
    return played(stage, (kind,), recruits, rng)


def sizes(people: int) -> None:
    """A row for each problem, kind and scatter."""
    print("| problem | who learns | scatter | all of training | post-test | last 10 rounds |")
    print("|---|---|---|---|---|---|")
    for name, data in studies().items():
        for scatter in (0.1, 0.6):
            data["assumed"]["scatter"] = scatter
            data["assumed"]["kind"] = [
                {"human": "by-showings", "rate": 0.0909},
                {"human": "delta-rule", "rate": 0.0909},
            ]
            study = Study.from_dict(data)
            arms = make_arms(study)
            stage = make_stage(study, arms, people)
            for kind in assumptions(study):
                records = everybody_of(stage, kind, people, np.random.default_rng(5))
                costs = answer_costs(study, records)
                training = np.flatnonzero(trials_of(study, "training error"))
                rows = (training, np.flatnonzero(trials_of(study, "test error")), training[-10:])
                compare = study.configuration.analysis.compare
                cells = []
                for row in rows:
                    means = costs[:, row].mean(axis=1)
                    cells.append(needed(*(means[records.arms == name] for name in compare)))
                print(f"| {name} | {kind.name.split()[0]} | {scatter} | {' | '.join(cells)} |")
                sys.stdout.flush()


def decisive(people: int) -> None:
    """Verdicts, kind by kind."""
    study = Study.from_dict(data_of("decisive"))
    found = power(study, [people // 10], simulations=10, seed=101, workers=None)
    print("| who answers | people | from outcomes | not from outcomes | neither | undecided |")
    print("|---|---|---|---|---|---|")
    for each in found.told:
        shares = [
            f"{s.share:.3f} ({s.low:.3f} to {s.high:.3f})"
            for s in (each.outcomes, each.others, each.unrelated, each.undecided)
        ]
        print(f"| {each.kind} | {each.others.of:,} | {' | '.join(shares)} |")


def without_effect(study: Study) -> list[Assumption]:
    """People who do not learn: noise, guesses of the mean, fixed weights."""
    near = 0.1 * study.problem.world.outcome_variance**0.5
    guess = AssumedMember(RandomAnswers(-near, near), NONE)
    data = study.to_dict()
    data["assumed"]["kind"] = [{"human": "no-learning"}]
    (stubborn,) = assumptions(Study.from_dict(data))
    return [noise(study), Assumption("the mean", 1.0, (guess,)), stubborn]


def analyses() -> list[tuple[str, int, int, list[Study]]]:
    """Studies with people per arm, a number of simulations, and each analysis they allow."""
    errors, one, kept, two = map(data_of, ("plan-or-fixed", *["decisive"] * 3))
    # The rule would leave hardly anyone to be tested.
    for data in (kept, two):
        del data["exclusions"]["unrelated_answers"]
    # People who do not learn are not changed by training, so that a short one will do.
    aware = data_of("deskilling")
    aware["block"][3] |= {"rounds": 6, "check": aware["block"][3]["check"][:1]}
    aware["block"][3]["check"][0]["after"] = 3
    aware["exclusions"]["failed_checks"] = 1
    shown = [{"show": ["blue", "green"], "rounds": 36}]
    two["arm"].append({"name": "without-amber", "policy": "sets", "sets": shown})
    both = ["without-blue", "without-amber"]

    def with_analyses(data: dict[str, Any], *several: dict[str, Any]) -> list[Study]:
        made = [{**data["analysis"], "test": "permutation", **each} for each in several]
        return [Study.from_dict({**data, "analysis": each}) for each in made]

    slopes, kinds = ({"measure": each} for each in ("slope change", "kind"))
    welch_too = {"test": "welch"}
    return [
        (
            "plan-or-fixed",
            20,
            400,
            with_analyses(
                errors,
                *({"measure": m, "test": t} for m in ("test error", "training error")
                  for t in ("permutation", "welch")),
            ),
        ),
        ("deskilling", 12, 60, with_analyses(aware, {}, welch_too)),
        ("decisive", 30, 400, with_analyses(kept, slopes, slopes | welch_too)),
        (
            "decisive, two arms",
            20,
            400,
            with_analyses(two, *(slopes | {"compare": both} | t for t in ({}, welch_too))),
        ),
        ("decisive", 30, 60, with_analyses(one, kinds)),
        ("decisive", 300, 10, with_analyses(one, kinds)),
        (
            "decisive, two arms",
            20,
            60,
            with_analyses(two, *(kinds | {"compare": both} | t for t in ({}, welch_too))),
        ),
    ]  # fmt: skip


def level(share: float, only: str | None = None) -> None:
    """How often p is below 0.05 without anything to be found, with standard errors."""
    print(
        "| study | measure | test | people per arm | simulations | random answers | the mean "
        "| no learning |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, people, most, studies in analyses():
        if only not in (None, name):
            continue
        simulations = max(int(most * share), 10)
        study = studies[0]
        stage = make_stage(study, make_arms(study), people)
        cells: list[list[str]] = [[] for _ in studies]
        for number, who in enumerate(without_effect(study)):
            hits = np.zeros(len(studies), dtype=int)
            for run in range(simulations):
                rng = np.random.default_rng([17, number, run])
                if run % 10 == 0:  # other people with a tutor
                    banked = with_tutored_banks(stage, (who,), run)
                records = played(banked, (who,), recruited(banked, (who,), people, rng), rng)
                measured: dict[str, FloatArray] = {}
                for i, each in enumerate(studies):
                    measure = each.configuration.analysis.measure
                    if measure not in measured:
                        measured[measure] = MEASURES[measure](each, records)
                    numbers = measured[measure]
                    why = exclusion_reasons(each, records, numbers)
                    found = run_registered_test(each, records, numbers, why, 999, run)
                    hits[i] += found.p < 0.05
            for i, hit in enumerate(hits / simulations):
                error = math.sqrt(hit * (1.0 - hit) / simulations)
                cells[i].append(f"{hit:.3f} ± {error:.3f}")
        for each, row in zip(studies, cells, strict=True):
            said = each.configuration.analysis
            is_sign = said.measure == "kind" and len(said.compare) == 1
            test = "sign" if is_sign else said.test
            print(f"| {name} | {said.measure} | {test} | {people} | {simulations:,} | "
                  f"{' | '.join(row)} |", flush=True)  # fmt: skip


def deskilling(seeds: int) -> None:
    """Power of `deskilling` at its registered size; each seed has other cases and other people."""
    data = data_of("deskilling")
    size, found = data["people"] // len(data["arm"]), {}
    for seed in range(1, seeds + 1):
        study = Study.from_dict({**data, "seed": seed})
        # One of every kind at every place: people of other seeds are others.
        with patch.object(simulated_people, "DRAWS", 1):
            cells = power(study, [size], simulations=50, seed=seed, workers=1).cells
        for cell in cells:
            found.setdefault(cell.kind, []).append(
                (cell.power.share, cell.effect, cell.standardised)
            )
        print(f"seed {seed}: {found}", file=sys.stderr, flush=True)
    print(f"| kind | power, {size} people per arm | effect | in sd |\n|---|---|---|---|")
    for kind, rows in found.items():
        table = np.array(rows)
        means, errors = table.mean(axis=0), table.std(axis=0, ddof=1) / math.sqrt(seeds)
        cells = (f"{m:.2f} ± {e:.2f}" for m, e in zip(means, errors, strict=True))
        print(f"| {kind} | {' | '.join(cells)} |")


def picture() -> None:
    """Power of the template with five tests, kind by kind."""
    data = data_of("plan-or-predictive")
    study = Study.from_dict(data)
    found = power(study, [10, 20, 40, 80], simulations=100, seed=101, workers=None)
    plot(found).savefig(Path(__file__).parent / "assets" / "power.svg")


if __name__ == "__main__":
    few = "--quick" in sys.argv
    what = sys.argv[1] if len(sys.argv) > 1 else "sizes"
    if what == "sizes":
        sizes(100 if few else 400)
    elif what == "decisive":
        decisive(400 if few else 3000)
    elif what == "level":
        named = [each for each in sys.argv[2:] if not each.startswith("--")]
        level(0.02 if few else 1.0, *named[:1])
    elif what == "deskilling":
        deskilling(int(sys.argv[2]) if len(sys.argv) > 2 else 6)
    else:
        picture()
