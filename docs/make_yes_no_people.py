"""How near expected costs of delta-rule people come to those of copies, in yes-or-no worlds.

    python docs/make_yes_no_people.py

prints the table of `people.md`: twelve worlds, three rates, two ways to fill in, 150 rounds of
random sets and of one set; 800 copies each, whose answers are charged by their weights. Seeded.
"""

from __future__ import annotations

import itertools

import numpy as np

import preceptor as pr
from preceptor.people.sampled_answers import SampledAnswers

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


if __name__ == "__main__":
    main()
