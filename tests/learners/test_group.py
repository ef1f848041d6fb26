"""Many people: frequencies, populations, and each one again."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.data.log import Log
from preceptor.errors import InvalidInput
from preceptor.learners.families import Population
from preceptor.learners.populations import draw_group, fit_population, group_people, weigh_people
from preceptor.learners.verdict import group_verdict
from preceptor.learners.weighing import weigh
from preceptor.people.crowd import Crowd
from tests.learners.playing import WORLD, played, someone

FEW = ["none", "geometric", "delta rule"]


def people_of(groups, seed, *, rounds=80, spread=0.0, families=FEW, scatter=0.4):
    found = {}
    for i, group in enumerate(groups):
        rng = np.random.default_rng([seed, i])
        rate = float(np.exp(np.log(0.08) + spread * rng.normal()))
        person = someone(WORLD, group, rng, rate=min(rate, 0.4), kappa=1.0)
        record = played(WORLD, person, rounds, rng, scatter=scatter)
        found[f"{group} {i}"] = weigh(WORLD, record, families=families, dials=(0.0, 1.0))
    return found


@pytest.fixture(scope="module")
def mixed():
    return group_people(people_of(["by outcomes"] * 7 + ["by showings"] * 2 + ["none"], 1))


def test_a_population_is_found_as_by_hand():
    """People whose position is known exactly: the usual t interval, about."""
    axis = np.linspace(-3, 3, 241)
    rng = np.random.default_rng(0)
    at = 0.4 + 0.5 * rng.normal(size=30)
    likelihoods = np.exp(-0.5 * ((axis - at[:, None]) / 0.03) ** 2)
    found = fit_population(axis, likelihoods, Population(0.0, 3.0))
    error = at.std(ddof=1) / np.sqrt(30)
    assert_allclose(found.mean.mean, at.mean(), atol=0.02)
    assert_allclose(found.mean[1:], at.mean() + 2.045 * error * np.array([-1, 1]), atol=0.04)
    assert found.spread.low < 0.5 < found.spread.high
    assert_allclose(found.predictive.spread, 0.5, atol=0.1)


def test_frequencies_are_exact_where_everybody_is_known():
    """Then the posterior is a Dirichlet distribution, of groups, families and κ."""
    evidence, axis = np.full((9, 3, 2, 5), -1e3), np.linspace(-4, -2, 5)
    for person, (family, dial) in enumerate([(0, 0)] * 2 + [(1, 1)] * 3 + [(2, 1)] * 4):
        evidence[person, family, dial] = 0.0
    belongs, nobody = np.array([0, 1, 1]), np.zeros(3, dtype=bool)
    prior = Population(-3.0, 1.1)
    drawn = draw_group(evidence, axis, nobody, belongs, prior, np.random.default_rng(0))
    slack = 4 * 0.2 / np.sqrt(len(drawn.groups))
    assert_allclose(drawn.groups.mean(axis=0), [3 / 11, 8 / 11], atol=slack)
    assert_allclose(drawn.families.mean(axis=0), [3 / 11, 32 / 99, 40 / 99], atol=slack)
    assert_allclose(drawn.dials.mean(axis=0), [3 / 11, 8 / 11], atol=slack)
    spread = np.sqrt(3 / 11 * 8 / 11 / 12)
    assert_allclose(drawn.groups.std(axis=0), spread, rtol=0.15)
    assert_allclose(drawn.mean.mean(), -3.0, atol=4 * 1.1 / np.sqrt(len(drawn.mean)))


def test_people_about_whom_nothing_is_known_leave_frequencies_open():
    evidence, belongs = np.zeros((12, 3, 1, 5)), np.arange(3)
    drawn = draw_group(evidence, np.linspace(-4, -2, 5), np.array([False, True, True]), belongs,
                       Population(-3.0, 1.1), np.random.default_rng(0))  # fmt: skip
    assert drawn.groups.std(axis=0).min() > 0.17  # uniform: .24; as if twelve were known: .12


def test_the_population_of_rates_is_that_of_a_grid():
    """Everybody of one family, with a likelihood over rates; against sums over mean and spread."""
    axis, rng = np.linspace(-5.5, -0.5, 101), np.random.default_rng(3)
    at = -3.0 + 0.6 * rng.normal(size=15)
    evidence = -0.5 * ((axis - at[:, None]) / 0.3) ** 2
    drawn = draw_group(evidence[:, None, None, :], axis, np.ones(1, bool), np.zeros(1, int),
                       Population(-3.0, 1.1), np.random.default_rng(0))  # fmt: skip
    grid = fit_population(axis, np.exp(evidence), Population(-3.0, 1.1))
    assert_allclose(drawn.mean.mean(), grid.mean.mean, atol=0.05)
    assert_allclose(np.quantile(drawn.mean, [0.025, 0.975]), grid.mean[1:], atol=0.1)
    assert_allclose(np.median(drawn.spread), grid.spread.mean, atol=0.15)


def test_the_common_kind_is_found(mixed):
    assert_allclose(sum(share.mean for share in mixed.groups.values()), 1.0)
    assert max(mixed.groups, key=lambda name: mixed.groups[name].mean) == "by outcomes"
    assert mixed.groups["by outcomes"].low < 0.7 < mixed.groups["by outcomes"].high
    assert mixed.groups["by outcomes"].mean > 0.4
    assert mixed.dials[1.0].mean > 0.7
    assert mixed.rate.mean.low < np.log(0.08) < mixed.rate.mean.high
    assert mixed.scatter.mean.low < np.log(0.4) < mixed.scatter.mean.high
    assert "by outcomes" in repr(mixed)


def test_everybody_is_drawn_toward_the_others(mixed):
    """Whoever is hard to tell follows the crowd; whoever is clear stays."""
    alone = np.array([weighed.groups["by outcomes"] for weighed in mixed.alone.values()])
    again = np.array([weighed.groups["by outcomes"] for weighed in mixed.people.values()])
    unsure = (alone > 0.2) & (alone < 0.8)
    assert np.all(again[unsure] > alone[unsure])
    assert np.all(again[alone > 0.95] > 0.9)
    assert np.all(again[alone < 0.02] < 0.2)


def test_of_one_person_the_group_says_what_the_person_says():
    people = people_of(["by outcomes"], 3, rounds=160)
    found = group_people(people)
    alone = next(iter(people.values()))
    assert max(found.groups, key=lambda name: found.groups[name].mean) == alone.group


@pytest.mark.full
def test_the_interval_of_the_mean_rate_covers_also_when_people_differ():
    """A few groups; the slow test of the tables has thirty."""
    hits = []
    for seed in range(4):
        found = group_people(people_of(["by outcomes"] * 6, 100 + seed, rounds=50, spread=0.7,
                                   families=["none", "delta rule"]))  # fmt: skip
        hits.append(found.rate.mean.low <= np.log(0.08) <= found.rate.mean.high)
    assert np.mean(hits) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 4)


def test_a_crowd_as_common_as_the_kinds_are(mixed):
    who = group_verdict(mixed)
    assert isinstance(who.person, Crowd)
    assert_allclose(sum(who.shares.values()), 1.0)
    assert who.person.names[np.argmax(who.person.weights)].startswith("delta rule")
    who.person.people["delta rule, ignoring correlations"].acting(WORLD)


def test_a_log_is_weighed_person_by_person(mixed):
    rows = {name: [] for name in ("who", "round", "shown", "values", "answer", "truth")}
    for name, weighed in mixed.alone.items():
        record = weighed.setting.rounds.record
        for t in range(record.rounds):
            rows["who"].append(name)
            rows["round"].append(t)
            rows["shown"].append(record.shown[t])
            rows["values"].append(np.where(record.shown[t], record.values[t], np.nan))
            rows["answer"].append(record.answers[t])
            rows["truth"].append(record.outcomes[t])
    log = Log(WORLD.labels, *rows.values())
    found = weigh_people(WORLD, log, families=FEW, dials=(0.0, 1.0))
    for name, share in mixed.groups.items():
        assert_allclose(found.groups[name].mean, share.mean, rtol=1e-9)
    assert_allclose(
        list(found.held_out.values()),
        np.sum([list(w.held_out.values()) for w in mixed.alone.values()], axis=0),
    )


def test_people_who_cannot_be_compared_are_refused():
    one = people_of(["none"], 1, rounds=12, families=["none"])
    other = people_of(["none"], 1, rounds=12, families=["geometric"])
    with pytest.raises(InvalidInput, match="at least one person"):
        group_people({})
    with pytest.raises(InvalidInput, match="in common"):
        group_people({"a": next(iter(one.values())), "b": next(iter(other.values()))})
    third = weigh(WORLD, played(WORLD, pr.NoLearning([0.1, 0, 0]), 12, 1), families=["none"])
    with pytest.raises(InvalidInput, match="different κ"):
        group_people({"a": next(iter(one.values())), "b": third})
