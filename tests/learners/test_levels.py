"""People who learn only the level of outcomes are told from people who learn weights."""

from __future__ import annotations

import numpy as np
import pytest

import preceptor as pr
from preceptor.learners.case_choice import CaseRule
from preceptor.learners.case_rule import alone_log_loss
from preceptor.learners.weighing import weigh
from preceptor.simulation.rollouts import rollout
from tests.learners.test_yes_no import world_of

WORLD = world_of()
FEW = ["none", "level only", "geometric", "delta rule"]
WEIGHTS = [0.5, 0.2, -0.2]


def log_of(person, risk, rounds, seed, scatter=0.3):
    problem = pr.Problem(WORLD, person, budget=2, horizon=rounds, risk=risk)
    sets = [(0, 1), (0, 2), (1, 2)]
    order = [sets[i] for i in np.random.default_rng(seed).integers(3, size=rounds)]
    human = person.acting(WORLD, response_noise=scatter, risk=risk)
    policy = pr.ExploreThenCommit(order, sets[0])
    return rollout(problem, policy, rounds, people=1, rng=seed, human=human).log


def only_level(rate=0.4, level=-1.2):
    return pr.WithLevel(pr.NoLearning([*WEIGHTS, level]), rate=rate)


def found(person, risk, rounds=200, people=3, **options):
    """Mean probabilities of families over some simulated people."""
    shares = [
        weigh(
            WORLD, log_of(person, risk, rounds, seed), families=FEW, default=WEIGHTS, dials=[0.0],
            **options,
        ).families
        for seed in range(people)
    ]  # fmt: skip
    return {name: np.mean([each[name] for each in shares]) for name in shares[0]}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("risk", "rounds"), [(pr.Brier(), 100), (pr.Decision(), 250), (pr.Decision(3.0, 1.0), 250)]
)
def test_learning_of_the_level_is_told_from_learning_of_weights(risk, rounds):
    above = risk.yes_above if isinstance(risk, pr.Decision) else 0.5
    shares = found(only_level(), risk, rounds, yes_above=above)
    assert shares["level only"] > 0.8
    constant = found(pr.NoLearning(WEIGHTS), risk, rounds, people=2, yes_above=above)
    assert constant["level only"] < 0.3


def test_a_tutor_with_the_hypotheses_of_the_evidence_gives_its_probabilities():
    log = log_of(only_level(), pr.Brier(), 60, seed=1)
    found = weigh(WORLD, log, families=["none", "level only", "geometric"], dials=[0.0])
    problem = pr.Problem(WORLD, found.crowd(), budget=2, risk=pr.Brier())
    tutor = pr.Tutor(problem, process_noise=0.0).through(log)
    share = sum(s for name, s in tutor.kinds.items() if name.startswith("level only"))
    # The filter linearises the chance of yes at its mean, the evidence at the answer itself.
    assert share == pytest.approx(found.families["level only"], abs=0.02)


def test_a_tutor_follows_the_level_of_a_person():
    """Filtered from answers, the level is where the simulated person has it."""
    first, rate = np.array([*WEIGHTS, -1.2]), 0.3
    person = pr.WithLevel(pr.DeltaRule(first, rate))
    log = log_of(person, pr.Brier(), 40, seed=3, scatter=0.1)
    acting = person.acting(WORLD, risk=pr.Brier())
    for t in range(40):
        shown = np.flatnonzero(log.shown[t])
        acting.feedback(tuple(shown.tolist()), log.values[t, shown], log.outcome[t])
    known = pr.WithLevel(pr.DeltaRule([*WEIGHTS, 0.0], rate))
    tutor = pr.Tutor(pr.Problem(WORLD, known, budget=2, risk=pr.Brier()), none_of_these=0.0)
    tutor = tutor.through(log)
    mean, covariance = tutor.bank.posterior_moving(0)
    assert abs(mean[-1] - acting.level) < 4.0 * np.sqrt(covariance[-1, -1]) + 0.1
    assert tutor.present_problem().learner.level == pytest.approx(mean[-1])
    # Teaching prices the level too: with a wrong one, the loss alone is larger than without.
    rule = CaseRule(tutor.problem, tutor.bank, tutor.problem.sets, "any")
    view = rule._kinds[0]
    off = view.mean + np.array([0.0, 0.0, 0.0, 1.0])
    loss = alone_log_loss(WORLD, view.maps, np.ones(len(rule.sets)) / len(rule.sets), off)
    assert loss(off) > view.alone(view.mean)


@pytest.mark.parametrize("link", ["probit", "logistic"])
def test_the_error_now_of_a_yes_no_answer_counts_the_level(link):
    world = world_of(link)
    person = pr.WithLevel(pr.DeltaRule([*WEIGHTS, -0.8], 0.2))
    problem = pr.Problem(world, person, pr.Exactly(2), 0.99, risk=pr.LogLoss())
    tutor = pr.Tutor(problem, spread=0.0, level=False, none_of_these=0.0)
    rule = CaseRule(problem, tutor.bank, problem.sets, "any")
    x = world.sample(1, rng=5).features[0]
    now = rule.of_case(x).now[0]
    acting = person.acting(world, risk=pr.Brier())
    chance = world.outcome.from_score.probability(world.base_score + x @ world.coefficients)
    for s, shown in enumerate(rule.sets):
        said = acting.predict(shown, x[list(shown)])
        assert now[s] == pytest.approx((chance - said) ** 2 + chance * (1.0 - chance), abs=1e-9)
    # And what a case teaches: the step of the delta rule, in the expansion of the loss alone.
    view, outcome = rule._kinds[0], np.ones(1)
    change = rule.of_pool(x[None], outcome, None).change[0]
    for s, shown in enumerate(rule.sets):
        human = person.acting(world)
        human.feedback(shown, x[list(shown)], 1.0)
        after = np.append(human.weights, human.level)
        assert change[s] == pytest.approx(view.alone(after) - view.alone(view.mean), abs=1e-9)
