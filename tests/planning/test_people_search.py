"""Plans for people of every kind and for crowds, through `solve`, `evaluate` and `verify`."""

from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor import simulation
from preceptor.model.evaluation import expected_costs
from preceptor.people.crowd import Crowd
from tests.people.examples import EXAMPLES, WORLD

KINDS = [kind for kind in EXAMPLES if kind not in ("by-showings", "crowd")]


def random_problem(draw):
    rng = np.random.default_rng(draw)
    truth, beliefs = rng.random(5), rng.random(5)
    world = pr.World.equicorrelated(truth, 0.8)
    return pr.Problem(world, pr.Learner(beliefs, pr.Geometric(1.05)), budget=2, discount=0.99)


def small_problem(person, **changes):
    return pr.Problem(WORLD, person, budget=1, discount=0.9, **changes)


def quickly(problem, **options):
    return pr.solve(problem, "search", max_kicks=2, time_limit=None, **options)


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", [12, None])
def test_every_kind_is_planned_for(kind, horizon):
    problem = small_problem(EXAMPLES[kind][0], horizon=horizon)
    plan = quickly(problem)
    fixed = pr.solve(problem, "stationary")
    assert plan.value == pytest.approx(pr.evaluate(problem, plan.policy), rel=1e-12)
    assert plan.lower_bound <= plan.value <= fixed.value * (1 + 1e-12)
    assert pr.Plan.from_json(plan.to_json()) == plan
    assert quickly(problem).policy == plan.policy


@pytest.mark.parametrize("kind", KINDS)
def test_methods_that_count_showings_refuse_other_people(kind):
    problem = small_problem(EXAMPLES[kind][0], horizon=5)
    for method in ("finite", "beam", "truncated", "lattice", "independent"):
        with pytest.raises(pr.NotApplicable, match="learn by showings") as refused:
            pr.solve(problem, method)
        assert "search" in str(refused.value)


def test_a_crowd_of_one_is_that_person():
    learner = EXAMPLES["delta-rule"][0]
    alone = quickly(small_problem(learner, horizon=12))
    crowd = quickly(small_problem(Crowd({"her": learner}), horizon=12))
    assert crowd.value == pytest.approx(alone.value, rel=1e-12)
    assert crowd.regrets.worst == pytest.approx(0.0, abs=1e-12)


def test_regrets_are_against_each_persons_own_plan():
    crowd = Crowd(
        {
            "by showings": (EXAMPLES["by-showings"][0], 0.3),
            "by outcomes": (EXAMPLES["delta-rule"][0], 0.7),
        }
    )
    problem = small_problem(crowd, horizon=10)
    plan = quickly(problem, objective="regret")
    regrets = plan.regrets
    assert regrets.people == ("by showings", "by outcomes")
    costs = expected_costs(problem, plan.policy)
    assert regrets.costs[0] == pytest.approx(costs, rel=1e-12)
    for name, person in crowd.people.items():
        own = quickly(small_problem(person, horizon=10)).value
        at = regrets.people.index(name)
        assert regrets.best[at] <= own * (1 + 1e-9)
        assert regrets[name] == pytest.approx(costs[at] / regrets.best[at] - 1.0)
    assert plan.value == pytest.approx(crowd.weights @ costs)
    assert np.all(regrets.bounds <= regrets.best)


@pytest.mark.full
def test_objectives_do_what_they_say():
    problem = random_problem(2)
    people = simulation.people_of(problem)
    crowd = Crowd({name: (people[name], 1.0) for name in ("paper", "least mean squares")})
    asked = problem.replace(learner=crowd, horizon=60)
    worst = quickly(asked, objective="regret").regrets
    mean = quickly(asked, objective="mean").regrets
    assert worst.worst <= mean.worst + 1e-6
    assert mean.mean <= worst.mean + 1e-6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"objective": "hope"}, "objective: 'hope', must be one of regret, mean, cvar"),
        ({"objective": "mean"}, "compares the people of a crowd, but the plan is for one person"),
    ],
)
def test_objectives_that_make_no_sense(options, said):
    problem = small_problem(EXAMPLES["delta-rule"][0], horizon=5)
    with pytest.raises(pr.InvalidInput, match=said):
        pr.solve(problem, **options)


def test_a_persons_risk_must_be_squared_error():
    with pytest.raises(pr.InvalidProblem, match=r"risk: Huber.*DeltaRule"):
        small_problem(EXAMPLES["delta-rule"][0], risk=pr.Huber(1.0))


def test_showings_before_mean_nothing_to_a_delta_rule():
    with pytest.raises(pr.InvalidProblem, match="does not count showings"):
        small_problem(EXAMPLES["delta-rule"][0], start=(1, 0, 0))


@pytest.mark.few(1)
@pytest.mark.parametrize("draw", [0, 1])
def test_people_by_showings_are_planned_for_as_well_as_certified_does(draw):
    problem = random_problem(draw)
    proven = pr.solve(problem, "search", max_kicks=5, time_limit=None)
    found = quickly(problem.replace(learner=Crowd({"paper": problem.learner})))
    assert found.value <= proven.value * 1.001


@pytest.mark.full
def test_who_forgets_is_kept_in_practice():
    problem = random_problem(0).replace(horizon=150)
    paper = pr.solve(problem, "search", max_kicks=5, time_limit=None).policy
    forgetful = problem.replace(learner=simulation.people_of(problem)["forgets"])
    own = pr.solve(forgetful, "search", max_kicks=0, time_limit=None)
    assert own.value < 0.92 * pr.evaluate(forgetful, paper)


@pytest.mark.full
def test_who_forgets_is_shown_a_word_over_and_over():
    # Three equal tests, one at a time: whichever is hidden fades.
    world = pr.World.equicorrelated([1.0, 1.0, 1.0], 0.3)
    person = pr.Forgetful([2.0, 2.0, 2.0], pr.Geometric(1.3), forgetting=0.05)
    forgetful = pr.Problem(world, person, pr.Exactly(1), discount=0.95)
    own = pr.solve(forgetful, "search", max_kicks=0, time_limit=None)
    assert isinstance(own.policy, pr.ExploreThenRepeat)
    first, word = own.policy.settles()
    assert own.value < pr.solve(forgetful, "stationary").value
    assert own.value <= pr.evaluate(forgetful, pr.ExploreThenCommit(first, word[0]))


def test_many_sets_are_narrowed_down():
    rng = np.random.default_rng(0)
    world = pr.World.equicorrelated(rng.random(30), 0.5)
    person = pr.DeltaRule(np.zeros(30), 0.05)
    problem = pr.Problem(world, person, budget=4, discount=0.8, horizon=6)
    plan = pr.solve(problem, "search", max_kicks=0, time_limit=None)
    assert "promising sets" in plan.notes[-1]
    assert plan.lower_bound <= plan.value
    assert len(plan.policy.schedule(6)[0]) <= 4


def test_a_rate_that_diverges_is_not_planned_into_infinity():
    person = pr.DeltaRule([0.0, 0.0, 0.0], rate=0.9)
    plan = quickly(pr.Problem(WORLD, person, budget=2, discount=0.95))
    assert np.isfinite(plan.value)


def test_a_plan_that_shows_nothing_is_played_too():
    """Whoever knows nothing and sees nothing is off by all there is, in every case."""
    person = pr.DeltaRule([0.0, 0.0], 0.1)
    world = pr.World([0.3, 0.2], np.eye(2), 1.0)
    plan = pr.solve(pr.Problem(world, person, 1, discount=1.0, horizon=3), "search", max_kicks=0)
    value = 3 * (1.0 + 0.3**2 + 0.2**2)
    nothing = replace(plan, policy=pr.Stationary(()), value=value, lower_bound=0.0)
    assert pr.verify(nothing).value_ok


def test_played_people_confirm_a_plan_and_find_a_false_one():
    problem = small_problem(EXAMPLES["delta-rule"][0], horizon=12)
    plan = quickly(problem)
    assert pr.verify(plan).ok
    cheaper = replace(plan, value=0.9 * plan.value, lower_bound=0.5 * plan.lower_bound)
    assert not pr.verify(cheaper).value_ok
    bolder = replace(plan, lower_bound=plan.value)
    assert not pr.verify(bolder).bound_ok


def test_certified_proves_plans_for_linear_people():
    pytest.importorskip("clarabel")
    problem = small_problem(EXAMPLES["delta-rule"][0])
    plan = pr.solve(problem, "certified", time_limit=20.0)
    assert plan.gap < 0.05
    assert any("semidefinite" in note for note in plan.notes)
    found = pr.verify(plan)
    assert found.ok
    assert found.independent
    other = replace(plan, problem=problem.replace(discount=0.89))
    assert not pr.verify(other).bound_ok


def test_certified_says_what_it_cannot_prove():
    problem = small_problem(EXAMPLES["bayesian"][0], horizon=6)
    plan = pr.solve(problem, "certified", time_limit=5.0)
    assert any("floor of every case" in note for note in plan.notes)
    with pytest.raises(pr.NotApplicable, match="not for a crowd"):
        pr.solve(small_problem(EXAMPLES["crowd"][0], horizon=6), "certified")


def two_people(rate):
    beliefs = [0.2, 1.3, 0.4]
    return Crowd({"d": pr.DeltaRule(beliefs, rate), "l": pr.Learner(beliefs, pr.Geometric(1.1))})


def test_who_diverges_whatever_is_shown_is_named():
    problem = pr.Problem(WORLD, two_people(5.0), pr.Exactly(1), discount=0.99)
    with pytest.raises(pr.InvalidProblem, match="d: errors grow without bound"):
        quickly(problem)


def test_who_diverges_unless_shown_nothing_is_spared():
    regrets = quickly(pr.Problem(WORLD, two_people(5.0), pr.AtMost(1), 0.9, 15)).regrets
    assert np.all(np.isfinite(regrets.costs[0]))


def test_somebody_who_costs_nothing_loses_nothing():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8, noise_variance=0.0)
    crowd = Crowd(
        {"knows": pr.NoLearning([1.0, 0.8]), "l": pr.Learner([0.2, 1.3], pr.Geometric(1.1))}
    )
    regrets = quickly(pr.Problem(world, crowd, 2, discount=0.9, horizon=10)).regrets
    assert regrets["knows"] == 0.0
    assert np.all(np.isfinite(regrets.table[0]))


def test_one_set_is_the_best_there_is():
    plan = quickly(pr.Problem(WORLD, two_people(0.1), pr.Listed([(0,)]), discount=0.9))
    assert plan.status is pr.Status.OPTIMAL


def test_nobody_who_does_not_learn_can_be_shown_better():
    plan = quickly(small_problem(EXAMPLES["no-learning"][0]))
    assert plan.gap == pytest.approx(0.0, abs=1e-9)


def test_regrets_that_were_changed_are_found_out():
    plan = quickly(small_problem(two_people(0.1), horizon=15))
    assert pr.verify(plan).ok
    regrets = plan.regrets
    half = np.array([0.5, 1.0])
    changed = {
        "costs": regrets.costs * half,
        "best": regrets.best * half,
        "weights": np.array([0.9, 0.1]),
        "people": ("d", "somebody else"),
    }
    for name, value in changed.items():
        forged = replace(plan, regrets=replace(regrets, **{name: value}))
        assert not pr.verify(forged).ok, name


@pytest.mark.full
def test_the_worst_regret_is_not_left_to_other_objectives():
    rng = np.random.default_rng(12)
    world, beliefs = pr.World.equicorrelated(rng.normal(size=4), 0.8), rng.normal(size=4)
    crowd = Crowd(
        {
            "L": (pr.Learner(beliefs, pr.Geometric(1.1)), 0.2),
            "D": (pr.DeltaRule(beliefs, 0.05), 0.5),
            "N": (pr.NoLearning(beliefs), 0.3),
        }
    )
    problem = pr.Problem(world, crowd, 2, discount=0.97, horizon=50)
    regret, cvar = (quickly(problem, objective=name).regrets for name in ("regret", "cvar"))
    assert regret.worst <= cvar.worst * 1.01
