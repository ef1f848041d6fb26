"""Evidence is what brute-force Bayesian regression gives, and what one step ahead gives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import preceptor as pr
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.families import FAMILIES, FilledRounds, grid_boxes, log_prior, values_of
from preceptor.learners.posterior import (
    LOG_WIDTHS,
    NONE_OF_THESE,
    PRIOR,
    Gaussian,
    log_width_prior,
    over_widths,
    width_shares,
)
from preceptor.learners.records import Record
from preceptor.learners.weighing import weigh
from preceptor.people.filtering import WeightFilter
from tests.learners.playing import WORLD, played, someone

DEFAULT = np.array([0.2, 0.1, 0.0])


@pytest.fixture(scope="module")
def record():
    return played(WORLD, someone(WORLD, "by outcomes", 3, rate=0.1), 32, 4, told=0.9)


@pytest.fixture(scope="module")
def weighed(record):
    return weigh(WORLD, record, default=DEFAULT)


def covariance_of(record, rows):
    """Of the answers, without scatter, from the design alone."""
    surprises = record.last_surprises[:, None]
    return (
        PRIOR.weights**2 * rows @ rows.T + PRIOR.bias**2 + PRIOR.follow**2 * surprises @ surprises.T
    )


def by_regression(record, name, dial, at, rounds=None):
    """The density of answers as one big normal distribution, integrated over widths."""
    family = FAMILIES[name]
    design = family.design(FilledRounds.of(record, (dial,)), at[None])
    rows, offsets = design.rows[0, 0], design.offsets[0, 0]
    mean = offsets + rows @ record.to_standard(DEFAULT) + 0.2 * record.last_surprises
    spread = covariance_of(record, rows)
    widths = np.linspace(np.log(0.05), np.log(4.0), 100)
    end = slice(None, rounds)
    logs = [
        multivariate_normal.logpdf(
            record.standard_answers[end], mean[end],
            spread[end, end] + np.exp(2 * u) * np.eye(len(mean[end])),
        )
        for u in widths
    ]  # fmt: skip
    return logsumexp(logs + log_width_prior(widths)) + np.log(widths[1] - widths[0])


@pytest.mark.parametrize(
    ("name", "dial", "point"),
    [("none", 0, 0), ("floor", 1, 11), ("delta rule", 2, 7), ("drifting bayesian", 0, 9)],
)
def test_it_is_brute_force_regression(record, weighed, name, dial, point):
    cells = next(cells for cells in weighed.cells if cells.family.name == name)
    kappa, at = float(cells.dials[dial]), cells.coordinates[point]
    assert_allclose(
        cells.log_evidence[dial, point], by_regression(record, name, kappa, at), atol=2e-4
    )
    early = by_regression(record, name, kappa, at, rounds=24)
    assert_allclose(cells.early[dial, point], early, atol=2e-4)


@pytest.mark.parametrize("name", ["none", "geometric", "forgetful", "delta rule", "bayesian"])
def test_it_is_the_product_of_densities_one_step_ahead(record, name):
    family, dial, width = FAMILIES[name], 0.5, 0.7
    at = grid_boxes(family.axes).coordinates[-3:-2] if family.axes else np.zeros((1, 0))
    design = family.design(FilledRounds.of(record, (dial,)), at)
    rows, offsets = design.rows[0, 0], design.offsets[0, 0]
    mean = offsets + rows @ record.to_standard(DEFAULT) + 0.2 * record.last_surprises
    whole = multivariate_normal.logpdf(
        record.standard_answers, mean, covariance_of(record, rows) + width**2 * np.eye(len(mean))
    )
    person = family.person(record, DEFAULT, values_of(family.axes, at)[0], dial)
    sd = record.outcome_sd
    followed = WeightFilter.begin(
        WORLD, person, PRIOR.weights * sd / record.test_sds,
        extra_spread=[PRIOR.bias * sd, PRIOR.follow * sd],
    )  # fmt: skip
    total, filled = 0.0, record.filled(dial)
    for t in range(record.rounds):
        surprise = record.last_surprises[t]
        followed, density = followed.answered(
            filled[t], record.answers[t] - 0.2 * surprise * sd, (width * sd) ** 2,
            np.array([1.0, surprise]),
        )  # fmt: skip
        total += float(density) + np.log(sd)
        if record.told[t]:
            followed = followed.told(filled[t], record.shown[t], record.outcomes[t])
    assert_allclose(total, whole, atol=1e-8)


def test_probabilities_are_bayes_rule_over_all_cells(weighed):
    assert_allclose(sum(weighed.families.values()), 1.0)
    assert_allclose(sum(weighed.groups.values()), 1.0)
    assert_allclose(sum(weighed.dials.values()), 1.0)
    terms, groups = [], []
    sizes = [cells.family.group for cells in weighed.cells]
    for cells in weighed.cells:
        prior = np.exp(log_prior(cells.family.axes, cells.coordinates, cells.widths))
        prior = prior / 3 / 3 / sizes.count(cells.family.group)
        terms.append((np.log(prior) + cells.log_evidence).ravel())
        groups += [cells.family.group] * terms[-1].size
    terms = [part + np.log(0.95) for part in terms] + [np.log(0.05) + weighed.none.log_evidence[0]]
    logs = np.concatenate(terms)
    shares = np.exp(logs - logsumexp(logs))
    for group, share in weighed.groups.items():
        mine = np.array([*groups, NONE_OF_THESE]) == group
        assert_allclose(shares[mine].sum(), share, atol=1e-12)


def test_first_weights_are_those_of_regression():
    """Given the cell and the width nearest to its posterior mean, θ is ridge regression."""
    rng = np.random.default_rng(0)
    rows, known, answers = (
        rng.normal(size=(1, 20, 4)),
        rng.normal(size=(1, 20)),
        rng.normal(size=20),
    )
    found = Gaussian().integrate(rows, known, answers)
    grid = np.linspace(-3, 1.4, 441)
    logs = [
        multivariate_normal.logpdf(
            answers, known[0], rows[0] @ rows[0].T + np.exp(2 * u) * np.eye(20)
        )
        + norm.logpdf(u, np.log(0.5), 0.6)
        for u in grid
    ]
    shares = np.exp(logs - logsumexp(logs))
    mean = shares @ grid
    assert_allclose(found.scatter[0], mean, atol=1e-4)
    assert_allclose(found.scatter_sd[0], np.sqrt(shares @ (grid - mean) ** 2), atol=1e-4)
    at = LOG_WIDTHS[np.argmin(np.abs(LOG_WIDTHS - mean))]
    precision = np.eye(4) + rows[0].T @ rows[0] * np.exp(-2 * at)
    assert_allclose(found.sds[0], np.sqrt(np.diag(np.linalg.inv(precision))), rtol=1e-8)
    theta = np.linalg.solve(precision, rows[0].T @ (answers - known[0]) * np.exp(-2 * at))
    assert_allclose(found.mean[0], theta, rtol=1e-8, atol=1e-12)


def test_a_log_gives_the_same_as_its_record():
    log = Log(["a", "b"], ["ann"] * 6, range(6), [[True, False], [True, True]] * 3,
              np.where([[True, False], [True, True]] * 3, 1.5, np.nan), np.arange(6.0),
              [1.0, np.nan, 2.0, 3.0, 4.0, np.nan])  # fmt: skip
    world = pr.World([0.5, 0.2], [[1.0, 0.2], [0.2, 1.0]], 0.3, names=["a", "b"])
    record = Record.of(world, log)
    assert record.told.tolist() == [True, False, True, True, True, False]
    assert_allclose(
        record.last_surprises * record.outcome_sd, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0], atol=1e-12
    )
    assert weigh(world, log).families == weigh(world, record).families


def test_what_makes_no_sense_is_said(record):
    for options, word in (
        ({"families": ["nne"]}, "did you mean 'none'"),
        ({"families": ["forgetful by days"]}, "dates"),
        ({"answers": "poisson"}, "answers"),
        ({"dials": (2.0,)}, "dials"),
        ({"default": [1.0]}, "default"),
        ({"prior": {"by magic": 1.0}}, "prior"),
        ({"prior": {"none": -1.0}}, "prior"),
        ({"prior": {"none": 0.0}}, "all weights are 0"),
    ):
        with pytest.raises(InvalidInput, match=word):
            weigh(WORLD, record, **options)


def test_prior_by_group_and_by_family(record):
    weighed = weigh(WORLD, record, prior={"by outcomes": 0.5, "geometric": 0.5})
    assert weighed.families["none"] == weighed.families["floor"] == 0.0
    named = weighed.groups["by outcomes"] + weighed.families["geometric"]
    assert_allclose(named + weighed.none_of_these, 1.0)


def test_dates_of_a_log_bring_in_forgetting_by_days():
    when = np.datetime64("2026-03-01") + np.array([0, 0, 1, 1, 8, 8])
    log = Log(["a", "b"], ["ann"] * 6, range(6), [[True, False], [True, True]] * 3,
              np.where([[True, False], [True, True]] * 3, 1.5, np.nan), np.arange(6.0),
              np.ones(6), when=when)  # fmt: skip
    world = pr.World([0.5, 0.2], [[1.0, 0.2], [0.2, 1.0]], 0.3, names=["a", "b"])
    record = Record.of(world, log)
    assert record.gaps.tolist() == [0, 0, 1, 0, 7, 0]
    assert "forgetful by days" in weigh(world, log).families


def test_where_everybody_would_run_away_nothing_is_learned(record):
    far = Record(WORLD, record.shown, 1e4 * record.values, record.answers, record.outcomes,
                 record.told)  # fmt: skip
    weighed = weigh(WORLD, far, families=["delta rule"])
    assert weighed.none_of_these > 0.99
    assert weighed.shares.tolist() == [1.0]


def test_answers_in_a_wrong_unit_still_give_numbers(record):
    wild = Record(WORLD, record.shown, record.values, 1e3 * record.answers, record.outcomes,
                  record.told)  # fmt: skip
    weighed = weigh(WORLD, wild)
    assert np.isfinite(list(weighed.log_evidence.values())).all()
    assert_allclose(sum(weighed.families.values()), 1.0)


@pytest.mark.parametrize("rounds", [5, 60, 400, 1000])
@pytest.mark.parametrize("width", [0.03, 0.5, 1.7])
def test_sums_over_widths_are_integrals(rounds, width):
    """Scatter alone: the likelihood in the log width is known, and as narrow as it gets."""

    def log_likelihood(u):
        return -rounds * u - 0.5 * rounds * (width * 1.03) ** 2 * np.exp(-2.0 * u)

    fine = np.linspace(LOG_WIDTHS[0], LOG_WIDTHS[-1], 40_001)
    logs = log_likelihood(fine) + log_width_prior(fine)
    total = logsumexp(logs)
    shares = np.exp(logs - total)
    found = over_widths(log_likelihood(LOG_WIDTHS))
    assert_allclose(found.log_evidence, total + np.log(fine[1] - fine[0]), atol=5e-3)
    assert_allclose(found.mean, shares @ fine, atol=5e-4)
    assert_allclose(found.sd, np.sqrt(shares @ (fine - shares @ fine) ** 2), rtol=0.03)
    nodes = width_shares(log_likelihood(LOG_WIDTHS))
    assert_allclose(nodes.sum(), 1.0)
    assert_allclose(nodes @ LOG_WIDTHS, found.mean, atol=1e-9)
