"""Yes-or-no outcomes: links, pairs of normals and charges against integration and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import expit, ndtr

import preceptor as pr
from preceptor.model.outcomes import link_of
from preceptor.model.score_pairs import ScorePair, both_below
from tests.oracles import operating_curve
from tests.strategies import examples

LINKS = ["probit", "logistic"]
limits = st.one_of(st.floats(-4.0, 4.0), st.sampled_from([0.0, 1e-12, -1e-12]))


def world_of(rng, size=3, link="probit", prevalence=0.3):
    factor = rng.standard_normal((size, 2 * size))
    sigma = factor @ factor.T / (2 * size)
    return pr.World(rng.standard_normal(size), sigma, outcome=pr.Binary(prevalence, link))


def pair_of(world, shared, own, believed=None):
    base = world.base_score
    return ScorePair(
        world.outcome.from_score,
        base,
        world.score_variance,
        np.asarray(base if believed is None else believed),
        np.asarray(shared),
        np.asarray(own),
    )


def test_the_logistic_is_a_mixture_of_probits():
    link = link_of("logistic")
    score = np.linspace(-30.0, 30.0, 601)
    mixed = sum(w * ndtr(score / s) for w, s in zip(link.weights, link.scales, strict=True))
    assert_allclose(mixed, expit(score), atol=3e-12)
    assert_allclose(link.weights @ link.scales**2, math.pi**2 / 3, rtol=1e-10)
    assert_allclose(link.variance, math.pi**2 / 3)


@pytest.mark.parametrize("name", LINKS)
def test_links_and_their_inverses(name):
    link = link_of(name)
    chance = np.array([0.001, 0.2, 0.5, 0.9])
    assert_allclose(link.probability(link.score(chance)), chance)
    assert_allclose(np.exp(link.log_probability(link.score(chance))), chance)
    mean, sd = 0.7, 1.9
    by_hand, _ = integrate.quad(
        lambda z: stats.norm.pdf(z) * float(link.probability(mean + sd * z)), -10, 10
    )
    assert_allclose(link.mean_probability(mean, sd**2), by_hand, rtol=1e-9)


def test_probabilities_of_both_links_are_close_on_their_scales():
    score = np.linspace(-6, 6, 200)
    logistic, probit = link_of("logistic"), link_of("probit")
    off = logistic.probability(score * logistic.unit) - probit.probability(score)
    assert np.abs(off).max() <= 0.0095


@examples(60)
@given(limits, limits, st.floats(-0.999, 0.999))
def test_two_normals_below_their_limits(u, v, r):
    left = math.sqrt(1 - r * r)

    def weighed(x):
        return stats.norm.pdf(x) * ndtr((v - r * x) / left)

    middle = min(max(v / r if abs(r) > 1e-3 else 0.0, -9.0), u) if u > -9 else u
    wanted = sum(
        integrate.quad(weighed, a, b, epsabs=1e-13, limit=200)[0]
        for a, b in ((-9.0, middle), (middle, u))
    )
    assert_allclose(both_below(u, v, r), wanted, atol=2e-10)


def test_limits_that_are_never_or_always_passed():
    assert both_below(np.inf, 1.0, 0.5) == pytest.approx(ndtr(1.0))
    assert both_below(-np.inf, 1.0, 0.5) == 0.0
    assert both_below(0.0, 0.0, 0.6) == pytest.approx(0.25 + math.asin(0.6) / (2 * math.pi))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("prevalence", [0.02, 0.5, 0.8])
def test_cases_are_as_common_as_the_prevalence_says(link, prevalence):
    world = world_of(np.random.default_rng(1), link=link, prevalence=prevalence)
    cases = 200_000
    share = world.sample(cases, rng=5).outcomes.mean()
    assert abs(share - prevalence) < 4 * math.sqrt(prevalence * (1 - prevalence) / cases)
    link = world.outcome.from_score
    assert_allclose(
        link.mean_probability(world.base_score, world.score_variance), prevalence, rtol=1e-9
    )


def test_a_share_of_wrong_decisions_is_an_angle():
    """Half of the cases are yes, and nobody leans: arccos(r)/π."""
    world = world_of(np.random.default_rng(2), prevalence=0.5)
    total = math.sqrt(world.outcome_variance)
    for own, shared in ((1.0, 0.3), (0.2, 0.1), (4.0, -0.5)):
        pair = pair_of(world, shared, own)
        r = shared / (total * math.sqrt(own))
        assert_allclose(pr.Decision().expected(pair), math.acos(r) / math.pi, rtol=1e-12)


def closed_brier(world, pair):
    """The closed form for the probit, by pairs of normals."""
    total = math.sqrt(world.outcome_variance)
    own, shared, believed = pair.own, pair.shared, pair.believed
    spread = np.sqrt(1.0 + own)
    b = world.base_score / total
    return (
        ndtr(b)
        - 2 * both_below(b, believed / spread, shared / (total * spread))
        + both_below(believed / spread, believed / spread, own / (own + 1))
    )


@examples(40)
@given(st.integers(0, 10_000))
def test_the_brier_score_has_a_closed_form(seed):
    rng = np.random.default_rng(seed)
    world = world_of(rng, prevalence=float(rng.uniform(0.02, 0.98)))
    own = rng.uniform(0.01, 9.0, 5)
    shared = rng.uniform(-0.99, 0.99, 5) * np.sqrt(own * world.score_variance)
    pair = pair_of(world, shared, own, believed=rng.normal())
    assert_allclose(pr.Brier().expected(pair), closed_brier(world, pair), rtol=1e-10, atol=1e-13)


RISKS = [
    pr.Decision(),
    pr.Decision(5, 1),
    pr.Decision(1, 2, threshold=0.4, believed_prevalence=0.5),
    pr.Brier(),
    pr.Brier(believed_prevalence=0.2),
    pr.LogLoss(),
]


@pytest.mark.full
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("risk", RISKS, ids=lambda risk: repr(risk))
def test_expected_charges_are_those_of_simulated_cases(link, risk):
    """Closed forms against 200,000 cases, for every set, for two people: within 4 sigma."""
    rng = np.random.default_rng(RISKS.index(risk) + 100 * LINKS.index(link))
    for imputation in (0.0, 0.6) if link == "probit" else (0.3,):
        world = world_of(rng, link=link, prevalence=float(rng.uniform(0.1, 0.6)))
        person = pr.Learner(rng.standard_normal(3), pr.Geometric(1.2), imputation)
        problem = pr.Problem(world, person, budget=2, risk=risk)
        omega, errors = person.imputing_covariance(world), problem.initial_errors[None, :]
        cases = world.sample(200_000, rng=rng)
        believed = risk.believed_prevalence
        base = world.base_score
        if believed is not None:
            base = world.outcome.base_score(world.score_variance, believed)
        for shown in problem.sets:
            s = list(shown)
            weights = np.linalg.solve(omega[np.ix_(s, s)], omega[s] @ person.initial)
            scores = base + cases.features[:, s] @ weights
            answers = risk.answer(world.outcome.from_score, scores)
            charges = risk.charge(answers, cases.outcomes)
            error = charges.std() / math.sqrt(charges.size)
            expected = float(problem.oracle.loss_of(errors, shown)[0])
            assert abs(expected - charges.mean()) < 4.5 * error + 1e-12, shown


@pytest.mark.parametrize("link", LINKS)
def test_the_best_reader_is_the_best(link):
    """No threshold, no other weights and no other probabilities cost less."""
    rng = np.random.default_rng(3)
    world = world_of(rng, link=link, prevalence=0.3)
    link_used, known = world.outcome.from_score, np.array([0.6 * world.score_variance])
    best = ScorePair.best_reader(link_used, world.base_score, world.score_variance, known)
    for risk in (pr.Decision(), pr.Decision(4, 1), pr.Brier(), pr.LogLoss()):
        least = float(risk.best(best)[0])
        if risk.decides:
            for above in np.linspace(-4, 4, 41):
                misses, alarms = best.mistakes(np.array([above]))
                assert least <= risk.miss * misses + risk.false_alarm * alarms + 1e-12
        for scale in (0.3, 0.7, 1.0, 1.5):
            for base in (-1.0, 0.0, 0.5):
                pair = pair_of(world, scale * known, scale**2 * known, believed=base)
                assert least <= float(risk.expected(pair)[0]) + 1e-10


def test_small_effects_are_squared_errors():
    """E(y - Φ(p))² - E(y - Φ(t))² tends to φ(0)² E(t - p)² as scores become small."""
    rng = np.random.default_rng(4)
    sigma = np.eye(3) + 0.4
    truth, belief = rng.standard_normal(3), rng.standard_normal(3)
    wanted = None
    for size in (0.1, 0.01):
        number = pr.World(truth, sigma, noise_variance=0.0)
        yes_no = pr.World(size * truth, sigma, outcome=pr.Binary(0.5))
        person = pr.Learner(belief, pr.Geometric(1.1))
        small = pr.Learner(size * belief, pr.Geometric(1.1))
        linear = pr.Problem(number, person, budget=1)
        diagnosis = pr.Problem(yes_no, small, budget=1, risk=pr.Brier())
        squared = linear.oracle.losses(linear.initial_errors[None, :])[0]
        # exact sums, not the table: differences are as small as its error
        errors = diagnosis.initial_errors[None, :]
        brier = np.array(
            [
                float(diagnosis.risk.expected(diagnosis.oracle.pair_of(errors, shown))[0])
                for shown in diagnosis.sets
            ]
        )
        excess = (brier - brier[0]) / size**2 * 2 * math.pi
        off = np.abs(excess - (squared - squared[0])).max()
        assert wanted is None or off < wanted / 20
        wanted = off
    assert wanted < 2e-3


@pytest.mark.parametrize("link", LINKS)
def test_operating_curves_and_their_areas(link):
    rng = np.random.default_rng(5)
    world = world_of(rng, link=link, prevalence=0.35)
    own = 1.3
    shared = 0.7 * math.sqrt(own * world.score_variance)
    pair = pair_of(world, shared, own)
    rate, sensitivity = operating_curve(pair, 4001)
    assert rate[0] == pytest.approx(0.0, abs=1e-9)
    assert sensitivity[-1] == pytest.approx(1.0, abs=1e-9)
    area = np.trapezoid(sensitivity, rate)
    assert_allclose(pair.area(), area, atol=2e-5)
    # and by drawing pairs of cases: how often yes has the higher score
    root = np.linalg.cholesky([[world.score_variance, shared], [shared, own]])
    scores = rng.standard_normal((300_000, 2)) @ root.T
    chance = world.outcome.from_score.probability(world.base_score + scores[:, 0])
    yes = rng.random(300_000) < chance
    drawn = stats.mannwhitneyu(scores[yes, 1], scores[~yes, 1]).statistic
    drawn /= yes.sum() * (~yes).sum()
    assert abs(drawn - float(pair.area())) < 0.004


def test_what_cannot_be_is_refused():
    with pytest.raises(pr.InvalidProblem) as refused:
        pr.Binary(prevalence=1.0, link="cauchy")
    assert len(refused.value.faults) == 2
    with pytest.raises(pr.InvalidProblem) as refused:
        pr.Decision(miss=0.0, false_alarm=-1.0, threshold=2.0, believed_prevalence=0.0)
    assert len(refused.value.faults) == 4
    yes_no = pr.World([1.0], [[1.0]], outcome=pr.Binary(0.4))
    number = pr.World([1.0], [[1.0]])
    person = pr.Learner([0.0], pr.Geometric(1.1))
    with pytest.raises(pr.InvalidProblem, match="SquaredError charges numeric"):
        pr.Problem(yes_no, person, risk=pr.SquaredError())
    with pytest.raises(pr.InvalidProblem, match=r"Brier charges yes-or-no"):
        pr.Problem(number, person, risk=pr.Brier())
    with pytest.raises(pr.InvalidProblem, match="samples are for outcomes that are numbers"):
        pr.Problem(yes_no, person, loss=pr.Empirical(64))
    with pytest.raises(pr.InvalidProblem, match=r"noise_variance: 0\.5"):
        pr.World([1.0], [[1.0]], 0.5, outcome=pr.Binary(0.4))
    with pytest.raises(pr.InvalidProblem, match="needs Gaussian tests"):
        pr.World([1.0], [[1.0]], beta_shape=(2, 5), latent_correlation=[[1.0]],
                 outcome=pr.Binary(0.4))  # fmt: skip


@pytest.mark.parametrize("risk", RISKS, ids=lambda risk: repr(risk))
def test_files_lose_nothing(risk):
    world = pr.World.equicorrelated([1.0, 0.5], 0.3, outcome=pr.Binary(0.2, "logistic"))
    problem = pr.Problem(world, pr.Learner([0.0, 0.1], pr.Geometric(1.1)), risk=risk)
    assert pr.Problem.from_toml(problem.to_toml()) == problem
    assert pr.Problem.from_json(problem.to_json()) == problem
