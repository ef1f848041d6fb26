"""How close expected costs of delta-rule people are to those of copies, with yes-or-no outcomes.

    python docs/make_yes_no_people.py
    python docs/make_yes_no_people.py any

The first prints the table of `people.md`: twelve worlds, three rates, two imputations, 150
rounds of random sets and of one set; 800 copies each, whose answers are charged by their weights.
The second gives the errors in random problems with a wider range of effects, rates and
prevalences. Both are seeded.
"""

from __future__ import annotations

import itertools
import sys

import numpy as np

import preceptor as pr
from preceptor._base.values import IntArray
from preceptor.model.sets import SetFamily
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.sampled import SampledAnswers

ROUNDS, COPIES = 150, 800
RATES = (0.02, 0.1, 0.3)
RISKS = {
    "decisions": (pr.Decision(), pr.Decision(5.0, 1.0)),
    "Brier score": (pr.Brier(),),
    "log loss": (pr.LogLoss(),),
}


def worlds(rng: np.random.Generator) -> list[pr.World]:
    """Four tests with random correlations: both links, three sizes of effects, two prevalences."""
    made = []
    for link, spread, prevalence in itertools.product(
        ("probit", "logistic"), (0.3, 1.0, 4.0), (0.5, 0.15)
    ):
        mixed = rng.standard_normal((4, 5))
        scale = np.sqrt(np.sum(mixed**2, axis=1))
        covariance = (mixed @ mixed.T) / np.outer(scale, scale)
        truth = rng.standard_normal(4)
        truth *= np.sqrt(spread / (truth @ covariance @ truth))
        outcome = pr.Binary(prevalence, link)
        made.append(pr.World(outcome.from_score.unit * truth, covariance, outcome=outcome))
    return made


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(0)
    sets = pr.AtMost(2).sets(4)
    off: dict[tuple[str, float], list[float]] = {}
    for number, world in enumerate(worlds(rng)):
        first = np.zeros(4) if number % 2 else world.coefficients[::-1]
        random, fixed = rng.integers(len(sets), size=ROUNDS), np.full(ROUNDS, len(sets) - 1)
        for rate, kappa, schedule in itertools.product(RATES, (0.0, 1.0), (random, fixed)):
            person = pr.DeltaRule(first, rate, kappa)
            for name, risks in RISKS.items():
                for risk in risks:
                    expected = person.expectation(world, sets, None, risk).losses(schedule).sum()
                    copies = SampledAnswers(person, world, sets, risk, copies=COPIES)
                    played = copies.played(schedule).sum(axis=1).mean()
                    off.setdefault((name, rate), []).append(float(expected / played - 1.0))
    print("| rate | " + " | ".join(RISKS) + " |")
    print("|---|" + "---|" * len(RISKS))
    for rate in RATES:
        cells = []
        for name in RISKS:
            each = 100.0 * np.array(off[name, rate])
            cells.append(f"{np.sqrt(np.mean(each**2)):.1f} [{np.abs(each).max():.1f}]")
        print(f"| {rate:g} | " + " | ".join(cells) + " |")


def any_problem(draw: int) -> tuple[pr.World, pr.DeltaRule, SetFamily, IntArray]:
    """A random world, person and budget, and sets drawn at random from it."""
    rng = np.random.default_rng([24, draw])
    size = int(rng.integers(2, 6))
    outcome = pr.Binary(rng.uniform(0.05, 0.5), "probit" if draw % 2 else "logistic")
    raw = pr.World.equicorrelated(rng.standard_normal(size), rng.uniform(0.0, 0.9), 0.0)
    effects = np.sqrt(rng.uniform(0.3, 6.0) / raw.outcome_variance) * raw.coefficients
    world = pr.World(outcome.from_score.unit * effects, raw.covariance, outcome=outcome)
    first = rng.uniform(0.0, 1.5) * rng.permutation(world.coefficients)
    person = pr.DeltaRule(first, 0.02 * 20.0 ** rng.random(), float(draw // 2 % 2))
    sets = pr.AtMost(int(rng.integers(1, min(size, 4)))).sets(size)
    return world, person, sets, rng.integers(1, len(sets), size=int(rng.choice([20, 60, 150])))


def share_off(draw: int, risk: YesNoRisk, copies: int) -> tuple[float, float]:
    """By which share a random problem's expected cost is off, and the standard error of that."""
    world, person, sets, schedule = any_problem(draw)
    expected = person.expectation(world, sets, None, risk).losses(schedule).sum()
    totals = SampledAnswers(person, world, sets, risk, copies=copies).played(schedule).sum(axis=1)
    error = totals.std() / np.sqrt(copies) / totals.mean()
    return float(expected / totals.mean() - 1.0), float(error)


def range_of_errors(draws: int = 60, copies: int = 4_000) -> str:
    """Range of relative errors over random problems, and the largest standard error."""
    ranges, errors = [], []
    for name, (risk, *_) in RISKS.items():
        found = [share_off(draw, risk, copies) for draw in range(draws)]
        off = [100 * share for share, _error in found]
        ranges.append(f"{name} {min(off):+.1f} to {max(off):+.1f}")
        errors += [error for _share, error in found]
    worst = f"largest standard error {100 * max(errors):.1f}"
    return f"{draws} problems, %: {', '.join(ranges)}; {worst}"


if __name__ == "__main__":
    if sys.argv[1:] == ["any"]:
        print(range_of_errors())
    else:
        main()
