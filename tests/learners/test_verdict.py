"""Who to plan for: one person, a crowd, or a refusal that says why."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import preceptor as pr
from preceptor.learners.posterior import log_width_prior
from preceptor.learners.records import Record
from preceptor.learners.verdict import constant_of, refusal_of, verdict
from preceptor.learners.weighing import weigh
from preceptor.people.crowd import Crowd
from tests.learners.playing import WORLD, played, someone


def changed(record, **fields):
    names = ("shown", "values", "answers", "outcomes", "told")
    return Record(WORLD, *(fields.get(name, getattr(record, name)) for name in names))


@pytest.fixture(scope="module")
def record():
    return played(WORLD, someone(WORLD, "by outcomes", 3, rate=0.1, kappa=1.0), 60, 1)


def test_a_clear_case_is_one_person():
    first = np.array([-0.5, 0.5, 0.8])
    record = played(WORLD, pr.DeltaRule(first, 0.08, 1.0), 160, 4, scatter=0.1)
    weighed = weigh(WORLD, record, families=["none", "geometric", "delta rule"])
    who = verdict(weighed)
    assert isinstance(who.person, pr.DeltaRule)
    assert who.person.imputation == 1.0
    assert_allclose(who.person.rate, 0.08, rtol=0.2)
    assert_allclose(who.person.initial, first, atol=0.25)
    assert not who.doubts
    assert not who.refusal
    assert weighed.group == "by outcomes"
    assert weighed.person() == who.person


def test_an_open_case_is_a_crowd_with_a_doubt(record):
    weighed = weigh(WORLD, record)
    who = verdict(weighed)
    assert isinstance(who.person, Crowd)
    assert_allclose(sum(who.shares.values()), 1.0)
    assert list(who.shares.values()) == sorted(who.shares.values(), reverse=True)
    for name, weight in zip(who.person.names, who.person.weights, strict=True):
        assert_allclose(weight / who.person.weights[0],
                        who.shares[name] / who.shares[who.person.names[0]])  # fmt: skip
    assert "60 told rounds" in who.doubts[0]
    assert "plan for" in repr(who)


def test_where_nothing_is_hidden_kappa_is_not_a_kind():
    record = played(WORLD, someone(WORLD, "by outcomes", 3), 90, 1, shown=3)
    who = verdict(weigh(WORLD, record, families=["delta rule"]))
    assert isinstance(who.person, pr.DeltaRule)
    assert list(who.shares) == ["delta rule"]
    assert "nothing was ever hidden" in who.doubts[0]


def test_refusals_say_why(record):
    untold = changed(record, told=np.arange(60) < 5)
    assert "told in 5 rounds" in refusal_of(weigh(WORLD, untold))
    same = changed(record, answers=np.ones(60))
    assert "all answers are the same" in refusal_of(weigh(WORLD, same))
    still = changed(record, values=np.ones((60, 3)))
    assert "never vary" in refusal_of(weigh(WORLD, still))
    rng = np.random.default_rng(2)
    noise = changed(record, answers=5.0 + 0.01 * rng.normal(size=60))
    found = verdict(weigh(WORLD, noise))
    assert found.person is None
    assert "a constant describes" in found.refusal
    assert not refusal_of(weigh(WORLD, record))


def test_a_constant_is_normal_scatter_around_one_number(record):
    found = constant_of(weigh(WORLD, record, families=["none"]))
    answers, surprises = record.standard_answers, record.last_surprises
    spread = 0.25**2 + 0.3**2 * np.outer(surprises, surprises)
    widths = np.linspace(np.log(0.05), np.log(4.0), 100)
    logs = [
        multivariate_normal.logpdf(answers, 0.2 * surprises, spread + np.exp(2 * u) * np.eye(60))
        for u in widths
    ] + log_width_prior(widths)
    assert_allclose(found.total, logsumexp(logs) + np.log(widths[1] - widths[0]), atol=1e-3)


def test_a_crowd_has_the_shares_of_its_groups():
    """However many kinds a group is split over."""
    from preceptor.learners.verdict import _Kind, _one_or_crowd

    kinds = [_Kind(f"a{i}", "by showings", 0.08, lambda: pr.NoLearning([0.0])) for i in range(7)]
    kinds += [_Kind(f"b{i}", "by outcomes", 0.015, lambda: pr.NoLearning([0.0])) for i in range(29)]
    kinds += [_Kind("c", "none", 0.005, lambda: pr.NoLearning([0.0]))]
    crowd = _one_or_crowd(kinds)
    assert isinstance(crowd, pr.Crowd)
    assert len(crowd.members) == 8
    outcomes = sum(m.weight for m in crowd.members if m.name.startswith("b"))
    assert outcomes == pytest.approx(0.435 / 0.995)


def test_the_order_of_rows_does_not_matter():
    from preceptor.learners.populations import group_people

    people = {
        name: weigh(WORLD, played(WORLD, someone(WORLD, "by outcomes", i), 30, i))
        for i, name in enumerate(("ann", "bob", "cleo"))
    }
    one, other = group_people(people), group_people(dict(reversed(people.items())))
    assert one.groups == other.groups
    assert one.people["bob"].groups == other.people["bob"].groups
    assert list(other.people) == ["cleo", "bob", "ann"]
