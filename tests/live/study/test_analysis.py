"""The registered analysis against scipy, enumeration and what is known by hand."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools

import numpy as np
import pytest
from scipy import stats

from preceptor._base.files import parse_toml
from preceptor.live.study.analysis import (
    AnalysisResult,
    KindCounts,
    _signs,
    analyse,
    compare,
    permutation,
    welch,
)
from preceptor.live.study.arms import make_arms
from preceptor.live.study.measures import (
    UNRELATED,
    Records,
    concatenate,
    mean_error,
    reasons_by_rule,
    slope_change,
    unrelated_probability,
)
from preceptor.live.study.registration import template
from preceptor.live.study.simulated_people import assumptions, make_stage, played, recruited
from preceptor.live.study.study import Study


def study_of(name="plan-or-fixed", **analysis):
    data = copy.deepcopy(dict(parse_toml(template(name))))
    data["analysis"].update(analysis)
    return Study.from_dict(data)


STUDY = study_of(measure="training error")
ARMS = ("plan", "fixed")


def records_of(study, people=8, seed=0, arms=ARMS):
    """People who answer at random, half of them in each arm."""
    rng = np.random.default_rng(seed)
    trials, n = len(study.protocol.trials), study.problem.size
    shown = np.zeros((people, trials, n), dtype=bool)
    shown[..., 0] = True
    for trial in study.protocol.trials:
        if trial.show is not None:
            shown[:, trial.number] = [name in trial.show for name in study.problem.world.labels]
    values = np.where(shown, 50.0 + 10.0 * rng.standard_normal(shown.shape), np.nan)
    size = (people, trials)
    return Records(
        tuple(f"p{i}" for i in range(people)),
        np.array([arms[i % len(arms)] for i in range(people)]),
        np.arange(people) // len(arms),
        np.ones(people, dtype=bool),
        np.zeros(people, dtype=int),
        shown,
        values,
        100.0 + 10.0 * rng.standard_normal(size),
        100.0 + 10.0 * rng.standard_normal(size),
        np.full(size, 5.0),
    )


def test_a_permutation_test_of_few_people_is_exact():
    numbers = np.array([1.0, 2.0, -0.5, 3.0, 0.7])
    means = np.array([np.mean(numbers * signs) for signs in itertools.product((1, -1), repeat=5)])
    more = np.mean(means >= numbers.mean() - 1e-12)
    less = np.mean(means <= numbers.mean() + 1e-12)
    assert permutation(numbers, "two-sided", 0.05, 0).p == pytest.approx(2.0 * more)
    assert permutation(numbers, "less", 0.05, 0).p == pytest.approx(less)


def test_too_few_people_to_find_anything_is_said():
    found = permutation(np.array([1.0, 2.0, 3.0]), "two-sided", 0.05, 0)
    assert found.p == pytest.approx(2 / 8)
    assert "smallest possible p-value is 0.25" in found.doubts[0]


def test_large_permutation_tests_are_seeded():
    numbers = np.random.default_rng(2).standard_normal(30) + 0.3
    one, other = (permutation(numbers, "two-sided", 0.05, 7, 999).p for _ in range(2))
    assert one == other
    assert one == pytest.approx(welch(numbers, None, "two-sided", 0.05).p, abs=0.03)


def test_two_arms_are_swapped_within_places():
    records = records_of(STUDY, 12)
    numbers = mean_error(STUDY, records)
    result = analyse(STUDY, records)
    pairs = numbers.reshape(6, 2)  # plan and fixed of every place
    assert result.effect == pytest.approx((pairs[:, 0] - pairs[:, 1]).mean())
    ways = itertools.product((0, 1), repeat=6)
    swapped = [
        np.mean([pair[way] - pair[1 - way] for pair, way in zip(pairs, chosen, strict=True)])
        for chosen in ways
    ]
    share = np.mean(np.abs(swapped) >= abs(result.effect) - 1e-12)
    assert result.p == pytest.approx(share)
    # Somebody whose partner is left out does not enter the test, and that is said.
    records.finished[3] = False
    fewer = analyse(STUDY, records)
    rest = np.delete(pairs, 1, axis=0)
    assert fewer.effect == pytest.approx((rest[:, 0] - rest[:, 1]).mean())
    assert any("at 1 place one arm is empty" in doubt for doubt in fewer.doubts)


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_welch_is_that_of_scipy(alternative):
    rng = np.random.default_rng(3)
    first, second = rng.standard_normal(12), 2.0 * rng.standard_normal(9) + 1.0
    found = welch(first, second, alternative, 0.1)
    known = stats.ttest_ind(first, second, equal_var=False, alternative=alternative)
    assert found.p == pytest.approx(known.pvalue)
    both = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((both.low, both.high))
    assert found.effect == pytest.approx(first.mean() - second.mean())


def test_the_interval_of_a_permutation_test_is_that_of_the_paired_t_test():
    rng = np.random.default_rng(4)
    cases = 2.0 * rng.standard_normal(20)
    first, second = cases + rng.standard_normal((2, 20)) - [[1.0], [0.0]]
    found = permutation(first - second, "two-sided", 0.05, 0)
    known = stats.ttest_rel(first, second)
    ends = known.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.effect_deviation == pytest.approx((first - second).std(ddof=1))
    assert found.p == pytest.approx(known.pvalue, abs=0.005)


def test_people_without_partners_have_no_p_value():
    records = records_of(STUDY)
    records.places[:] = np.arange(8)
    result = analyse(STUDY, records)
    assert np.isnan(result.p)
    assert any("fewer than two places have people of both arms" in each for each in result.doubts)


def test_hedges_g_by_hand():
    first, second = np.array([1.0, 2.0, 3.0]), np.array([4.0, 6.0, 8.0])
    # pooled variance (2 x 1 + 2 x 4) / 4, correction 1 - 3 / (4 x 4 - 1)
    found = welch(first, second, "two-sided", 0.05)
    assert found.standardised == pytest.approx(-4.0 / np.sqrt(2.5) * 0.8)
    # differences -3, -4, -5, correction 1 - 3 / (4 x 2 - 1)
    paired = permutation(first - second, "two-sided", 0.05, 0)
    assert paired.standardised == pytest.approx(-4.0 / 1.0 * 4.0 / 7.0)
    # With two differences the correction is 0 and says nothing.
    assert np.isnan(permutation(np.array([-3.0, -4.0]), "two-sided", 0.05, 0).standardised)


def null_records(study, people, seed):
    """Arms do not differ; places have their cases, and some people are left out."""
    records = records_of(study, 2 * people, seed)
    rng = np.random.default_rng([seed, 1])
    drawn = 100.0 + 10.0 * rng.standard_normal((people, records.outcomes.shape[1]))
    records.outcomes[:] = drawn[records.places]
    records.answers[:] = 100.0 + 3.0 * rng.standard_normal(records.answers.shape)
    records.finished[rng.random(2 * people) < 0.15] = False
    return records


@pytest.mark.few(1)
@pytest.mark.parametrize("test", ["permutation", "welch"])
def test_all_that_is_reported_is_of_one_comparison(test):
    study, opposite = study_of(test=test), 0
    for seed in range(100):
        records = null_records(study, 12, seed)
        result = analyse(study, records, resamples=99)
        means = result.means[0] - result.means[1]
        opposite += np.sign(result.effect) != np.sign(result.standardised)
        assert result.effect == pytest.approx(means, abs=1e-9 * max(map(abs, result.means)))
        middle = (result.low + result.high) / 2.0
        assert middle == pytest.approx(result.effect, abs=1e-9 * (result.high - result.low))
        if test != "permutation":
            continue
        # From the numbers of those whose partner stayed, without the library.
        numbers = np.where(records.finished, result.numbers, np.nan).reshape(12, 2)
        differences = numbers[:, 0] - numbers[:, 1]
        differences = differences[np.isfinite(differences)]
        count = len(differences)
        sd = np.sqrt(np.sum((differences - differences.mean()) ** 2) / (count - 1))
        assert result.people == (count, count)
        assert result.effect == pytest.approx(differences.mean())
        assert result.effect_deviation == pytest.approx(sd)
        g = differences.mean() / sd * (1.0 - 3.0 / (4.0 * (count - 1) - 1.0))
        assert result.standardised == pytest.approx(g)
        wide = stats.t.ppf(0.975, count - 1) * sd / np.sqrt(count)
        assert result.high - result.low == pytest.approx(2.0 * wide)
        assert f"{result.effect:.4g} (sd {sd:.3g}," in result.in_words()
        assert result.to_dict()["effect_deviation"] == result.effect_deviation
    assert opposite == 0


@pytest.mark.full
def test_the_level_is_kept_where_partners_met_the_same_cases():
    study = study_of(test="permutation")
    found = (analyse(study, null_records(study, 10, seed), resamples=999) for seed in range(300))
    hits = sum(result.p < 0.05 for result in found)
    assert stats.binomtest(int(hits), 300, 0.05).pvalue > 0.001


def test_errors_are_charges_of_the_risk():
    records = records_of(STUDY)
    training = [t.number for t in STUDY.protocol.trials if t.training is not None]
    squares = (records.answers - records.outcomes)[:, training] ** 2
    np.testing.assert_allclose(mean_error(STUDY, records), squares.mean(axis=1))


def test_slope_change_is_that_of_least_squares():
    study = study_of("decisive", measure="slope change", compare=["without-blue"])
    records = records_of(study, 3, arms=("without-blue",))
    found = slope_change(study, records)
    for i in range(3):
        slopes = []
        for block in (3, 5):
            rows = [
                t.number for t in study.protocol.trials if t.block == block and t.show == ("amber",)
            ]
            slopes.append(np.polyfit(records.values[i, rows, 0], records.answers[i, rows], 1)[0])
        assert found[i] == pytest.approx(slopes[1] - slopes[0])


def test_rules_leave_people_out_and_say_why():
    records = records_of(STUDY)
    records.finished[0] = False
    records.failed_checks[1] = 2
    records.seconds[2] = 0.4
    records.answers[3] = 100.0
    records.answers[4] = np.nan
    why = reasons_by_rule(STUDY, records)
    assert why[0] == "unfinished"
    assert why[1] == "failed 2 checks"
    assert why[2] == "median answer after 0.40 s"
    assert why[3] == "same answer in 100% of rounds"
    assert why[4] == "no answers"
    assert why[5:] == ("", "", "")
    result = analyse(STUDY, records)
    assert result.people == (1, 2)
    assert np.isnan(result.p)
    assert any("nothing can be tested" in doubt for doubt in result.doubts)
    assert "There is no p-value" in result.in_words()


@pytest.mark.parametrize("test", ["permutation", "welch"])
def test_an_effect_is_found_and_said(test):
    study = study_of(test=test)
    records = records_of(study, 24)
    worse = records.arms == "fixed"
    records.answers[worse] += 15.0
    result = analyse(study, records)
    assert result.is_significant
    assert result.effect == pytest.approx(result.means[0] - result.means[1])  # all are paired
    assert result.low < result.effect < result.high < 0.0
    assert result.standardised < -1.0
    assert "below 0.05" in result.in_words()
    plain = result.to_dict()
    assert plain["p"] == result.p
    assert len(plain["participants"]) == 24


def test_arms_that_lose_different_people_are_a_doubt():
    records = records_of(STUDY, 40)
    records.finished[(records.arms == "fixed") & (records.places < 10)] = False
    assert any("differ in exclusions" in doubt for doubt in analyse(STUDY, records).doubts)


def test_rows_as_exports_have_them_come_back():
    records = records_of(STUDY, 4)
    labels = STUDY.problem.world.labels
    people, rounds = [], []
    for i, name in enumerate(records.participants):
        people.append({"participant": name, "arm": records.arms[i], "place": i // 2,
                       "status": "finished", "failed_checks": 0})  # fmt: skip
        for t in range(records.answers.shape[1]):
            seen = np.flatnonzero(records.shown[i, t])
            rounds.append({"participant": name, "trial": t,
                           "shown": ";".join(labels[j] for j in seen),
                           "values": ";".join(repr(float(records.values[i, t, j])) for j in seen),
                           "prediction": float(records.answers[i, t]),
                           "outcome": float(records.outcomes[i, t]),
                           "seconds": None})  # fmt: skip
    again = Records.from_rows(STUDY, people, rounds)
    for field in ("shown", "values", "answers", "outcomes", "places", "arms"):
        np.testing.assert_array_equal(getattr(again, field), getattr(records, field))
    assert np.isnan(again.seconds).all()
    both = concatenate([records, records])
    assert len(set(both.participants)) == 8


def test_kinds_are_counted():
    shares = np.array([0.95, 0.05, 0.5, 0.95, 0.05, 0.97, 0.5])
    unrelated = np.array([0.01, 0.01, 0.01, 0.06, 0.5, 0.92, 0.99])
    # The fourth: 0.94 x 0.95 is below 0.9.
    assert KindCounts.of(shares, unrelated) == KindCounts(1, 1, 3, 2)
    study = study_of("decisive")
    result = analyse(study, records_of(study, 4, arms=("without-blue",)))
    assert isinstance(result, AnalysisResult)
    assert sum(vars(result.verdicts[0]).values()) + result.excluded.count(UNRELATED) == 4
    assert "learn from outcomes" in result.in_words()


def test_unrelated_answers_have_the_probability_of_an_integral():
    records = records_of(STUDY, 1)
    records.answers[:, 9:] = np.nan
    records.shown[:] = [True, False]
    results = records.values[0, :9, 0] = np.random.default_rng(3).normal(50.0, 10.0, 9)
    x, y = results - results.mean(), records.answers[0, :9] - records.answers[0, :9].mean()
    y = y + 0.5 * x
    records.answers[0, :9] = 100.0 + y

    # The constant is integrated out; sums over grids of the scatter and, in its units, the weight.
    log_scatter, steps = np.linspace(-2.0, 6.0, 801), np.linspace(-30.0, 30.0, 1201)
    scatter = np.exp(log_scatter)[:, None]
    unit = scatter / np.sqrt(x @ x)
    weight = x @ y / (x @ x) + unit * steps
    squares = y @ y - 2.0 * weight * (x @ y) + weight**2 * (x @ x)
    prior = stats.norm.pdf(weight, 0.0, 3.0 * unit)
    inner = np.exp(-8.0 * log_scatter[:, None] - squares / (2.0 * scatter**2)) * prior * unit
    with_weight = inner.sum() * (steps[1] - steps[0])
    none = np.exp(-8.0 * log_scatter - y @ y / (2.0 * scatter[:, 0] ** 2)).sum()
    (found,) = unrelated_probability(records)
    assert 0.02 < found < 0.98
    assert found == pytest.approx(none / (none + with_weight), rel=1e-4)


def test_answers_that_cannot_be_judged_are_left_open():
    records = records_of(STUDY, 3)
    records.answers[0] = np.nan
    records.answers[1, 2:] = np.nan
    records.values[2] = np.where(records.shown[2], 50.0, np.nan)
    found = unrelated_probability(records)
    assert np.isnan(found[0])
    # Two answers are on a line in any case; without any variation nothing can be followed.
    assert found[1:] == pytest.approx([0.5, 0.5])


@pytest.mark.few(2)
@pytest.mark.parametrize("rule", [0.9, None])
@pytest.mark.parametrize("noise", ["uniform", "normal", "mean"])
def test_noise_is_neither(noise, rule):
    data = copy.deepcopy(dict(parse_toml(template("decisive"))))
    data["exclusions"]["unrelated_answers"] = rule
    study = Study.from_dict(
        {**data, "exclusions": {k: v for k, v in data["exclusions"].items() if v}}
    )
    records = records_of(study, 300, arms=("without-blue",))
    rng = np.random.default_rng(8)
    drawn = {
        "uniform": rng.uniform(40.0, 160.0, records.answers.shape),
        "normal": rng.normal(100.0, 10.0, records.answers.shape),
        "mean": rng.integers(99, 102, records.answers.shape),
    }[noise]
    result = analyse(study, dataclasses.replace(records, answers=np.round(drawn)))
    assert not result.is_significant
    assert result.verdicts[0].decided < 5
    excluded = result.excluded.count(UNRELATED)
    assert result.verdicts[0].unrelated + excluded > 250
    assert (excluded > 0) == (rule is not None)
    assert f"participants {UNRELATED}" in result.in_words() or rule is None


def test_more_people_than_noise_gives_have_to_be_decided():
    # 30 of 300 are decided, all of them alike: by a sign test alone, p is 2e-9.
    few = _signs(KindCounts(0, 30, 70, 200), 300, 0.05)
    assert few.p == pytest.approx(stats.binom.sf(29, 300, 1 / 9))
    assert "at random" in few.doubts[0]
    many = _signs(KindCounts(0, 30, 10, 0), 40, 0.05)
    assert many.p == pytest.approx(2.0**-29)
    assert not many.doubts


@pytest.mark.slow
def test_the_level_is_kept_where_there_is_no_effect():
    rng = np.random.default_rng(5)
    hits = {"permutation": 0, "welch": 0}
    for _ in range(1000):
        # What cases make of everybody is shared by arms; people are skewed, as errors are.
        first, second = rng.exponential(size=(2, 12)) + rng.exponential(size=12)
        for test in hits:
            hits[test] += compare(study_by_test(test), first, second, 4096).p < 0.05
    assert stats.binomtest(hits["permutation"], 1000, 0.05).pvalue > 0.001
    # Without the matching, half of the variance is there that cancels: the test is too careful.
    assert hits["welch"] < 25


@functools.cache
def study_by_test(test):
    return study_of(test=test)


def alike(measure, cases, kind):
    """A study whose arms show the same, so that there is nothing to be found."""
    data = copy.deepcopy(dict(parse_toml(template("plan-or-fixed"))))
    shown = [{"show": ["amber"], "rounds": 12}]
    data["arm"] = [{"name": name, "policy": "sets", "sets": shown} for name in ARMS]
    data["problem"]["horizon"] = 12
    for block in data["block"]:
        if block["kind"] == "training":
            block.update(rounds=12, check=[])
        if block["kind"] == "test":
            block["cases"] = cases
    data["analysis"].update(measure=measure)
    data["assumed"]["kind"] = [{"human": each} for each in kind]
    return Study.from_dict(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "cases", "kind", "people"),
    [
        ("test error", "own", ["no-learning"], 20),
        ("test error", "common", ["delta-rule"], 10),
        ("training error", "own", ["no-learning"], 10),
        ("training error", "own", ["delta-rule", "by-showings", "no-learning"], 40),
    ],
)
def test_the_level_is_kept_in_studies_as_they_are_played(measure, cases, kind, people):
    study = alike(measure, cases, kind)
    stage, kinds = make_stage(study, make_arms(study), people), assumptions(study)
    hits, studies = 0, 1000
    for seed in range(studies):
        rng = np.random.default_rng([people, seed])
        records = played(stage, kinds, recruited(stage, kinds, people, rng), rng)
        hits += analyse(study, records, resamples=999).p < 0.05
    assert stats.binomtest(int(hits), studies, 0.05).pvalue > 0.001
