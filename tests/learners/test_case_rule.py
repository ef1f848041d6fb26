"""Prices of cases and sets: against `Person.moves`, Monte Carlo, and the paper's expected loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.learners.case_choice import CaseRule, case_from, choose_set
from preceptor.learners.case_rule import AloneLoss, CaseKnowledge, SetMaps, alone_loss
from preceptor.people.with_level import with_one

RNG = np.random.default_rng(3)
ROOT = RNG.normal(size=(4, 9))
SIGMA = ROOT @ ROOT.T / 9.0
WORLD = pr.World(RNG.normal(size=4), SIGMA, 0.4)
FIRST = 0.5 * RNG.normal(size=4)
PEOPLE = {
    "delta rule": pr.DeltaRule(FIRST, 0.08),
    "delta rule ignoring correlations": pr.DeltaRule(FIRST, 0.08, imputation=1.0),
    "delta rule of all weights": pr.DeltaRule(FIRST, 0.05, imputation=0.4, all_weights=True),
    "decaying delta rule": pr.DeltaRule(FIRST, 0.2, decay=0.5, rounds=3),
    "leaking delta rule": pr.DeltaRule(FIRST, 0.08, leak=0.05),
    "Bayesian": pr.Bayesian(FIRST, 0.5, 0.6),
    "by showings": pr.Learner(FIRST, pr.Geometric(1.2)),
    "power law": pr.Learner(FIRST, pr.PowerLaw(0.7), imputation=0.5),
    "forgetful": pr.Forgetful(FIRST, pr.Geometric(1.2), 0.05),
    "folding": pr.Folding(FIRST, pr.Geometric(1.2), 0.5),
    "drifting": pr.Drifting(FIRST, pr.Geometric(1.2)),
    "not learning": pr.NoLearning(FIRST),
    "delta rule with a level": pr.WithLevel(pr.DeltaRule([*FIRST, 0.6], 0.08)),
    "all weights with a level": pr.WithLevel(
        pr.DeltaRule([*FIRST, 0.6], 0.05, imputation=0.4, all_weights=True)
    ),
    "Bayesian with a level": pr.WithLevel(pr.Bayesian([*FIRST, 0.6], 0.5, 0.6)),
    "by showings with a level": pr.WithLevel(pr.Learner([*FIRST, 0.6], pr.Geometric(1.2))),
    "not learning but the level": pr.WithLevel(pr.NoLearning([*FIRST, 0.6]), rate=0.1),
}


def rule_for(person, *, spread=0.3, world=WORLD, alone="any", budget=2, rounds=0):
    problem = pr.Problem(world, person, budget, discount=0.9)
    tutor = pr.Tutor(problem, spread=spread, none_of_these=0.0, level=False)
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        x = rng.multivariate_normal(np.zeros(world.size), world.covariance)
        tutor = tutor.after([0, 2], x[[0, 2]], float(x[0]), float(world.coefficients @ x))
    return CaseRule(problem, tutor.bank, problem.sets, alone)


def inputs(person, filled):
    """What weights are multiplied with: a level is the weight of a constant."""
    return with_one(filled) if person.has_level else filled


def drawn_change(person, rule, results, outcomes, shown, draws, seed):
    """Change of the loss alone, one person at a time: everybody learns from their own case."""
    rng = np.random.default_rng(seed)
    view = rule._kinds[0]
    weights = rng.multivariate_normal(view.mean, view.covariance, size=draws)
    omega = person.imputing_covariance(WORLD)
    rows = list(shown)
    filled = results[:, rows] @ np.linalg.solve(omega[np.ix_(rows, rows)], omega[rows])
    seen = np.zeros((draws, 4), dtype=bool)
    seen[:, rows] = True
    state = view.follower.state
    if isinstance(person, pr.DeltaRule):
        learned = person.learn(WORLD, person.at_weights(state, weights), filled, seen, outcomes)
        after = learned.weights
    else:
        turn, push = person.moves(WORLD, state, filled, seen, outcomes)
        after = np.squeeze(turn @ weights[..., None], -1) + push

    def alone(w):
        return np.sum((w @ view.alone.hessian) * w, axis=1) - 2.0 * w @ view.alone.slope

    error = outcomes - np.sum(inputs(person, filled) * weights, axis=1)
    return alone(after) - alone(weights), error**2


@pytest.mark.parametrize("name", PEOPLE)
def test_prices_of_known_cases_are_those_of_moves(name):
    person = PEOPLE[name]
    rule = rule_for(person)
    rng = np.random.default_rng(1)
    x = rng.multivariate_normal(np.zeros(4), SIGMA, size=5)
    y = rng.normal(size=5)
    now, change = rule.of_pool(x, y, None)
    view = rule._kinds[0]
    for s, shown in enumerate(rule.sets):
        rows = list(shown)
        omega = person.imputing_covariance(WORLD)
        seen = np.zeros(4, dtype=bool)
        seen[rows] = True
        for c in range(5):
            filled = np.zeros(4)
            if rows:
                filled = x[c, rows] @ np.linalg.solve(omega[np.ix_(rows, rows)], omega[rows])
            state = person.at_weights(view.follower.state, view.mean)
            turn, push = person.moves(WORLD, state, filled, seen, np.asarray(y[c]))
            after, spread = turn @ view.mean + push, turn @ view.covariance @ turn.T
            expected = view.alone(after, spread) - view.alone(view.mean, view.covariance)
            assert change[c, s] == pytest.approx(expected, abs=1e-12)
            x_in = inputs(person, filled)
            answer = (y[c] - x_in @ view.mean) ** 2 + x_in @ view.covariance @ x_in
            assert now[c, s] == pytest.approx(answer, abs=1e-12)


@pytest.mark.few(12)
@pytest.mark.parametrize("known", [(), (1,), (0, 2), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", PEOPLE)
def test_prices_of_a_live_case_are_averages_over_what_is_not_known(name, known):
    person = PEOPLE[name]
    rule = rule_for(person)
    case = np.full(4, np.nan)
    case[list(known)] = np.array([0.9, -0.4, 1.3, 0.2])[list(known)]
    now, change = rule.of_case(case)
    draws, rng = 60_000, np.random.default_rng(2)
    facts = CaseKnowledge.of(WORLD, case)
    x = rng.multivariate_normal(facts.mean, facts.covariance, size=draws, method="eigh")
    y = x @ WORLD.coefficients + 0.4**0.5 * rng.normal(size=draws)
    # Without a closed form, 32 draws stand for the case; elsewhere only our own draws are noisy.
    within = getattr(person, "person", person)
    closed = isinstance(within, pr.DeltaRule) and not within.leak
    closed |= not person.learns_from_outcomes or (len(known) == 4 and name != "leaking delta rule")
    for s in (3, 7, 10):
        changes, errors = drawn_change(person, rule, x, y, rule.sets[s], draws, s)
        margin = 4.5 * changes.std() / draws**0.5 + 1e-12
        rough = 0.0 if closed else 0.6 * abs(changes).mean()
        assert abs(change[0, s] - changes.mean()) < margin + rough, rule.sets[s]
        assert abs(now[0, s] - errors.mean()) < 4.5 * errors.std() / draws**0.5


def test_with_nothing_known_the_error_now_is_the_expected_loss_of_the_paper():
    for imputation in (0.0, 0.5, 1.0):
        person = pr.Learner(FIRST, pr.Geometric(1.1), imputation)
        rule = rule_for(person, spread=0.0)
        problem = pr.Problem(WORLD, person, 2, discount=0.9)
        errors = WORLD.coefficients - FIRST
        assert_allclose(
            rule.of_case(np.full(4, np.nan)).now[0], problem.oracle.losses(errors[None, :])[0]
        )


@pytest.mark.parametrize("known", [(0,), (1, 3)])
def test_prices_average_over_what_becomes_known(known):
    """The tower rule: known results, averaged over their distribution, are as good as none."""
    rule = rule_for(PEOPLE["delta rule"])
    blind = rule.of_case(np.full(4, np.nan))
    rows = list(known)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    weights = weights / weights.sum()
    root = np.linalg.cholesky(SIGMA[np.ix_(rows, rows)])
    grids = np.stack(np.meshgrid(*[nodes] * len(rows), indexing="ij"), -1).reshape(-1, len(rows))
    shares = np.prod(
        np.stack(np.meshgrid(*[weights] * len(rows), indexing="ij"), -1).reshape(-1, len(rows)), 1
    )
    now, change = np.zeros((2, len(rule.sets)))
    for z, share in zip(grids, shares, strict=True):
        case = np.full(4, np.nan)
        case[rows] = root @ z
        found = rule.of_case(case)
        now += share * found.now[0]
        change += share * found.change[0]
    assert_allclose(now, blind.now[0], rtol=1e-10)
    assert_allclose(change, blind.change[0], rtol=1e-9, atol=1e-12)


def test_alone_is_the_error_of_a_person_who_reads_all_sets_alike():
    person = pr.DeltaRule(FIRST, 0.05, imputation=0.7)
    problem = pr.Problem(WORLD, person, pr.Exactly(2))
    maps = SetMaps.of(person.imputing_covariance(WORLD), problem.sets)
    alone = alone_loss(WORLD, maps, np.full(6, 1 / 6))
    losses = pr.Problem(WORLD, pr.Learner(FIRST, pr.OneShot(), 0.7), pr.Exactly(2)).oracle.losses(
        (WORLD.coefficients - FIRST)[None, :]
    )[0]
    assert alone(FIRST) == pytest.approx(losses.mean())
    assert alone.best <= alone(WORLD.coefficients) + 1e-12
    assert isinstance(alone, AloneLoss)


def test_only_this_decision_and_only_teaching():
    rule = rule_for(PEOPLE["delta rule"], budget=1)
    case = case_from(WORLD, np.array([2.0, -1.0, 0.5, 0.1]))
    prices = rule.of_case(case)
    shown = [s for s in range(len(rule.sets)) if rule.sets[s]]
    now = choose_set(rule, case, 0.0)
    assert now.shown == rule.sets[min(shown, key=lambda s: prices.now[0, s])]
    teach = choose_set(rule, case, np.inf)
    assert teach.shown == rule.sets[min(shown, key=lambda s: prices.change[0, s])]
    assert teach.alone_after <= now.alone_after
    assert now.now <= teach.now


def test_filters_follow_into_the_rule():
    fresh, later = (rule_for(PEOPLE["by showings"], rounds=r) for r in (0, 30))
    assert later.before < fresh.before
    assert later.expert == pytest.approx(fresh.expert)
