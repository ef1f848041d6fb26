"""Training with chosen cases: what is guaranteed, what is gained, and whom it could harm."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import norm

import preceptor as pr
from preceptor.learners import CasePool, Plausibility, tutored
from preceptor.learners.case_choice import CaseRule, choose_case, choose_set
from preceptor.learners.case_rule import CaseKnowledge
from preceptor.simulation import ExemplarLearner, RandomOrder

RNG = np.random.default_rng(5)
ROOT = RNG.normal(size=(5, 9))
SIGMA = ROOT @ ROOT.T / 9.0
WORLD = pr.World(RNG.normal(size=5), SIGMA, 0.5)
CASES = CasePool(*WORLD.sample(80, rng=1))
ZERO = np.zeros(5)
EVERY_CASE = Plausibility(central=1.0, balance=0.0, considered=None)
RATE = 0.06


def tutor_for(person, **options):
    problem = pr.Problem(WORLD, person, pr.Exactly(2), discount=0.99)
    usual = {"spread": 0.5, "level": False, "none_of_these": 0.0, "tau": np.inf}
    return pr.Tutor(problem, **usual | options)


def rule_of(tutor):
    return CaseRule(tutor.problem, tutor.bank, tutor.problem.sets, "any")


def people(kappa, count=4):
    for who in range(count):
        first = 0.5 * np.random.default_rng(who).normal(size=5)
        yield who, pr.DeltaRule(first, RATE, imputation=kappa).acting(WORLD)


def losses_alone(run):
    loss = rule_of(run.tutor)._kinds[0].alone
    return np.array([loss(each) / loss.best for each in run.weights])


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_seeing_the_case_teaches_faster_and_choosing_it_faster_still(kappa):
    tutor = tutor_for(pr.DeltaRule(ZERO, RATE, imputation=kappa), plausible=EVERY_CASE)
    sets = RandomOrder.of(tutor.problem)
    left = {"random": [], "case": [], "pool": []}
    for who, human in people(kappa):
        drawn = sets.schedule_for(15, np.random.default_rng(who))
        for looks, found in left.items():
            options = {"schedule": drawn} if looks == "random" else {"looks": looks}
            run = tutored(tutor, human, 15, who, response_noise=0.6, cases=CASES, **options)
            found.append(losses_alone(run)[-1] - 1.0)
    random, case, pool = (np.mean(left[name]) for name in ("random", "case", "pool"))
    assert pool < case < random
    assert pool < 0.5 * random


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_no_policy_lowers_the_expected_loss_alone_more_in_one_round(kappa):
    """Stepwise dominance: from the same record, the choice is the least of what others average."""
    tutor = tutor_for(pr.DeltaRule(ZERO, RATE, imputation=kappa), plausible=EVERY_CASE)
    _, human = next(people(kappa))
    for rounds in (0, 4):
        rule = rule_of(tutored(tutor, human, rounds, 0, looks="pool", cases=CASES).tutor)
        change = rule.of_pool(*CASES.in_world(WORLD), None).change
        best = choose_case(rule, CASES, np.inf, EVERY_CASE, [], [])
        assert best.alone_after - best.alone_before == pytest.approx(change.min())
        # One set for all cases is what a blind policy does, on average over the cases.
        assert change.min(axis=1).mean() <= change.mean(axis=0).min()
        assert change.min() <= change.min(axis=1).mean()
        for case in CASES.values[:5]:
            found = choose_set(rule, case, np.inf)
            offered = rule.of_case(case).change[0]
            assert found.alone_after - found.alone_before <= offered.mean()


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_a_menu_with_a_round_that_teaches_nothing_never_goes_backward(kappa):
    """Showing nothing is allowed where tests have prices, and changes no weight of theirs."""
    person = pr.DeltaRule(np.array([1.0, -1.0, 0.5, 2.0, 0.0]), RATE, imputation=kappa)
    problem = pr.Problem(WORLD, person, pr.AtMost(2, price=[0.01] * 5), discount=0.99)
    tutor = pr.Tutor(problem, spread=0.5, level=False, none_of_these=0.0)
    rule = rule_of(tutor)
    nothing = rule.sets.index(())
    kept = 0
    for case in CASES.values[:30]:
        assert rule.of_case(case).change[0, nothing] == pytest.approx(0.0, abs=1e-12)
        found = choose_set(rule, case, np.inf)
        assert found.alone_after <= found.alone_before + 1e-12
        kept += found.shown == ()
    assert kept < 30


def test_larger_tau_gives_up_some_of_this_answer_for_what_remains():
    rule = rule_of(tutor_for(pr.DeltaRule(ZERO, RATE)))
    for case in CASES.values[:10]:
        found = [choose_set(rule, case, tau) for tau in (0.0, 1.0, 10.0, 100.0, np.inf)]
        assert np.all(np.diff([each.now for each in found]) >= -1e-12)
        assert np.all(np.diff([each.alone_after for each in found]) <= 1e-12)


def test_cases_come_once_and_not_from_the_edges():
    tutor = tutor_for(pr.DeltaRule(ZERO, RATE))
    run = tutored(tutor, next(people(0.0))[1], 30, 0, looks="pool", cases=CASES)
    used = [entry.case for entry in run.tutor.record]
    assert len(set(used)) == 30
    distance = np.sum(CASES.values * np.linalg.solve(SIGMA, CASES.values.T).T, axis=1)
    assert distance[used].max() <= np.quantile(distance, 0.9)
    residual = np.abs(CASES.outcomes - CASES.values @ WORLD.coefficients)
    assert residual[used].max() <= np.quantile(residual, 0.9)


def test_balance_keeps_outcomes_near_their_mean_for_people_who_remember_cases():
    """Without balance the first cases share a sign, and a memory believes all of them."""
    away, errors = {}, {}
    test = WORLD.sample(200, rng=9)
    for balance in (0.0, 0.5):
        plausible = Plausibility(balance=balance)
        tutor = tutor_for(pr.DeltaRule(ZERO, RATE), plausible=plausible)
        means, lost = [], []
        for seed in range(4):
            human = ExemplarLearner(WORLD, 0.7)
            run = tutored(tutor, human, 8, seed, response_noise=0.6, looks="pool", cases=CASES)
            told = [entry.outcome for entry in run.tutor.record]
            means.append(np.mean(told))
            for shown in ((0, 1), (2, 4)):
                answers = human.predict_cases(shown, test.features[:, shown])
                lost.append(np.mean((test.outcomes - answers) ** 2))
        away[balance], errors[balance] = np.sqrt(np.mean(np.square(means))), np.mean(lost)
    assert away[0.5] < 0.7 * away[0.0]
    assert errors[0.5] < errors[0.0]


@pytest.mark.few(1)
@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_prices_of_yes_no_cases_rank_like_the_real_log_loss(kappa, link):
    scale = 1.7 if link == "logistic" else 1.0
    world = pr.World(scale * WORLD.coefficients, SIGMA, outcome=pr.Binary(0.4, link))
    rng = np.random.default_rng(2)
    person = pr.DeltaRule(0.4 * rng.normal(size=5), 0.2, imputation=kappa)
    problem = pr.Problem(world, person, pr.Exactly(2), 0.99, risk=pr.LogLoss())
    tutor = pr.Tutor(problem, spread=0.3, level=False, none_of_these=0.0)
    rule = rule_of(tutor)
    results, outcomes = world.sample(2, rng=3)
    prices = rule.of_pool(results, outcomes, None).change
    view = rule._kinds[0]
    chance = expit if link == "logistic" else ndtr
    reference = world.sample(256, rng=0).features
    truth = chance(world.base_score + reference @ world.coefficients)[None, :, None]
    entries = view.maps.entries(reference)

    def loss(weights):  # (draws, n)
        read = np.einsum("skn,dn->dsk", view.maps.reading, weights)
        score = world.base_score + np.einsum("csk,dsk->dcs", entries, read)
        said = np.clip(chance(score), 1e-12, 1.0 - 1e-12)
        return -np.mean(truth * np.log(said) + (1.0 - truth) * np.log1p(-said))

    drawn = rng.multivariate_normal(view.mean, view.covariance, size=300)
    before, real = loss(drawn), np.empty_like(prices)
    for c, s in np.ndindex(*prices.shape):
        rows = list(rule.sets[s])
        x = results[c, rows]
        score = world.base_score + drawn @ view.maps.reading[s, : len(rows)].T @ x
        after = drawn.copy()
        after[:, rows] += 0.2 * (outcomes[c] - chance(score))[:, None] * x
        real[c, s] = loss(after) - before
    assert np.corrcoef(prices.ravel(), real.ravel())[0, 1] > 0.95
    clear = np.abs(real) > 0.05 * np.abs(real).max()
    assert np.mean(np.sign(prices) == np.sign(real), where=clear) > 0.95


@pytest.mark.parametrize("known", [(), (0, 3), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_prices_of_a_live_yes_no_case_are_averages_over_what_is_not_known(link, known):
    """The Brier score of the next answer, and the change of the quadratic loss, by simulation."""
    scale = 1.7 if link == "logistic" else 1.0
    world = pr.World(scale * WORLD.coefficients, SIGMA, outcome=pr.Binary(0.4, link))
    person = pr.DeltaRule(0.4 * np.random.default_rng(2).normal(size=5), 0.2)
    problem = pr.Problem(world, person, pr.Exactly(2), 0.99, risk=pr.LogLoss())
    rule = rule_of(pr.Tutor(problem, spread=0.3, level=False, none_of_these=0.0))
    case = np.full(5, np.nan)
    case[list(known)] = np.array([0.8, -0.3, 0.5, 1.1, -0.6])[list(known)]
    now, change = (each[0] for each in rule.of_case(case))
    view, rng, draws = rule._kinds[0], np.random.default_rng(1), 40_000
    facts = CaseKnowledge.of(world, case)
    x = rng.multivariate_normal(facts.mean, facts.covariance, size=draws, method="eigh")
    chance = expit if link == "logistic" else ndtr
    y = rng.random(draws) < chance(world.base_score + x @ world.coefficients)
    weights = rng.multivariate_normal(view.mean, view.covariance, size=draws)
    real_now, real_change = np.empty((2, len(rule.sets)))
    for s, shown in enumerate(rule.sets):
        rows = list(shown)
        read = weights @ view.maps.reading[s].T
        said = chance(world.base_score + np.sum(x[:, rows] * read, axis=1))
        after = weights.copy()
        after[:, rows] += 0.2 * (y - said)[:, None] * x[:, rows]
        real_now[s] = np.mean((y - said) ** 2)
        lost = [np.sum((w @ view.alone.hessian) * w, 1) - 2.0 * w @ view.alone.slope
                for w in (weights, after)]  # fmt: skip
        real_change[s] = np.mean(lost[1] - lost[0])
    # 32 draws stand for what is not known; the answer's slope is taken at its mean.
    assert np.max(np.abs(now - real_now)) < (0.01 if len(known) == 5 else 0.05)
    assert np.corrcoef(change, real_change)[0, 1] > 0.97
    size = np.abs(change - real_change).max() / np.abs(real_change).max()
    assert size < (0.1 if len(known) == 5 else 0.35)


# --- when choosing by the case misleads a person who reads results at face value ---

DRAWS = 200_000


def bias(chosen, results, shown, world=WORLD):
    """E[y | x_S, S chosen] - E[y | x_S], averaged where S was chosen, and its standard error."""
    rows = list(shown)
    usual = np.linalg.solve(SIGMA[np.ix_(rows, rows)], SIGMA[rows] @ world.coefficients)
    hidden = (results @ world.coefficients - results[:, rows] @ usual)[chosen]
    return hidden.mean(), hidden.std() / np.sqrt(chosen.sum())


def test_a_choice_that_depends_only_on_what_is_shown_does_not_mislead():
    """The next test may depend on results already on the screen."""
    x = np.random.default_rng(0).multivariate_normal(ZERO, SIGMA, size=DRAWS)
    for first, second in ((0, 1), (0, 3)):
        chosen = (x[:, 0] > 0.3) if second == 1 else (x[:, 0] <= 0.3)
        mean, error = bias(chosen, x, (first, second))
        assert abs(mean) < 4.0 * error


def test_the_rule_does_not_mislead_if_it_knows_only_what_it_always_shows():
    """Given the results shown, the hidden rest has mean 0 and is uncorrelated with them."""
    sets = [(0, 1), (0, 2), (0, 3)]
    person = pr.DeltaRule(np.array([1.0, -1.0, 0.5, 2.0, 0.0]), RATE)
    problem = pr.Problem(WORLD, person, pr.Listed(sets), discount=0.99)
    tutor = pr.Tutor(problem, spread=0.2, level=False, none_of_these=0.0)
    rule = rule_of(tutor)
    grid = np.linspace(-4.0, 4.0, 81)
    picked = np.array(
        [sets.index(choose_set(rule, np.append(z, np.full(4, np.nan)), 30.0).shown) for z in grid]
    )
    assert len(set(picked)) > 1
    x = np.random.default_rng(0).multivariate_normal(ZERO, SIGMA, size=DRAWS)
    which = picked[np.clip(np.round((x[:, 0] + 4.0) * 10.0).astype(int), 0, 80)]
    for position in set(picked.tolist()):
        chosen, rows = which == position, list(sets[position])
        usual = np.linalg.solve(SIGMA[np.ix_(rows, rows)], SIGMA[rows] @ WORLD.coefficients)
        rest = (x @ WORLD.coefficients - x[:, rows] @ usual)[chosen]
        for factor in (np.ones(rest.size), *x[chosen][:, rows].T):
            push = rest * factor
            assert abs(push.mean()) < 4.0 * push.std() / np.sqrt(rest.size)


def test_a_choice_that_depends_on_hidden_results_misleads_up_to_the_bound():
    """At most sqrt(v) phi(z)/p, where z is the p-quantile; reached by choosing iff a·x is large."""
    x = np.random.default_rng(0).multivariate_normal(ZERO, SIGMA, size=DRAWS)
    shown = (0, 1)
    known = np.full(5, np.nan)
    known[list(shown)] = 0.0
    hidden = CaseKnowledge.of(WORLD, known).outcome_variance - WORLD.noise_variance
    rows = list(shown)
    usual = np.linalg.solve(SIGMA[np.ix_(rows, rows)], SIGMA[rows] @ WORLD.coefficients)
    rest = x @ WORLD.coefficients - x[:, rows] @ usual
    for share in (0.1, 0.5):
        bound = np.sqrt(hidden) * norm.pdf(norm.ppf(share)) / share
        mean, error = bias(rest > np.quantile(rest, 1.0 - share), x, shown)
        assert mean == pytest.approx(bound, abs=5.0 * error)
        by_one_test = x[:, 3] > np.quantile(x[:, 3], 1.0 - share)
        mean, error = bias(by_one_test, x, shown)
        assert 4.0 * error < abs(mean) < bound
