"""What looking at the case would be worth: simulated trainees, their losses, and the words."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import preceptor as pr
from preceptor._base.progress import Deadline
from preceptor.advice import looking
from preceptor.advice.looking import Looking, look
from preceptor.errors import NotApplicable
from preceptor.learners.case_choice import CasePool, Readings
from preceptor.report.advice_words import advice_to_dict

RNG = np.random.default_rng(4)
ROOT = RNG.normal(size=(4, 6))
TRUTH = np.array([1.0, -0.7, 0.5, 0.8])


def table(rows=150, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 6)) @ ROOT.T
    y = 20.0 + x @ TRUTH + 2.0 * rng.normal(size=rows)
    return {**{f"t{i}": x[:, i] for i in range(4)}, "y": y}


def advised(data=None, **options):
    usual = {"tests": 2, "person": pr.DeltaRule(np.zeros(4), 0.03), "vary": False}
    return pr.advise(table() if data is None else data, "y", **usual | options)


@pytest.fixture(scope="module")
def advice():
    return advised()


def test_trainees_learn_faster_from_chosen_cases(advice):
    found = advice.looking
    assert found.people == looking.PEOPLE
    assert found.chosen is not None
    assert found.low <= found.chosen <= (found.high or np.inf)
    assert found.planned is None or found.planned > 1.5 * found.chosen
    assert found == look(advice.plan, advice.estimate)


def test_plan_arm_is_that_of_a_delta_rule_written_out(advice):
    """Weights, round by round, without the product's people."""
    world, plan = advice.plan.problem.world, advice.plan
    pool = looking._complete_cases(advice.estimate, 0)
    schedule = plan.policy.schedule(30)
    person = pr.DeltaRule(np.array([0.5, 0.0, -0.3, 0.1]), 0.03)
    weights = looking._taught(person.acting(world), schedule, pool, np.random.default_rng(1))
    order = np.random.default_rng(1).permutation(len(pool))
    x = (pool.values - world.units.means) / world.units.scales
    y = pool.outcomes - world.units.outcome_mean
    w, sigma = person.initial.copy(), world.covariance
    for t, row in enumerate(order[:30]):
        assert weights[t] == pytest.approx(w)
        shown = list(schedule[t])
        filled = sigma[:, shown] @ np.linalg.solve(sigma[np.ix_(shown, shown)], x[row, shown])
        w[shown] += 0.03 * (y[row] - filled @ w) * x[row, shown]


def test_losses_alone_are_those_of_all_pairs(advice):
    problem = advice.plan.problem
    world, sigma = problem.world, problem.world.covariance
    readings = Readings.of(problem, problem.sets, "any")
    weights = np.array([0.3, -1.0, 0.2, 0.4])
    losses = []
    for shown in ([i, j] for i in range(4) for j in range(i)):
        fill = sigma[:, shown] @ np.linalg.inv(sigma[np.ix_(shown, shown)])
        read = np.zeros(4)
        read[shown] = fill.T @ weights
        gap = world.coefficients - read
        losses.append(gap @ sigma @ gap + world.noise_variance)
    found = looking._losses(readings, sigma, weights[None, :])
    assert found == pytest.approx([np.mean(losses)])
    assert readings.expert(sigma) <= found[0]


def test_expert_at_yes_or_no_is_found_by_an_optimiser_too():
    world = pr.World(TRUTH, ROOT @ ROOT.T / 6.0, outcome=pr.Binary(0.3, "logistic"))
    problem = pr.Problem(world, pr.DeltaRule(np.zeros(4), 0.1), pr.Exactly(2), risk=pr.LogLoss())
    readings = Readings.of(problem, problem.sets, "any")
    omega = np.diag(np.diag(world.covariance))
    reference = world.sample(256, rng=0).features
    truth = expit(world.base_score + reference @ TRUTH)

    def loss(weights):
        each = []
        for shown in problem.sets:
            score = world.base_score + reference[:, shown] @ weights[list(shown)]
            each.append(np.mean(np.logaddexp(0.0, score) - truth * score))
        return float(np.mean(each))

    assert readings.alone(omega, TRUTH)(TRUTH) == pytest.approx(loss(TRUTH))
    assert readings.expert(omega) == pytest.approx(minimize(loss, TRUTH, tol=1e-9).fun, rel=1e-6)


@pytest.mark.full
def test_yes_or_no_tables_are_simulated_too():
    data = table()
    data["y"] = ["yes" if y > 20.0 else "no" for y in data["y"]]
    found = advised(data, person=pr.DeltaRule(np.zeros(4), 0.2)).looking
    assert found.most_chosen == 40
    assert found.chosen is not None


def test_cases_until_half_are_there():
    reached = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]], dtype=bool)
    assert looking._needed(reached) == 3
    assert looking._needed(reached[2:3]) is None
    assert looking._quantile([3, None, 1, 2], 0.0) == 1
    assert looking._quantile([3, None, 1, 2], 0.9) is None


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("59 complete cases; at least 60 are needed", {"data": table(59)}),
        ("too many", {"data": None}),
    ],
)
def test_what_cannot_be_simulated_is_said(reason, options, monkeypatch):
    if reason == "too many":
        monkeypatch.setattr(looking, "_MOST_PRICES", 5)
        reason = "sets for 1 kind of person"
    advice = advised(**options)
    assert advice.looking is None
    (note,) = (n for n in advice.notes if "looking at the case" in n)
    assert reason in note
    assert advice_to_dict(advice)["looking"] is None


def test_time_limit_is_kept(advice):
    with pytest.raises(NotApplicable, match="time was up"):
        look(advice.plan, advice.estimate, deadline=Deadline(1e-9))


def test_it_can_be_left_out():
    advice = advised(looking=False)
    assert advice.looking is None
    assert not any("looking" in note for note in advice.notes)


def test_words_say_what_was_simulated(advice):
    found = advice.looking
    said = advice.headline[-1]
    assert said.startswith("Looking at the case: choosing cases and tests")
    assert f"after about {found.chosen} cases" in said
    assert f"Simulated with {found.people} people" in said
    for part in ("`preceptor teach`", "always showing" if advice.free is None else "takes"):
        assert part in said
    assert said in " ".join(advice.explain().split())
    assert advice_to_dict(advice)["looking"]["chosen"] == found.chosen


def test_words_for_trainees_whom_it_does_not_help(advice):
    from dataclasses import replace

    slow = Looking(None, None, None, None, 40, 200, 16, 1.0)
    said = replace(advice, looking=slow).headline[-1]
    assert "would not bring half of the trainees within 10% of an expert" in said
    assert "in 40 cases" in said
    assert "takes more than 200" in said
    unsure = Looking(30, 12, None, 150, 40, 200, 16, 1.0)
    said = replace(advice, looking=unsure).headline[-1]
    assert "after about 30 cases (12 to more than 40)" in said
    assert "takes 150" in said


def test_cases_with_gaps_are_not_used():
    data = table(150)
    data["t1"] = data["t1"].copy()
    data["t1"][:40] = np.nan
    pool = looking._complete_cases(advised(data, looking=False).estimate, 0)
    assert isinstance(pool, CasePool)
    assert len(pool) == 110
    assert np.all(np.isfinite(pool.values))
