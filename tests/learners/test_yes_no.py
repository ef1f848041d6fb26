"""Which kind of person answers to yes-or-no outcomes show: designs, evidence, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtr, ndtri

import preceptor as pr
from preceptor.data.log import Log
from preceptor.learners.diagnosis import diagnose
from preceptor.learners.families import FilledRounds, by_surprise
from preceptor.learners.push_test import push_test
from preceptor.learners.records import Record, mean_slope
from preceptor.learners.weighing import weigh
from preceptor.model.outcomes import LINKS
from preceptor.people.outcome_learners import DeltaRule

CHANCE = {"probit": ndtr, "logistic": expit}
FEW = ["none", "geometric", "delta rule"]


def world_of(link: str = "probit") -> pr.World:
    scale = 1.0 if link == "probit" else 1.702
    covariance = [[1.0, 0.6, 0.3], [0.6, 4.0, 0.2], [0.3, 0.2, 1.0]]
    return pr.World(scale * np.array([0.9, 0.3, -0.4]), covariance, outcome=pr.Binary(0.4, link))


def played(world, rng, *, rounds, kind, initial, rate, scatter=0.0, decided=False) -> Log:
    """Rounds of somebody, by the formulas alone: two of three tests are shown, all filled in."""
    cases, weights = world.sample(rounds, rng), np.array(initial, dtype=float)
    chance, base, truth = CHANCE[world.outcome.link], world.base_score, world.coefficients
    rows = []
    for x, y in zip(*cases, strict=True):
        seen = np.sort(rng.choice(3, 2, replace=False))
        block = world.covariance[np.ix_(seen, seen)]
        filled = world.covariance[:, seen] @ np.linalg.solve(block, x[seen])
        score = base + weights @ filled
        slipped = score + scatter * rng.standard_normal()
        shown = np.isin(np.arange(3), seen)
        answer = float(slipped > 0) if decided else chance(slipped)
        rows.append((shown, np.where(shown, x, np.nan), answer, y))
        if kind == "delta":
            weights = weights + np.where(shown, rate * (y - chance(score)) * filled, 0.0)
        elif kind == "showings":
            weights = np.where(shown, weights + rate * (truth - weights), weights)
    shown, values, answers, outcomes = zip(*rows, strict=True)
    return Log(world.labels, ["ann"] * rounds, range(rounds), shown, values, answers, outcomes,
               decided=decided)  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
def test_without_scatter_the_design_of_a_delta_rule_is_exact(link):
    """The line that stands for the chance of yes touches it where the person is."""
    world, first, rate = world_of(link), np.array([0.2, -0.3, 0.5]), 0.15
    log = played(world, np.random.default_rng(1), rounds=60, kind="delta", initial=first, rate=rate)
    record = Record.of(world, log)
    share = rate * mean_slope(world) / np.mean(1.0 / np.diag(world.covariance))
    rows, offsets, _ = by_surprise(FilledRounds.of(record, [0.0]), np.array([[share, 0.0, 0.0]]))
    found = rows[0, 0, :, :3] @ record.to_standard(first) + offsets[0, 0]
    assert_allclose(found, record.standard_answers, atol=1e-8)


def test_a_rate_means_the_same_step_to_design_and_person():
    from preceptor.learners.families import FAMILIES

    world = world_of()
    log = played(world, np.random.default_rng(2), rounds=5, kind="none", initial=[0, 0, 0], rate=0)
    person = FAMILIES["delta rule"].person(Record.of(world, log), np.zeros(3), [0.1], 0.0)
    assert isinstance(person, DeltaRule)
    slope = mean_slope(world)
    assert_allclose(person.rate, 0.1 * np.mean(1.0 / np.diag(world.covariance)) / slope)


@pytest.mark.parametrize("link", LINKS)
def test_the_mean_slope_is_that_of_many_cases(link):
    world = world_of(link)
    scores = world.base_score + world.sample(400_000, rng=1).features @ world.coefficients
    assert_allclose(mean_slope(world), world.outcome.from_score.density(scores).mean(), rtol=0.01)
    assert mean_slope(pr.World([1.0], [[1.0]])) == 1.0


@pytest.mark.parametrize(("kind", "group"), [("delta", "by outcomes"), ("showings", "by showings"),
                                             ("none", "none")])  # fmt: skip
def test_kinds_are_told_apart_by_probabilities(kind, group):
    world, rng = world_of(), np.random.default_rng(3)
    rate = 0.15 if kind == "delta" else 0.05
    right = 0
    for _ in range(6):
        first = rng.normal(0.0, 0.5, 3)
        log = played(world, rng, rounds=120, kind=kind, initial=first, rate=rate, scatter=0.3)
        right += weigh(world, log, families=FEW, dials=[0.0]).group == group
    assert right >= 5


def test_first_weights_and_rate_are_found_from_probabilities():
    world, first = world_of(), np.array([0.2, -0.3, 0.5])
    log = played(world, np.random.default_rng(4), rounds=200, kind="delta", initial=first,
                 rate=0.15, scatter=0.3)  # fmt: skip
    found = weigh(world, log, families=["delta rule"], dials=[0.0])
    for estimate, weight in zip(found.initial, first, strict=True):
        assert estimate.low - 0.05 <= weight <= estimate.high + 0.05
    person = found.person()
    assert 0.08 < person.rate < 0.25


def test_decisions_are_weighed_as_choices():
    world, rng = world_of(), np.random.default_rng(5)
    log = played(world, rng, rounds=300, kind="delta", initial=[-1.0, 0.5, 1.0], rate=0.3,
                 scatter=0.2, decided=True)  # fmt: skip
    found = weigh(world, log, families=["none", "delta rule"], dials=[0.0])
    assert found.setting.answers.name == "choices"
    assert found.group == "by outcomes"


@pytest.mark.few(1)
@pytest.mark.parametrize("decided", [False, True])
def test_the_push_test_sees_who_follows_outcomes(decided):
    world, rng = world_of(), np.random.default_rng(6)

    def t_of(kind):
        log = played(world, rng, rounds=800, kind=kind, initial=[0.5, 0.2, 0.0], rate=0.2,
                     scatter=0.2, decided=decided)  # fmt: skip
        return push_test(world, log).past.t

    assert np.mean([t_of("delta") for _ in range(3)]) > 2.5
    assert abs(np.mean([t_of("none") for _ in range(3)])) < 2.5


def test_last_surprises_are_outcome_minus_probability():
    world = world_of()
    log = played(world, np.random.default_rng(7), rounds=3, kind="none", initial=[1, 0, 0], rate=0)
    record = Record.of(world, log)
    expected = (log.outcome - log.prediction)[:2] / np.sqrt(0.4 * 0.6)
    assert_allclose(record.last_surprises, [0.0, *expected])
    assert_allclose(record.answers, ndtri(log.prediction) - world.base_score)


def test_what_is_refused():
    world = world_of()
    with pytest.raises(pr.NotApplicable, match="`fit_learner` weighs kinds from any log"):
        diagnose(world)
    log = played(world, np.random.default_rng(8), rounds=9, kind="none", initial=[1, 0, 0], rate=0)
    with pytest.raises(pr.InvalidInput, match="'bayesian' needs a numeric outcome"):
        weigh(world, log, families=["bayesian"])
    with pytest.raises(pr.InvalidInput, match="the log has probabilities"):
        weigh(world, log, answers="choices")
    names = [cells.family.name for cells in weigh(world, log, dials=[0.0]).cells]
    assert "delta rule" in names
    assert "bayesian" not in names
