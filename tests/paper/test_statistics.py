"""Means, their intervals, and the rule by which a printed number agrees."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from preceptor.paper.experiment import Agreement
from preceptor.paper.printed import Printed, compare, fitted, mean_in_words, not_stated, statement
from preceptor.paper.sweep import SampleMean, mean_where, means

SAMPLE = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]


def test_intervals_are_scipys():
    mean = SampleMean.of([*SAMPLE, math.nan])
    low, high = stats.t.interval(0.95, len(SAMPLE) - 1, np.mean(SAMPLE), stats.sem(SAMPLE))
    assert_allclose([mean.value, mean.error], [np.mean(SAMPLE), stats.sem(SAMPLE)])
    assert_allclose([mean.low, mean.value + mean.margin], [low, high])
    assert mean.draws == len(SAMPLE)


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_nothing_has_no_mean(values):
    mean = SampleMean.of(values)
    assert math.isnan(mean.value)
    assert mean.draws == 0
    assert mean_in_words(mean, "%") == "-"


def test_one_draw_has_no_interval():
    mean = SampleMean.of([2.0])
    assert mean.value == 2.0
    assert math.isnan(mean.margin)
    assert not mean.says_something


def test_a_known_number_has_no_error():
    known = SampleMean.known(2.0)
    assert known.margin == 0.0
    assert known.margin_against(20) == 0.0


def test_means_come_by_group_and_in_order():
    frame = pd.DataFrame({"rho": [0.9, 0.1, 0.9, 0.1], "x": [1.0, 2.0, 3.0, 2.0]})
    table = means(frame, ["rho"], "x")
    assert list(table["rho"]) == [0.1, 0.9]
    assert list(table["mean"]) == [2.0, 2.0]
    assert table["low"][0] == table["high"][0] == 2.0
    assert table["low"][1] < 2.0 < table["high"][1]


def test_numbers_are_found_up_to_rounding():
    frame = pd.DataFrame({"rho": [0.1 + 0.5, 0.7], "kind": ["a", "b"], "x": [1.0, 2.0]})
    assert mean_where(frame, "x", rho=0.6, kind="a").value == 1.0
    assert mean_where(frame, "x", rho=0.6, kind="b").draws == 0


@pytest.mark.parametrize(
    ("relation", "ours", "verdict"),
    [
        ("=", 93.4, Agreement.AGREES),
        ("=", 93.6, Agreement.DIFFERS),
        ("≥", 92.6, Agreement.AGREES),
        ("≥", 92.4, Agreement.DIFFERS),
        (">", 99.0, Agreement.AGREES),
        ("≤", 93.4, Agreement.AGREES),
        ("≤", 93.6, Agreement.DIFFERS),
        ("<", 10.0, Agreement.AGREES),
    ],
)
def test_numbers_are_compared_with_the_rounding_of_print(relation, ours, verdict):
    printed = Printed("it keeps", 93, 0.5, relation=relation)
    assert compare(printed, SampleMean.known(ours)).verdict is verdict


@pytest.mark.parametrize(
    ("relation", "ours", "verdict"),
    [
        ("=", 93.4, Agreement.AGREES),
        ("=", 94.0, Agreement.COMPATIBLE),
        ("=", 99.0, Agreement.DIFFERS),
        ("≥", 95.0, Agreement.AGREES),
        ("≥", 92.0, Agreement.COMPATIBLE),
        ("≤", 88.0, Agreement.AGREES),
        ("≤", 94.0, Agreement.COMPATIBLE),
        ("≤", 99.0, Agreement.DIFFERS),
    ],
)
def test_overlapping_intervals_are_compatible_and_only_digits_agree(relation, ours, verdict):
    printed = Printed("it keeps", 93, 0.5, relation=relation)
    assert compare(printed, SampleMean(ours, 0.5, 20)).verdict is verdict


def test_what_was_chosen_to_fit_is_not_judged():
    printed = Printed("it keeps", 93, 0.5)
    assert fitted(printed, SampleMean.known(93.0), "so").verdict is Agreement.NOT_COMPARABLE
    assert fitted(printed, SampleMean.of([]), "so").verdict is Agreement.NOT_RUN


def test_what_was_not_run_is_not_judged():
    printed = Printed("it keeps", 93, 0.5)
    assert compare(printed, SampleMean.of([])).verdict is Agreement.NOT_RUN
    assert not_stated("something", SampleMean.of([1.0])).verdict is Agreement.NOT_SAID
    assert statement("it grows", "yes", "no", False).verdict is Agreement.DIFFERS
    assert statement("it grows", "yes", "it does", True).verdict is Agreement.HOLDS


def test_printed_numbers_are_quoted_as_printed():
    assert Printed("a", 121.00, 0.005, " rounds").text == "121.00 rounds"
    assert Printed("a", 93, 0.5).text == "93%"
    assert Printed("a", 0.5, 0.05, "", "≥").text == "≥ 0.5"
    assert mean_in_words(SampleMean(1234.5, math.nan, 1), "rounds") == "1,234 rounds"


@pytest.mark.full
def test_the_margin_beside_another_mean_holds_it_nineteen_times_in_twenty():
    """A mean of 20 other draws of the same kind is within the margin in about 95% of cases."""
    rng = np.random.default_rng(0)
    trials, agreed = 4000, 0
    for _ in range(trials):
        one, other = SampleMean.of(rng.normal(size=20)), SampleMean.of(rng.normal(size=20))
        agreed += abs(one.value - other.value) <= one.margin_against(other.draws)
    # With equal spreads the margin, Student's t with 19 degrees of freedom, is slightly wide.
    assert stats.binomtest(agreed, trials, 0.95).proportion_ci(0.999).low > 0.93
    assert agreed / trials < 0.97
