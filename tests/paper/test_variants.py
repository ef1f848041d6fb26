"""The variants' sampled oracle: 1,024 cases, drawn once, and right within its sampling error."""

import math

import numpy as np
import pytest

import preceptor as pr
from preceptor.model.empirical_loss import Empirical
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.paper import variants


def seed_of(number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(0, spawn_key=(number,))


@pytest.mark.parametrize("scenario", variants.SCENARIOS)
def test_problems_are_as_described(scenario):
    problem = variants.problem({"scenario": scenario}, 0.8, seed_of(0))
    assert (problem.horizon, problem.discount) == (180, 0.99)
    assert problem.budget == pr.Exactly(1)
    assert problem.risk == (pr.Huber(1.0) if "huber" in scenario else pr.SquaredError())
    curve = pr.PowerLaw(0.75) if scenario == "power" else pr.Geometric(1.05)
    assert problem.learner.curve_of == (curve, curve)
    if scenario.endswith("exact"):
        assert isinstance(problem.loss, ClosedForm)
    else:
        assert isinstance(problem.loss, Empirical)
        assert problem.loss.samples == 1024
        assert problem.loss.imputation == ("cubic" if scenario == "beta" else "linear")


def test_cases_are_drawn_anew_for_each_scenario_correlation_and_draw():
    seeds = [
        variants.problem({"scenario": scenario}, rho, seed_of(number)).loss.seed
        for scenario in variants.SAMPLED
        for rho in (0.0, 0.5, 0.8, 0.99)
        for number in range(3)
    ]
    assert len(set(seeds)) == len(seeds)
    again = variants.problem({"scenario": "huber"}, 0.8, seed_of(1)).loss.seed
    assert again == variants.problem({"scenario": "huber"}, 0.8, seed_of(1)).loss.seed


def test_the_exact_twin_is_the_same_instance():
    for scenario in ("baseline", "huber"):
        sampled, exact = (
            variants.problem({"scenario": name}, 0.8, seed_of(2))
            for name in (scenario, f"{scenario} exact")
        )
        assert exact.replace(loss=sampled.loss) == sampled


@pytest.mark.parametrize("scenario", ["baseline", "huber"])
def test_sampled_values_are_right_on_average(scenario):
    """One policy, many samples: ratios to the exact value vary around 1 as they should.

    The mean of 1,024 squared normal residuals has a relative standard deviation of √(2/1024) =
    4.4%; a discounted sum of such means, all from the same cases, has at most that. Huber's charge
    varies less.
    """
    exact = variants.problem({"scenario": f"{scenario} exact"}, 0.8, seed_of(0))
    policy = pr.solve(exact, "finite").policy
    value = pr.evaluate(exact, policy)
    ratios = np.array(
        [
            pr.evaluate(exact.replace(loss=Empirical(variants.SAMPLES, "linear", seed)), policy)
            / value
            for seed in range(40)
        ]
    )
    widest = math.sqrt(2 / variants.SAMPLES)
    assert 0.2 * widest < ratios.std(ddof=1) < 1.5 * widest
    # Imputation is fitted to the same cases, which takes about one part in a thousand away.
    assert abs(ratios.mean() - 1.0) < 4 * ratios.std(ddof=1) / math.sqrt(ratios.size) + 1e-3


@pytest.mark.full
def test_sampled_optima_are_within_sampling_error_of_exact_ones(reproduced):
    frame = reproduced("variants").result.frame
    phases = frame[(frame["part"] == "phases") & (frame["budget"] == "exactly")]
    table = phases.pivot(index=["rho", "draw"], columns="scenario", values="value")
    for scenario in ("baseline", "huber"):
        error = table[scenario] / table[f"{scenario} exact"] - 1.0
        assert error.abs().max() < 5 * math.sqrt(2 / variants.SAMPLES)
        assert error.abs().min() > 0  # it is a sample
