"""How people answer yes-or-no questions, and what yes and no do to their weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtr
from scipy.stats import norm

import preceptor as pr
from preceptor.people.human import Sessions, answer_one_by_one
from preceptor.simulation.checking import check_human
from preceptor.simulation.rollouts import rollout
from tests.people.examples import EVERYBODY, INITIAL, NAMES, YES_NO, YES_NO_RISKS

SETS = ((0, 1), (2,), (), (0, 1, 2), (1, 2), (0,))
PROBIT = YES_NO["probit"]
everybody = pytest.mark.parametrize("person", EVERYBODY, ids=NAMES)
links = pytest.mark.parametrize("link", YES_NO)


def sessions_of(world, people, rounds, seed=3):
    rng = np.random.default_rng(seed)
    which = rng.integers(len(SETS), size=(people, rounds))
    cases = world.sample(people * rounds, rng)
    features = cases.features.reshape(people, rounds, world.size)
    whole = type(cases)(features, cases.outcomes.reshape(people, rounds))
    return Sessions.hiding(SETS, which, whole)


@pytest.mark.few(20)
@everybody
@links
def test_everybody_keeps_to_the_protocol(person, link):
    world = YES_NO[link]
    risk = pr.Brier(believed_prevalence=0.45)
    check_human(lambda: person.acting(world, response_noise=0.1, risk=risk), world)


@everybody
def test_one_by_one_and_many_at_once_agree(person):
    sessions = sessions_of(PROBIT, 4, 12)
    for risk in (pr.Decision(2.0, 1.0), pr.LogLoss()):
        acting = person.acting(PROBIT, response_noise=0.3, risk=risk)
        rngs = [[np.random.default_rng(i) for i in range(4)] for _ in range(2)]
        together = acting.predict_many(sessions, rngs[0])
        assert_allclose(together, answer_one_by_one(acting, sessions, rngs[1]), atol=1e-11)
        assert np.all((together >= 0.0) & (together <= 1.0))


def test_answers_are_what_the_score_says():
    person, values = pr.NoLearning(INITIAL, 1.0), np.array([0.7, -1.1])
    score = PROBIT.base_score + 0.2 * 0.7 - 1.3 * 1.1
    assert person.acting(PROBIT, risk=pr.Brier()).predict((0, 1), values) == pytest.approx(
        ndtr(score)
    )
    believed = pr.Brier(believed_prevalence=0.6)
    other = PROBIT.outcome.base_score(PROBIT.score_variance, 0.6) - PROBIT.base_score
    answer = person.acting(PROBIT, risk=believed).predict((0, 1), values)
    assert answer == pytest.approx(ndtr(score + other))
    logistic = YES_NO["logistic"]
    answer = person.acting(logistic, risk=pr.LogLoss()).predict((0, 1), values)
    assert answer == pytest.approx(expit(score - PROBIT.base_score + logistic.base_score))
    just_above = ndtr(score) - 1e-9
    for threshold, said in ((just_above, 1.0), (just_above + 2e-9, 0.0)):
        decides = person.acting(PROBIT, risk=pr.Decision(threshold=threshold))
        assert decides.predict((0, 1), values) == said
    # Left out, people decide by the more likely outcome.
    assert person.acting(PROBIT).predict((0, 1), values) == float(score > 0.0)


def test_slips_are_added_to_the_score():
    person = pr.NoLearning(INITIAL)
    sessions = sessions_of(PROBIT, 400, 20)
    rngs = [[np.random.default_rng(i) for i in range(400)] for _ in range(2)]
    plain = person.acting(PROBIT, risk=pr.Brier()).predict_many(sessions, rngs[0])
    slipped = person.acting(PROBIT, None, 0.25, pr.Brier()).predict_many(sessions, rngs[1])
    slips = norm.ppf(slipped) - norm.ppf(plain)
    assert slips.std() == pytest.approx(0.25, rel=0.05)
    assert abs(slips.mean()) < 4 * 0.25 / np.sqrt(slips.size)


def test_a_risk_for_numbers_is_refused():
    with pytest.raises(pr.InvalidProblem, match="use Decision"):
        pr.NoLearning(INITIAL).acting(PROBIT, risk=pr.SquaredError())


@links
def test_the_delta_rule_is_logistic_regression_by_gradient_steps(link):
    world = YES_NO[link]
    chance = ndtr if link == "probit" else expit
    rng = np.random.default_rng(1)
    acting = pr.DeltaRule(INITIAL, 0.3, 1.0).acting(world)
    weights = np.array(INITIAL)
    for _ in range(40):
        case = world.sample(1, rng)
        shown = SETS[int(rng.integers(len(SETS)))]
        row = np.zeros(3)
        row[list(shown)] = case.features[0, list(shown)]
        outcome = float(case.outcomes[0])
        weights = weights + 0.3 * (outcome - chance(world.base_score + weights @ row)) * row
        acting.feedback(shown, case.features[0, list(shown)], outcome)
        assert_allclose(acting.weights, weights, atol=1e-12)


def test_the_delta_rule_steps_as_scikit_learn_does():
    linear_model = pytest.importorskip("sklearn.linear_model")
    world = pr.World([1.0, -0.5], np.eye(2), outcome=pr.Binary(0.5, "logistic"))
    model = linear_model.SGDClassifier(
        loss="log_loss", penalty=None, learning_rate="constant", eta0=0.2, fit_intercept=False
    )
    acting = pr.DeltaRule([0.0, 0.0], 0.2).acting(world)
    cases = world.sample(60, rng=5)
    for features, outcome in zip(cases.features, cases.outcomes, strict=True):
        model.partial_fit(features[None, :], [int(outcome)], classes=[0, 1])
        acting.feedback((0, 1), features, float(outcome))
        assert_allclose(acting.weights, model.coef_[0], atol=1e-10)


@links
@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_a_bayesian_keeps_the_moments_of_the_posterior(link, outcome):
    """One test: the posterior by brute force on a fine grid."""
    world = pr.World([0.8], [[1.3]], outcome=pr.Binary(0.2, link))
    acting = pr.Bayesian([0.4], 0.9, 1.7).acting(world)
    acting.feedback((0,), np.array([1.5]), outcome)
    grid = np.linspace(-9.0, 9.0, 40_001)
    unit = world.outcome.from_score
    scatter = np.sqrt(1.7 * unit.unit**2 / unit.variance)
    yes = ndtr((world.base_score + 1.5 * grid) / scatter)
    density = norm.pdf(grid, 0.4, np.sqrt(0.9)) * (yes if outcome else 1.0 - yes)
    density /= density.sum()
    mean = density @ grid
    assert_allclose(acting.weights, [mean], atol=1e-7)
    assert_allclose(acting._state.covariance, [[density @ (grid - mean) ** 2]], atol=1e-7)


@pytest.mark.parametrize(
    "person",
    [
        pr.DeltaRule(INITIAL, 0.2, 0.5, leak=0.1),
        pr.DeltaRule(INITIAL, 0.2, cap=0.4, all_weights=True),
        pr.Bayesian(INITIAL, 0.7, 1.5, drift=0.01),
    ],
    ids=["delta rule", "capped", "Bayesian"],
)
@links
def test_given_the_record_the_map_touches_what_is_learned(person, link):
    world, rng = YES_NO[link], np.random.default_rng(1)
    state = person.fresh(world, (4,), None)
    for _ in range(8):
        seen = rng.standard_normal((4, 3)), rng.random((4, 3)) < 0.5, 1.0 * (rng.random(4) < 0.5)
        before = person.weights_of(world, state)
        turn, push = person.moves(world, state, *seen)
        after = person.learn(world, state, *seen)
        touched = np.einsum("...ij,...j->...i", turn, before) + push
        assert_allclose(touched, person.weights_of(world, after), atol=1e-12)
        name = state._fields[0]
        for i, step in enumerate(1e-6 * np.eye(3)):
            up, down = (
                person.weights_of(
                    world, person.learn(world, state._replace(**{name: before + d}), *seen)
                )
                for d in (step, -step)
            )
            assert_allclose((up - down) / 2e-6, turn[..., i], atol=1e-6)
        state = after


@pytest.mark.few(1)
@pytest.mark.parametrize("name", YES_NO_RISKS)
def test_rollouts_charge_answers(name):
    risk = YES_NO_RISKS[name]
    problem = pr.Problem(
        PROBIT, pr.Learner(INITIAL, pr.Geometric(1.2)), pr.AtMost(2, price=0.01), horizon=8,
        risk=risk,
    )  # fmt: skip
    played = rollout(problem, pr.Stationary((0, 2)), rounds=8, people=3_000, rng=2)
    charged = risk.charge(played.predictions, played.sessions.outcomes) + 0.02
    assert_allclose(played.losses, charged)
    exact = pr.evaluate(problem, pr.Stationary((0, 2)))
    assert abs(played.total - exact) < 4.0 * played.total_error


def test_answers_beyond_a_probability_are_reported():
    class Loud:
        def reset(self, rng=None): ...
        def predict(self, shown, values):
            return 1.5

        def feedback(self, shown, values, outcome): ...

    problem = pr.Problem(PROBIT, pr.NoLearning(INITIAL), 1, horizon=3)
    with pytest.raises(pr.InvalidInput, match=r"Loud answered 1\.5 in round 0 of person 1"):
        rollout(problem, pr.Stationary((0,)), rounds=3, people=2, rng=0, human=Loud())
