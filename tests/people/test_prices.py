"""What showing a test costs is charged for every kind of person, whatever the outcome is."""

import numpy as np
import pytest

import preceptor as pr
from tests.people.examples import EXAMPLES, INITIAL, WORLD, YES_NO, YES_NO_RISKS
from tests.people.test_sampled import Disguised

ROUNDS, DISCOUNT = 12, 0.9
BUDGET, FREE = pr.AtMost(2, price=[0.05, 0.3, 0.1]), pr.AtMost(2)
SETS = BUDGET.sets(3)
SCHEDULE = [SETS[int(s)] for s in np.random.default_rng(7).integers(len(SETS), size=ROUNDS)]
CHARGED = sum(
    DISCOUNT**t * sum((0.05, 0.3, 0.1)[i] for i in shown) for t, shown in enumerate(SCHEDULE)
)


class Unsure(Disguised):
    """The same person, who says how likely yes is."""

    def predict(self, shown, values):
        return float(1.0 / (1.0 + np.exp(-super().predict(shown, values))))


class Sure(Disguised):
    """The same person, who says yes or no."""

    def predict(self, shown, values):
        return float(super().predict(shown, values) > 0.0)


OUTCOMES = {
    "number": (WORLD, pr.SquaredError()),
    **{name: (YES_NO["probit"], risk) for name, risk in YES_NO_RISKS.items()},
    "logistic": (YES_NO["logistic"], pr.Brier()),
}
EVERY_KIND = {**{kind: people[0] for kind, people in EXAMPLES.items()}, "own": None}


def of_kind(kind, outcome):
    if kind != "own":
        return EVERY_KIND[kind]
    humans = {"number": Disguised(), "decisions": Sure()}
    # Few copies: here prices count, and how people scatter does not.
    return pr.OwnPerson(humans.get(outcome, Unsure()), INITIAL, copies=6)


def problem_of(kind, outcome, budget):
    world, risk = OUTCOMES[outcome]
    return pr.Problem(
        world, of_kind(kind, outcome), budget, discount=DISCOUNT, horizon=ROUNDS, risk=risk
    )


@pytest.mark.few(12)
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_prices_are_added_to_what_a_policy_costs(kind, outcome):
    policy = pr.ExploreThenCommit(SCHEDULE, SCHEDULE[-1])
    priced, free = (
        pr.evaluate(problem_of(kind, outcome, budget), policy) for budget in (BUDGET, FREE)
    )
    assert priced - free == pytest.approx(CHARGED, rel=1e-7)


@pytest.mark.few(12)
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("kind", [kind for kind in EVERY_KIND if kind != "crowd"])
def test_walks_and_floors_have_them_too(kind, outcome):
    world, risk = OUTCOMES[outcome]
    person = of_kind(kind, outcome)
    asked = None if outcome == "number" else risk
    priced, free = (
        person.expectation(world, budget.sets(3), None, asked) for budget in (BUDGET, FREE)
    )
    schedule = np.array([list(SETS).index(shown) for shown in SCHEDULE])
    assert priced.floors() == pytest.approx(free.floors() + SETS.prices, abs=1e-12)
    walks = [expected.walk(ROUNDS, DISCOUNT) for expected in (priced, free)]
    laid = [walk.forward(schedule, (4,)) for walk in walks]
    forever = DISCOUNT**ROUNDS / (1.0 - DISCOUNT) * SETS.prices[4]
    assert laid[0] - laid[1] == pytest.approx(CHARGED + forever, rel=1e-6)
    for t in (ROUNDS - 1, ROUNDS - 2):
        costs = [walk.prices(t, np.arange(len(SETS))) for walk in walks]
        swapped = DISCOUNT**t * (SETS.prices - SETS.prices[schedule[t]])
        assert costs[0] - costs[1] == pytest.approx(CHARGED + forever + swapped, rel=1e-6)
        for walk in walks:
            walk.step_back(t, int(schedule[t]))


@pytest.mark.full
@pytest.mark.parametrize("outcome", ["number", "Brier"])
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_plans_cost_what_simulated_people_cost(kind, outcome):
    from preceptor import simulation

    problem = problem_of(kind, outcome, BUDGET)
    plan = pr.solve(problem, time_limit=1.0)
    rolled = simulation.rollout(problem, plan.policy, rounds=ROUNDS, people=3_000, rng=3)
    # Costs of Bayesians are approximate, and means over six people scatter.
    allowed = {"bayesian": 0.06, "own": 0.5}.get(kind, 0.02 if outcome == "Brier" else 0.0)
    assert abs(rolled.total - plan.value) <= 4.0 * rolled.total_error + allowed * plan.value


@pytest.mark.few(1)
@pytest.mark.parametrize("person", [
    pr.Bayesian([0.2, 1.3], prior_variance=1.0, noise_variance=0.3),
    pr.OwnPerson(Disguised(), [0.0, 0.0, 0.0], copies=40),
], ids=["bayesian", "own"])  # fmt: skip
def test_nothing_is_shown_that_costs_more_than_it_tells(person):
    world = pr.World.equicorrelated([1.0, 0.8, 0.3][: person.size], 0.8)
    problem = pr.Problem(world, person, pr.AtMost(1, price=5.0), discount=1.0, horizon=20)
    plan = pr.solve(problem, time_limit=1.0)
    nothing = pr.evaluate(problem, pr.ExploreThenCommit([], ()))
    # Anybody who is shown nothing says the average.
    assert nothing == pytest.approx(20 * world.outcome_variance, rel=1e-9)
    assert set(plan.policy.schedule(20)) == {()}
    assert plan.value == pytest.approx(nothing, rel=1e-9)
