"""Statistical guarantees: intervals hold the truth as often as they say, and errors shrink."""

from __future__ import annotations

import numpy as np
import pytest

from preceptor.estimation import fit_learner

from .answering import simulate, world_of

pytestmark = pytest.mark.slow

WORLD = world_of(3)
INITIAL = np.array([-0.5, 2.0, 0.0])
RATE, DIAL, BIAS, NOISE = np.log(1.08), 0.4, 0.3, 0.3
TRUTH = {
    "bias": BIAS,
    "initial t0": INITIAL[0],
    "initial t1": INITIAL[1],
    "initial t2": INITIAL[2],
    "rate": RATE,
    "imputation": DIAL,
    "noise": NOISE,
}


def slack(times: int, level: float = 0.95) -> float:
    """Four standard errors of a rate that is estimated from so many trials."""
    return 4 * float(np.sqrt(level * (1 - level) / times))


def one_fit(rng, *, rounds, people=1, rate=RATE, dial=DIAL, **options):
    log = simulate(
        WORLD,
        initial=INITIAL,
        retention=lambda m: np.exp(-rate * m),
        rng=rng,
        people=people,
        rounds=rounds,
        dial=dial,
        bias=BIAS,
        noise=NOISE,
    )
    return fit_learner(WORLD, log, families="geometric", **options)


def learning(fit):
    """The geometric fit, whichever family was chosen."""
    return fit.family_ == "geometric"


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng, times = np.random.default_rng(1), 300
    inside = {(name, level): 0 for name in TRUTH for level in (0.8, 0.95)}
    for _ in range(times):
        fit = one_fit(rng, rounds=150)
        assert learning(fit)
        for level, intervals in ((0.8, fit.intervals(0.8)), (0.95, fit.intervals_)):
            for name, (low, high) in intervals.items():
                inside[name, level] += low <= TRUTH[name] <= high
    for (name, level), count in inside.items():
        assert abs(count / times - level) < slack(times, level), (name, level, count / times)


def test_with_many_people_alike_clustered_intervals_hold_it_too():
    rng, times = np.random.default_rng(2), 200
    inside = dict.fromkeys(TRUTH, 0)
    for _ in range(times):
        fit = one_fit(rng, rounds=20, people=16)
        assert fit.uncertainty_.clustered
        for name, (low, high) in fit.intervals_.items():
            inside[name] += low <= TRUTH[name] <= high
    for name, count in inside.items():
        # Summing over 16 people is a rough measure of spread: a few hundredths are lost.
        assert 0.95 - 0.03 - slack(times) < count / times, (name, count / times)


def test_intervals_hold_the_average_of_people_who_differ():
    rng, times, people = np.random.default_rng(3), 200, 24
    inside, naive = np.zeros(3), np.zeros(3)
    for _ in range(times):
        beliefs = INITIAL + 1.0 * rng.standard_normal((people, 3))
        log = simulate(
            WORLD,
            initial=lambda p, beliefs=beliefs: beliefs[p],
            retention=lambda m: 1.0,
            rng=rng,
            people=people,
            rounds=60,
            noise=NOISE,
            shows=lambda rng: np.arange(3),
        )
        fit = fit_learner(WORLD, log, families="none")
        for i in range(3):
            low, high = fit.intervals_[f"initial t{i}"]
            inside[i] += low <= INITIAL[i] <= high
            independent = fit.noise_sd_ * np.sqrt(np.linalg.inv(log.values.T @ log.values)[i, i])
            naive[i] += abs(fit.initial_[i] - INITIAL[i]) <= 1.96 * independent
    assert np.all(inside / times > 0.95 - 0.02 - slack(times)), inside / times
    assert np.all(naive < inside), "treating answers as independent must be worse here"


def test_at_the_ends_of_their_range_intervals_hold_the_truth_at_least_as_often():
    rng, times = np.random.default_rng(4), 200
    held = 0
    for _ in range(times):
        held += one_fit(rng, rounds=100, dial=0.0).intervals_["imputation"][0] == 0.0
    assert held / times > 0.95 - slack(times)


def test_learning_that_is_not_there_is_rarely_claimed():
    """Akaike's criterion prefers one parameter too many in at most about one case in six."""
    rng, times = np.random.default_rng(5), 200
    claimed = sum(learning(one_fit(rng, rounds=100, rate=0.0)) for _ in range(times))
    assert claimed / times < 0.157 + 4 * np.sqrt(0.157 * 0.843 / times)


def test_errors_fall_with_the_square_root_of_the_rows():
    rng, times = np.random.default_rng(6), 40
    sizes = (1, 4, 16)
    errors = []
    for people in sizes:
        found = [one_fit(rng, rounds=100, people=people) for _ in range(times)]
        beliefs = [np.mean((fit.initial_ - INITIAL) ** 2) for fit in found]
        speeds = [(fit.fit_.point[0] - RATE) ** 2 for fit in found]
        errors.append(np.sqrt([np.mean(beliefs), np.mean(speeds)]))
    slopes = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    # Each error is known to about one part in sqrt(2 * 40); over a factor of 16 that is 0.06.
    assert np.all(np.abs(slopes + 0.5) < 0.15), slopes
