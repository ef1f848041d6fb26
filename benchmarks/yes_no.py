"""What yes-or-no answers cost to plan for, beside squared errors: time for each state and set."""

from __future__ import annotations

import numpy as np

import preceptor as pr
from benchmarks.measure import Row, best_time

_RISKS = {"decisions": pr.Decision(3, 1), "Brier score": pr.Brier(), "log loss": pr.LogLoss()}
# At most three times squared error: its time as a share of ours must be at least a third.
_WANTED = 1.0 / 3.0


def _problems(tests: int, shown: int) -> tuple[pr.Problem, dict[str, pr.Problem]]:
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((tests, 2 * tests))
    sigma = factor @ factor.T / (2 * tests)
    truth, person = (
        rng.standard_normal(tests),
        pr.Learner(rng.standard_normal(tests), pr.Geometric(1.05)),
    )
    number = pr.Problem(pr.World(truth, sigma), person, shown)
    diagnosis = pr.World(truth, sigma, outcome=pr.Binary(0.3))
    return number, {
        name: pr.Problem(diagnosis, person, shown, risk=risk) for name, risk in _RISKS.items()
    }


def lattice_sweep() -> list[Row]:
    """The sweep over the box, (3,2) with 81 counts a test."""
    from preceptor.planning.lattice import CapEffects, sweep

    def seconds(problem: pr.Problem) -> float:
        effects = CapEffects.of(problem)
        caps = np.full(effects.dimensions, 80)
        return best_time(lambda: sweep(problem, effects, caps))

    number, diagnoses = _problems(3, 2)
    return _rows("lattice sweep, (3,2), 531,441 states", number, diagnoses, seconds)


def finite_plan() -> list[Row]:
    """All layers of 40 rounds, (3,2)."""
    from preceptor.planning.finite import DEFAULT_MEMORY, fill

    def seconds(problem: pr.Problem) -> float:
        short = problem.replace(horizon=40)
        short.oracle.forms()  # tables are made once for a problem, whatever its rounds
        return best_time(lambda: fill(short, 40, DEFAULT_MEMORY, method="finite"))

    number, diagnoses = _problems(3, 2)
    return _rows("finite plan, (3,2), 40 rounds", number, diagnoses, seconds)


def _rows(work, number, diagnoses, seconds) -> list[Row]:
    squared = seconds(number)
    rows = []
    for name, problem in diagnoses.items():
        ours = seconds(problem)
        rows.append(
            Row(
                work=f"{work}: {name}",
                against="squared error, same states and sets",
                ratio=squared / ours,
                wanted=_WANTED,
                details={
                    "seconds": ours,
                    "squared": squared,
                    "times squared": ours / squared,
                    "table error": problem.oracle.accuracy,
                },
            )
        )
    return rows


ROWS = {"yes-no-lattice": lattice_sweep, "yes-no-finite": finite_plan}
