"""Losses in the record of a tutored person are those of the problem: its risk, and its prices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.learners.simulated_tutoring import tutored

NUMBER = pr.World.equicorrelated([1.0, 0.8], 0.5, noise_variance=0.3)
YES_NO = pr.World.equicorrelated([1.0, 0.8], 0.5, outcome=pr.Binary(0.4))
PEOPLE = {
    "by showings": pr.Learner([0.2, 1.3], pr.Geometric(1.1)),
    "not learning": pr.NoLearning([0.2, 1.3]),
}


def run(world, risk, human=None):
    budget = pr.AtMost(1, price=0.25)
    problem = pr.Problem(world, pr.Crowd(PEOPLE), budget, horizon=5, risk=risk)
    human = human or PEOPLE["by showings"].acting(world, risk=risk)
    tutor = pr.Tutor(problem, spread=0.0)
    return problem, tutored(tutor, human, 5, 1, schedule=[(0,), (0,), (1,), (), (0,)])


@pytest.mark.parametrize(
    ("world", "risk"),
    [(NUMBER, pr.SquaredError()), (YES_NO, pr.Decision()), (YES_NO, pr.Brier())],
)
def test_expected_losses_are_those_of_the_person_alone(world, risk):
    problem, record = run(world, risk)
    alone = problem.replace(learner=PEOPLE["by showings"])
    sets = problem.budget.sets(2)
    positions = [list(sets).index(shown) for shown in record.shown]
    expected = alone.learner.expectation(world, sets, risk=problem.risk).losses(positions)
    assert_allclose(record.losses, expected, rtol=1e-9)


def test_a_human_without_known_weights_is_charged_for_the_case_drawn():
    class Optimist:
        def reset(self, rng=None): ...
        def predict(self, shown, values):
            return 1.0

        def feedback(self, shown, values, outcome): ...

    _, record = run(YES_NO, pr.Decision(2.0, 1.0), Optimist())
    prices = np.array([0.25, 0.25, 0.25, 0.0, 0.25])
    assert set(np.round(record.losses - prices, 9)) <= {0.0, 1.0}
