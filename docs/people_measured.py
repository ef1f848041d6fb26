"""Problems, people, plans and costs behind the page `people.md`; `make_people.py` writes it.

Everything is seeded and limited by kicks, so results do not depend on run time. Problems have
names: A is `examples/diabetes.toml`, B0, B1, ... are draws at random, C is body fat. Costs are
discounted losses of 400 rounds, exact except for Bayesians, whose losses are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from body_fat import load_body_fat

import preceptor as pr
from preceptor import simulation
from preceptor._base.values import FloatArray
from preceptor.model.evaluation import expectations, expected_costs
from preceptor.planning.crowd_plans import (
    CrowdPlan,
    OwnPlans,
    own_plans,
    plan_for_crowd,
)
from preceptor.planning.price_search import ScheduleSearch, policy_of

EXAMPLE = Path(__file__).parents[1] / "examples" / "diabetes.toml"

ROUNDS = 400
BAYESIANS = 1_000  # who play each policy
KICKS = 5  # of every search, unless said

FIVE = ("paper", "least mean squares", "Bayesian", "forgets", "ignores correlation")
BAYESIAN = FIVE.index("Bayesian")

PAPER, FIXED, PREDICTIVE = "paper's plan", "best fixed set", "most predictive"
ROBUST_MEAN, ROBUST = "robust mean", "robust regret"
OTHERS = "robust regret for twelve others"


@cache
def problem(name: str) -> pr.Problem:
    """A, C, or B with the number of a draw; 400 rounds."""
    if name == "A":
        found = pr.Problem.load(EXAMPLE)
    elif name == "C":
        found = _body_fat()
    else:
        found = _random(int(name.removeprefix("B")))
    return found.replace(horizon=ROUNDS)


def _random(draw: int) -> pr.Problem:
    """Five strongly correlated tests, two shown; truth and beliefs drawn at random."""
    rng = np.random.default_rng(draw)
    truth, beliefs = rng.random(5), rng.random(5)
    world = pr.World.equicorrelated(truth, 0.8)
    return pr.Problem(world, pr.Learner(beliefs, pr.Geometric(1.05)), budget=2, discount=0.99)


def _body_fat() -> pr.Problem:
    """Three of thirteen tests for a novice, with the misprint of a height corrected."""
    cases = load_body_fat().frame
    cases.loc[41, "height"] = 69.5
    world = pr.fit_world(cases, "brozek", outcome="body fat, %").world
    novice = pr.Learner(np.zeros(world.size), pr.Geometric.from_half_life(14))
    return pr.Problem(world, novice, budget=3, discount=0.99)


# --- people ---


def five(name: str) -> dict[str, pr.Person]:
    """The five people of a problem, as in every table."""
    return simulation.people_of(problem(name))


# Two Bayesians, slow and fast: factors of the variance that they expect outcomes to have, and of
# their prior variance. The tables take the first; nothing says that it is the right one.
BAYESIAN_PAIRS = {
    "slow: 1.5 times the standard deviation, more certain": ((1.5**2, 0.33), (0.67**2, 3.0)),
    "slow: 1.5 times the variance, more certain": ((1.5, 0.33), (0.67, 3.0)),
    "slow: 0.67 times the variance, more certain": ((0.67, 0.33), (1.5, 3.0)),
}
USUAL_PAIR = next(iter(BAYESIAN_PAIRS))


def twelve_others(name: str, pair: str = USUAL_PAIR) -> dict[str, pr.Person]:
    """Slower and faster neighbours of the five; none of them is one of the five."""
    learner, people = problem(name).by_showings, five(name)
    delta, bayes = people["least mean squares"], people["Bayesian"]
    assert isinstance(delta, pr.DeltaRule)
    assert isinstance(bayes, pr.Bayesian)
    found: dict[str, pr.Person] = {}
    for pace, q, fading, (scatter, unsure) in zip(
        ("slow", "fast"), (0.6, 1.6), (0.013, 0.03), BAYESIAN_PAIRS[pair], strict=True
    ):
        paced = learner.faster(q)
        curves = paced.curves
        rate = min(q, 1.4) * delta.rate
        found |= {
            f"by showings, {pace}": paced,
            f"ignores correlation, {pace}": pr.Learner(learner.initial, curves, imputation=1.0),
            f"delta rule, {pace}": pr.DeltaRule(delta.initial, rate),
            f"delta rule that ignores correlation, {pace}": pr.DeltaRule(delta.initial, rate, 1.0),
            f"Bayesian, {pace}": pr.Bayesian(
                bayes.initial, unsure * bayes.prior_variance, scatter * bayes.noise_variance
            ),
            f"forgets, {pace}": pr.Forgetful(learner.initial, curves, fading),
        }
    return found


def strangers(name: str) -> dict[str, pr.Person]:
    """Kinds of people that are in none of the crowds above."""
    setting = problem(name)
    learner, delta = setting.by_showings, five(name)["least mean squares"]
    assert isinstance(delta, pr.DeltaRule)
    first, curves, rate = learner.initial, learner.curves, delta.rate
    surprise = 0.5 * float(np.sqrt(setting.world.outcome_variance))
    return {
        "delta rule, hidden weights too": pr.DeltaRule(first, rate, all_weights=True),
        "capped delta rule": pr.DeltaRule(first, rate, cap=surprise),
        "drifts back, 2 %": pr.Drifting(first, curves, 0.02),
        "learns hidden tests at half": pr.Indirect(first, curves, 0.5),
    }


def folding(name: str, share: float) -> pr.Person:
    """The paper's person, who folds a share of what is hidden into what is shown."""
    learner = problem(name).by_showings
    return pr.Folding(learner.initial, learner.curves, share)


def forgetful(name: str, forgetting: float) -> pr.Forgetful:
    """The paper's person, who forgets."""
    learner = problem(name).by_showings
    return pr.Forgetful(learner.initial, learner.curves, forgetting)


# --- plans ---


def asked(name: str, people: Mapping[str, pr.Person]) -> pr.Problem:
    """A problem with other people in it."""
    return problem(name).replace(learner=pr.Crowd(people))


def _search(setting: pr.Problem) -> ScheduleSearch:
    return ScheduleSearch(
        expectations(setting), ROUNDS, setting.discount, infinite=False, sets=len(setting.sets)
    )


def plan_alone(name: str, person: pr.Person) -> pr.Policy:
    """One person's own plan."""
    setting = asked(name, {"alone": person})
    (found,) = own_plans(_search(setting), KICKS).plans
    return policy_of(setting, found)


@cache
def own(name: str) -> OwnPlans:
    """Own plans of the five."""
    return own_plans(_search(asked(name, five(name))), KICKS)


@cache
def robust(name: str, objective: str = "regret") -> CrowdPlan:
    """The common plan for the five."""
    return _common(asked(name, five(name)), objective, own(name))


@cache
def robust_for_others(name: str, pair: str = USUAL_PAIR) -> pr.Policy:
    """The common plan for the twelve others."""
    setting = asked(name, twelve_others(name, pair))
    found = _common(setting, "regret", own_plans(_search(setting), KICKS))
    return policy_of(setting, found.plan)


def _common(setting: pr.Problem, objective: str, known: OwnPlans) -> CrowdPlan:
    return plan_for_crowd(_search(setting), known, objective=objective, max_kicks=KICKS)


@cache
def paper_plan(name: str) -> pr.Policy:
    """The plan for a person who learns by showings, as `search` finds it."""
    return pr.solve(problem(name), "search", max_kicks=KICKS, time_limit=None, seed=0).policy


def most_predictive(name: str) -> pr.Policy:
    """The most predictive tests, from the first round on."""
    return simulation.most_predictive(problem(name))


def best_fixed(name: str) -> pr.Policy:
    """The best set to show the paper's person throughout."""
    return pr.solve(problem(name), "stationary").policy


def policies(name: str, *, others: bool = True) -> dict[str, pr.Policy]:
    """Every policy that the tables of A, B and C compare."""
    setting = problem(name)
    found = {PAPER: paper_plan(name), FIXED: best_fixed(name), PREDICTIVE: most_predictive(name)}
    for who, plan in zip(FIVE[1:], own(name).plans[1:], strict=True):
        found[f"plan for {who}"] = policy_of(setting, plan)
    found[ROBUST_MEAN] = policy_of(setting, robust(name, "mean").plan)
    found[ROBUST] = policy_of(setting, robust(name).plan)
    if others:
        found[OTHERS] = robust_for_others(name)
    return found


def policies_in_short(name: str) -> dict[str, pr.Policy]:
    """The three that one would choose from without knowing the person."""
    return {
        PAPER: paper_plan(name),
        PREDICTIVE: most_predictive(name),
        ROBUST: policy_of(problem(name), robust(name).plan),
    }


# --- costs ---


def cost(name: str, person: pr.Person, policy: pr.Policy) -> float:
    """What a policy is expected to cost one person."""
    return float(expected_costs(asked(name, {"one": person}), policy)[0])


def costs_of_five(name: str, policy: pr.Policy) -> FloatArray:
    """What a policy costs each of the five."""
    found = expected_costs(asked(name, five(name)), policy)
    found[BAYESIAN] = _played_by_bayesians(name, tuple(policy.schedule(ROUNDS)))
    return found


@cache
def _played_by_bayesians(name: str, schedule: tuple[tuple[int, ...], ...]) -> float:
    # The same cases under every policy make differences far more precise.
    policy = pr.ExploreThenCommit(schedule, schedule[-1])
    return played(name, five(name)["Bayesian"], policy, BAYESIANS).total


def played(name: str, person: pr.Person, policy: pr.Policy, people: int) -> simulation.Rollout:
    """A policy played with simulated people, seed 0."""
    return simulation.rollout(problem(name), policy, ROUNDS, people, rng=0, human=person)


def any_bayesian(draw: int, factor: float) -> pr.Problem:
    """A random problem with a random Bayesian; every second one ignores correlations.

    They are as unsure of their beliefs as these are wrong, and expect outcomes to scatter as far
    as the best set leaves open, both up to a random factor.
    """
    rng = np.random.default_rng([24, draw])
    size = int(rng.integers(2, 7))
    truth, beliefs = rng.standard_normal(size), rng.standard_normal(size)
    noise = 10.0 ** rng.uniform(-3.0, 0.0)
    world = pr.World.equicorrelated(truth, rng.uniform(0.0, 0.9), noise)
    learner = pr.Learner(beliefs, pr.Geometric(1.1))
    setting = pr.Problem(world, learner, budget=int(rng.integers(1, min(size, 4))), discount=0.99)
    matched = simulation.people_of(setting)["Bayesian"]
    assert isinstance(matched, pr.Bayesian)
    unsure, scatter = factor ** rng.uniform(-1.0, 1.0, size=2)
    person = pr.Bayesian(
        beliefs, unsure * matched.prior_variance, scatter * matched.noise_variance,
        imputation=float(draw % 2),
    )  # fmt: skip
    return setting.replace(learner=person, horizon=int(rng.choice([20, 60, 200])))


def regrets(costs: FloatArray) -> FloatArray:
    """What each policy (rows) costs beyond the best one in the table, by person (columns)."""
    found: FloatArray = costs / costs.min(axis=0) - 1.0
    return found


def geometric_mean(ratios: Sequence[float] | FloatArray) -> float:
    """Of ratios of costs."""
    return float(np.exp(np.mean(np.log(ratios))))
