"""What the page on power shows: python docs/make_power.py sizes | decisive | picture.

`sizes`: people an arm for a power of 0.8, measure by measure, from the effect among 400 people of a
kind in each arm (`--quick`: 100). `decisive`: how people are read in the decisive experiment, by
seeds that no choice of design has seen. `picture`: assets/power.svg.
"""

from __future__ import annotations

import copy
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from body_fat import load_body_fat

import preceptor as pr
from preceptor._base.parsing import parse_toml
from preceptor._base.values import FloatArray
from preceptor.study import Study
from preceptor.study.arms import make_arms
from preceptor.study.assumed import Assumption, assumptions
from preceptor.study.beginning import template
from preceptor.study.measures import charged, trials_of
from preceptor.study.playing import Recruits, Stage, played, staged
from preceptor.study.power import power
from preceptor.study.power_report import plot
from preceptor.study.records import Records
from preceptor.study.significance import welch

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
    """People an arm, compared place by place, with the effect in standard deviations of that."""
    differences = first - second
    signal = float(differences.mean() / differences.std(ddof=1))
    size = welch(differences, None, "two-sided", 0.05).standardised
    # So far the average can be off by chance.
    if abs(signal) < 2.0 / math.sqrt(len(first)):
        return f"- ({size:+.2f})"
    return f"{math.ceil((REACH / signal) ** 2) + 1:,} ({size:+.2f})"


def everybody_of(stage: Stage, kind: Assumption, people: int, rng: np.random.Generator) -> Records:
    """People of one kind at the first places of the arms that are compared; nobody leaves.

    Rates are the same at the same place of every arm, so that arms differ in nothing else.
    """
    compared = [stage.arms.index(name) for name in stage.study.configuration.analysis.compare]
    shares = [member.share for member in kind.members]
    count = people * len(compared)
    recruits = Recruits(
        np.repeat(compared, people),
        np.tile(np.arange(people), len(compared)),
        np.zeros(count, dtype=np.int64),
        np.tile(rng.choice(len(shares), size=people, p=shares), len(compared)),
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
            stage = staged(study, arms, people)
            for kind in assumptions(study):
                records = everybody_of(stage, kind, people, np.random.default_rng(5))
                costs = charged(study, records)
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
    """Right, left open and wrong, kind by kind."""
    study = Study.from_dict(data_of("decisive"))
    found = power(study, [people // 10], simulations=10, seed=101, workers=None)
    print("| who learns | people | right | left open | wrong |")
    print("|---|---|---|---|---|")
    for each in found.told:
        shares = [
            f"{s.share:.3f} ({s.low:.3f} to {s.high:.3f})"
            for s in (each.right, each.undecided, each.wrong)
        ]
        print(f"| {each.kind} | {each.right.of:,} | {' | '.join(shares)} |")


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
    else:
        picture()
