"""Following people whose answers are probabilities or decisions, beside a particle filter.

First weights are drawn from the prior; each draw moves as its kind does, by the formulas alone, and
is weighted by how likely it makes the answers. That is exact up to the number of draws.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_ndtr, logit, ndtr, ndtri

import preceptor as pr
from preceptor.model.outcomes import LINKS
from preceptor.people.filtering import WeightFilter

FIRST, SPREAD, NOISE, RATE, ALPHA = np.array([0.2, 1.0]), 0.5, 0.3, 0.3, 1.08
CHANCE, SCORE = {"probit": ndtr, "logistic": expit}, {"probit": ndtri, "logistic": logit}
PARTICLES = 100_000


def world_of(link: str) -> pr.World:
    scale = 1.0 if link == "probit" else 1.702
    return pr.World.equicorrelated(
        scale * np.array([1.0, 0.6]), 0.5, names=["a", "b"], outcome=pr.Binary(0.4, link)
    )


def moved(world, kind, weights, filled, shown, y, counts):
    """Weights (..., 2) after a round."""
    if kind == "delta":
        foreseen = CHANCE[world.outcome.link](world.base_score + weights @ filled)
        return weights + RATE * (y - foreseen)[..., None] * np.where(shown, filled, 0.0)
    if kind == "showings":  # an error shrinks by alpha with each showing
        return np.where(shown, world.coefficients - (world.coefficients - weights) / ALPHA, weights)
    return weights


def person_of(kind):
    if kind == "delta":
        return pr.DeltaRule(FIRST, rate=RATE)
    return pr.Learner(FIRST, pr.Geometric(ALPHA)) if kind == "showings" else pr.NoLearning(FIRST)


def rounds(world, kind, rng, *, decided, length=40, threshold=0.5):
    """What somebody was shown, answered and heard, round by round, and their weights at the end."""
    weights, above = rng.normal(FIRST, SPREAD), SCORE[world.outcome.link](threshold)
    found = []
    for x, y in zip(*world.sample(length, rng), strict=True):
        seen = ((0,), (1,), (0, 1))[rng.integers(3)]
        shown = np.isin([0, 1], seen)
        filled = x if len(seen) == 2 else np.where(shown, x, 0.5 * x[seen[0]])
        slipped = world.base_score + weights @ filled + NOISE * rng.standard_normal()
        answer = float(slipped > above) if decided else CHANCE[world.outcome.link](slipped)
        found.append((seen, x[list(seen)], float(answer), float(y), filled, shown))
        weights = moved(world, kind, weights, filled, shown, y, None)
    return found, weights


def particle_filter(world, kind, played, *, decided, threshold=0.5):
    rng = np.random.default_rng(99)
    weights = rng.normal(FIRST, SPREAD, size=(PARTICLES, 2))
    logs, above = np.zeros(PARTICLES), SCORE[world.outcome.link](threshold)
    for _seen, _values, answer, y, filled, shown in played:
        scores = world.base_score + weights @ filled
        if decided:
            logs += log_ndtr((2.0 * answer - 1.0) * (scores - above) / NOISE)
        else:
            logs -= 0.5 * ((SCORE[world.outcome.link](answer) - scores) / NOISE) ** 2
        weights = moved(world, kind, weights, filled, shown, y, None)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    mean = shares @ weights
    away = weights - mean
    return mean, np.sqrt(shares @ away**2), 1.0 / np.sum(shares**2)


def followed(world, kind, played, *, decided=False, threshold=0.5):
    filtered = WeightFilter.begin(world, person_of(kind), SPREAD)
    above = SCORE[world.outcome.link](threshold)
    for seen, values, answer, y, _filled, shown in played:
        filled = filtered.filled(seen, values)
        if decided:
            filtered, _ = filtered.decided(filled, answer == 1.0, NOISE**2, above)
        else:
            said = SCORE[world.outcome.link](answer) - world.base_score
            filtered, _ = filtered.answered(filled, said, NOISE**2)
        filtered = filtered.told(filled, shown, y)
    return filtered.weights, np.sqrt(np.diag(filtered.covariance))


@pytest.mark.few(4)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", ["none", "showings", "delta"])
@pytest.mark.parametrize("decided", [False, True])
def test_it_agrees_with_a_particle_filter(link, kind, decided):
    world, rng = world_of(link), np.random.default_rng(1)
    # Probabilities tell so much that few draws would be left of more rounds.
    length, threshold = (40, 0.3) if decided else (12, 0.5)
    played, _ = rounds(world, kind, rng, decided=decided, length=length, threshold=threshold)
    weights, deviations = followed(world, kind, played, decided=decided, threshold=threshold)
    mean, sd, left = particle_filter(world, kind, played, decided=decided, threshold=threshold)
    assert left > 300
    # Exact for probabilities of people who learn by showings; close for everybody else.
    exact = not decided and kind != "delta"
    slack = 5.0 / np.sqrt(left) if exact else 0.25
    assert_allclose((weights - mean) / sd, 0.0, atol=slack)
    assert_allclose(deviations / sd, 1.0, atol=slack)


def test_probabilities_of_somebody_who_learns_by_showings_are_a_linear_regression():
    world, rng = world_of("probit"), np.random.default_rng(2)
    played, _ = rounds(world, "showings", rng, decided=False)
    counts, rows, targets = np.zeros(2), [], []
    for _seen, _values, answer, _y, filled, shown in played:
        left = ALPHA**-counts
        rows.append(filled * left)
        targets.append(
            ndtri(answer) - world.base_score - filled @ (world.coefficients * (1.0 - left))
        )
        counts += shown
    rows, targets = np.array(rows), np.array(targets)
    precision = np.eye(2) / SPREAD**2 + rows.T @ rows / NOISE**2
    first = np.linalg.solve(precision, FIRST / SPREAD**2 + rows.T @ targets / NOISE**2)
    now = world.coefficients - (world.coefficients - first) * ALPHA**-counts
    weights, deviations = followed(world, "showings", played)
    assert_allclose(weights, now, atol=1e-10)
    spread = np.sqrt(np.diag(np.linalg.inv(precision))) * ALPHA**-counts
    assert_allclose(deviations, spread, atol=1e-10)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["showings", "delta"])
@pytest.mark.parametrize("decided", [False, True])
def test_intervals_hold_the_weights_about_as_often_as_they_say(kind, decided):
    world, rng, inside = world_of("probit"), np.random.default_rng(3), []
    for _ in range(200):
        played, weights = rounds(world, kind, rng, decided=decided)
        mean, deviation = followed(world, kind, played, decided=decided)
        inside.append(np.abs(weights - mean) <= ndtri(0.95) * deviation)
    rates = np.mean(inside, axis=0)
    assert np.all(np.abs(rates - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 200) + 0.02), rates


def test_certainty_is_taken_for_half_a_percent_off():
    world, risk = world_of("probit"), pr.Brier()
    tutor = pr.Tutor(pr.Problem(world, person_of("none"), budget=1, horizon=5, risk=risk))
    sure, nearly = (tutor.after(["a"], [1.0], answer) for answer in (1.0, 0.995))
    assert_allclose(sure.coefficients, nearly.coefficients)


@pytest.mark.parametrize("risk", [pr.Brier(), pr.Decision(miss=2, false_alarm=1)])
def test_a_tutor_follows_and_advises(risk):
    world = world_of("probit")
    crowd = pr.Crowd({kind: person_of(kind) for kind in ("showings", "delta", "none")})
    tutor = pr.Tutor(pr.Problem(world, crowd, budget=1, horizon=30, risk=risk))
    ann = pr.DeltaRule([0.4, 0.8], rate=RATE).acting(world, response_noise=0.1, risk=risk)
    for x, y in zip(*world.sample(30, rng=6), strict=True):
        shown = tutor.next()
        answer = ann.predict(shown, x[list(shown)])
        tutor = tutor.after(shown, x[list(shown)], answer, y)
        ann.feedback(shown, x[list(shown)], y)
    assert max(tutor.kinds, key=tutor.kinds.get) == "delta" or risk.decides
    again = pr.Tutor.from_dict(json.loads(tutor.to_json()))
    assert again.kinds == pytest.approx(tutor.kinds)


def test_a_tutor_takes_probabilities_of_those_who_decide_and_refuses_what_cannot_be():
    world = world_of("probit")
    tutor = pr.Tutor(pr.Problem(world, person_of("showings"), budget=1, horizon=5))
    sure, unsure = (tutor.after(["a"], [1.0], answer, 1.0) for answer in (1.0, 0.9))
    assert not np.allclose(sure.coefficients, unsure.coefficients)
    with pytest.raises(pr.InvalidInput, match="must be a probability from 0 to 1"):
        tutor.after(["a"], [1.0], 1.3, 1.0)
    with pytest.raises(pr.InvalidInput, match=r"outcome: 0\.5, must be 1"):
        tutor.after(["a"], [1.0], 0.3, 0.5)
