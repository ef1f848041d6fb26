"""The slow checker accepts what holds, and notices every way a certificate can be wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor.model.certificate import LinearCertificate
from preceptor.people.outcome_learners import DeltaRule
from preceptor.planning.semidefinite import SemidefiniteBound, semidefinite_bound
from preceptor.proofs.semidefinite import check_semidefinite

pytest.importorskip("clarabel")

WORLD = pr.World.equicorrelated([0.9, 0.3, 0.6], 0.5, noise_variance=0.2)
SETS = pr.Exactly(1).sets(3)
FIRST = [0.1, 0.5, 1.2]
KNOTS = (0, 2, 6, 20)


def bound_for(person: DeltaRule, horizon: int | None = None, **options) -> SemidefiniteBound:
    found = semidefinite_bound(person.expected(WORLD, SETS), 0.9, horizon, **options)
    assert isinstance(found, SemidefiniteBound), found
    return found


@pytest.fixture(scope="module")
def person() -> DeltaRule:
    return DeltaRule(FIRST, 0.15)


@pytest.fixture(scope="module")
def certificate(person) -> LinearCertificate:
    return bound_for(person, knots=KNOTS).certificate


@pytest.mark.parametrize("imputation", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("horizon", [None, 5])
def test_what_was_found_is_proven_again(imputation, adaptive, horizon):
    person = DeltaRule(FIRST, 0.15, imputation)
    knots = KNOTS if horizon is None else None
    found = bound_for(person, horizon, adaptive=adaptive, knots=knots)
    report = check_semidefinite(found.certificate, person, WORLD, SETS)
    assert report.ok, report.why
    assert report.bound == pytest.approx(found.bound)
    assert report.adaptive == found.adaptive == adaptive


def test_all_weights_move_too():
    person = DeltaRule(FIRST, 0.1, 0.5, all_weights=True)
    found = bound_for(person, knots=KNOTS)
    assert check_semidefinite(found.certificate, person, WORLD, SETS).ok


def test_a_person_who_learns_by_showings(person):
    from preceptor.people.second_moments import Coordinates

    keep = np.where(SETS.membership, 1 / 1.2, 1.0)
    errors = WORLD.coefficients - FIRST
    expected = Coordinates(WORLD, SETS, errors, keep, 0.0 * keep, WORLD.covariance)
    found = semidefinite_bound(expected, 0.9, knots=KNOTS)
    assert isinstance(found, SemidefiniteBound)
    learner = pr.Learner(FIRST, pr.Geometric(1.2))
    report = check_semidefinite(found.certificate, learner, WORLD, SETS)
    assert report.ok, report.why
    assert report.adaptive
    assert not check_semidefinite(found.certificate, person, WORLD, SETS).ok
    assert not check_semidefinite(
        found.certificate, pr.Learner(FIRST, pr.PowerLaw(1.0)), WORLD, SETS
    ).ok


def test_it_survives_a_file(person, certificate):
    again = LinearCertificate.from_json(certificate.to_json())
    assert again == certificate
    assert check_semidefinite(again, person, WORLD, SETS).ok


def raised(array: np.ndarray, *at: int, by: float) -> np.ndarray:
    changed = array.copy()
    changed[at] += by
    return changed


@pytest.mark.parametrize(
    ("field", "change", "complaint"),
    [
        ("bound", lambda c: c.bound + 0.1, "claims"),
        ("mean", lambda c: raised(c.mean, 0, -1, -1, by=0.05), "fails by"),
        ("mean", lambda c: raised(c.mean, 3, -1, -1, by=0.05), "fails by"),
        ("mean", lambda c: c.mean[:-1], "shape"),
        ("spread", lambda c: c.spread + 0.5 * np.eye(3), "fails by"),
        ("mean_multipliers", lambda c: -c.mean_multipliers, "negative"),
        ("spread_multipliers", lambda c: -c.spread_multipliers, "negative"),
        ("spread_multipliers", lambda c: 0.0 * c.spread_multipliers, "fails by"),
        ("reach", lambda c: 0.5 * c.reach, "outside"),
        ("reach", lambda c: c.reach + np.diag([3.0, 0.0, 0.0]), "out of"),
        ("reach", lambda c: 0.0 * c.reach, "there are none"),
        ("limit", lambda c: 0.5 * c.limit, "spread out of"),
        ("knots", lambda c: (0, 6, 2, 20), "rise"),
        ("discount", lambda c: 1.0, "discount"),
        ("horizon", lambda c: 20, "values of 0 there"),
    ],
)
def test_every_lie_is_noticed(person, certificate, field, change, complaint):
    wrong = replace(certificate, **{field: change(certificate)})
    report = check_semidefinite(wrong, person, WORLD, SETS)
    assert not report.ok
    assert complaint in report.why
    assert report.bound == -np.inf


def test_the_growth_of_errors_must_be_shown(person):
    found = bound_for(person, adaptive=True, knots=KNOTS).certificate
    for growth in (0.0 * found.growth, np.diag([1.0, 1.0, 1.0, 1e-3])):
        report = check_semidefinite(replace(found, growth=growth), person, WORLD, SETS)
        assert not report.ok
        assert "errors" in report.why


@pytest.mark.parametrize(
    "other",
    [
        DeltaRule(FIRST, 0.15, 1.0),
        DeltaRule([-1.5, 0.5, 1.2], 0.15),
        DeltaRule(FIRST, 0.15, decay=0.5),
        DeltaRule(FIRST, 0.15, cap=0.5),
    ],
)
def test_it_is_about_one_person_only(certificate, other):
    report = check_semidefinite(certificate, other, WORLD, SETS)
    assert not report.ok
