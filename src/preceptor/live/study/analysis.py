"""The registered analysis: what the study file says, and nothing else; and its result in words.

Tests compare a first group with a second, or one group with 0. None falls back on another: if a
test cannot be carried out, there is no p-value, and a sentence says why. Everything that a test
reports (effect, interval, standard deviation, p-value) belongs to the same comparison.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted, listed
from preceptor.learners.families import SURE
from preceptor.live.study.config import Analysis
from preceptor.live.study.measures import (
    MEASURES,
    UNRELATED,
    Records,
    reasons_by_rule,
    slope_change,
    unrelated_probability,
)
from preceptor.live.study.study import Study

# Permutations of a test that is too large to be exact.
RESAMPLES = 9_999
Alternative = Literal["two-sided", "less"]


@dataclass(frozen=True)
class GroupDifference:
    """Result of a test: first group minus second, or the mean of one group.

    Attributes
    ----------
    effect, low, high
        With its 1 - level interval.
    p
        NaN if the test could not be carried out; `doubts` say why.
    effect_deviation, degrees
        Standard deviation that the interval was computed from, with its degrees of freedom: of
        differences between people at the same place where these are compared, else of people. NaN
        for a sign test, whose effect is a share.
    doubts
        Warnings, in sentences.
    """

    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    effect_deviation: float = math.nan
    degrees: int = 0
    doubts: tuple[str, ...] = ()

    @property
    def standardised(self) -> float:
        """Hedges' g: the effect in standard deviations, corrected for small samples.

        NaN with one degree of freedom, where the correction makes it 0.
        """
        if not self.effect_deviation > 0.0 or self.degrees < 2:
            return math.nan
        return self.effect / self.effect_deviation * (1.0 - 3.0 / (4.0 * self.degrees - 1.0))


def welch(
    first: FloatArray, second: FloatArray | None, alternative: Alternative, level: float
) -> GroupDifference:
    """Welch's t-test; of one group, the t-test against 0.

    The standard deviation of two groups is pooled.
    """
    if second is None:
        groups, both = [first], stats.ttest_1samp(first, 0.0)
        p = stats.ttest_1samp(first, 0.0, alternative=alternative).pvalue
    else:
        groups, both = [first, second], stats.ttest_ind(first, second, equal_var=False)
        p = stats.ttest_ind(first, second, equal_var=False, alternative=alternative).pvalue
    made = both.confidence_interval(1.0 - level)
    effect = float(first.mean() - (0.0 if second is None else second.mean()))
    degrees = sum(len(group) - 1 for group in groups)
    squares = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)
    deviation = math.sqrt(squares / degrees)
    return GroupDifference(effect, float(made.low), float(made.high), float(p), deviation, degrees)


def permutation(
    numbers: FloatArray,
    alternative: Alternative,
    level: float,
    seed: int,
    resamples: int = RESAMPLES,
) -> GroupDifference:
    """Permutation test of whether the mean is 0: signs are flipped.

    Of two arms, `numbers` are differences between people who have the same place and so met the
    same cases: flipping a sign swaps their arms. Exact where there are no more than `resamples`
    ways to do that. The interval is Student's. Numbers are put in order first, so that nothing
    depends on the order of rows.
    """
    doubts, numbers = [], np.sort(numbers)
    least = (2.0 if alternative == "two-sided" else 1.0) / 2.0 ** len(numbers)
    if least > level:
        doubts.append(
            f"with this few people the smallest possible p-value is {least:.2g}, above {level:g}: "
            "significance is impossible"
        )
    found = stats.permutation_test(
        [numbers],
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        alternative=alternative,
        rng=np.random.default_rng(seed),
    )
    student = welch(numbers, None, alternative, level)
    return replace(student, p=float(found.pvalue), doubts=tuple(doubts))


@dataclass(frozen=True)
class KindCounts:
    """Numbers of people who learn from outcomes, who do not, and who are undecided.

    `unrelated` are those of whom neither can be said: their answers do not depend on the tests.
    """

    outcomes: int
    others: int
    undecided: int
    unrelated: int

    @classmethod
    def of(cls, shares: FloatArray, unrelated: FloatArray) -> KindCounts:
        """Count from posterior probabilities.

        `shares` are those of learning from outcomes if answers depend on the tests at all,
        `unrelated` those that they do not.
        """
        related = 1.0 - unrelated
        found = (related * shares, related * (1.0 - shares), unrelated)
        yes, no, neither = (int((each >= SURE).sum()) for each in found)
        return cls(yes, no, len(shares) - yes - no - neither, neither)

    @property
    def decided(self) -> int:
        """Number of people who learn from outcomes, or do not."""
        return self.outcomes + self.others


@dataclass(frozen=True, eq=False, kw_only=True)
class AnalysisResult(GroupDifference):
    """Result of the registered analysis: the first arm minus the second, or the one arm.

    Attributes
    ----------
    registered
        The analysis as the study file has it; its `compare` names one or two arms.
    people
        Participants of each arm who were analysed; for a permutation test, those at places that
        both arms have.
    means, deviations
        Of the measure, in each arm.
    verdicts
        For the measure `kind`: how the people of each arm learn.
    slope
        Mean change of the slope on the probed test with its interval, where one is named and there
        is one arm.
    participants, excluded, numbers
        All participants, why they are excluded (empty if they are not), and their measures.
    """

    registered: Analysis
    people: tuple[int, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    participants: tuple[str, ...]
    excluded: tuple[str, ...]
    numbers: FloatArray
    verdicts: tuple[KindCounts, ...] = ()
    slope: tuple[float, float, float] | None = None

    @property
    def is_significant(self) -> bool:
        """Whether p is below the level; False without a p-value."""
        return bool(self.p < self.registered.level)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None where a number could not be computed."""
        said, per_person = vars(self).copy(), ("participants", "excluded", "numbers")
        people = zip(*(said.pop(name) for name in per_person), strict=True)
        asked = said.pop("registered")
        return without_nan(
            {
                **{name: getattr(asked, name) for name in ("measure", "test", "alternative")},
                "level": asked.level,
                "arms": asked.compare,
                **said,
                "standardised": self.standardised,
                "verdicts": [vars(each) for each in self.verdicts],
                "participants": [
                    {"participant": who, "excluded": why, "measure": float(number)}
                    for who, why, number in people
                ],
            }
        )

    def in_words(self) -> str:
        """Sentences for a paper."""
        said = self.registered
        out = sum(bool(why) for why in self.excluded)
        analysed = [f"{n} of {arm}" for n, arm in zip(self.people, said.compare, strict=True)]
        lines = [
            f"Analysed: {listed(analysed)} ({out} of {len(self.excluded)} participants excluded "
            "by the registered rules)."
        ]
        if neither := self.excluded.count(UNRELATED):
            lines.append(f"Neither: of {counted(neither, 'participant')} {UNRELATED}.")
        if said.measure == "kind":
            lines += [_kinds(a, v) for a, v in zip(said.compare, self.verdicts, strict=True)]
        each = [
            f"{mean:.4g} (sd {sd:.3g}) in {arm}"
            for arm, mean, sd in zip(said.compare, self.means, self.deviations, strict=True)
        ]
        what = "Probability of learning from outcomes" if said.measure == "kind" else said.measure
        lines.append(f"{what[0].upper()}{what[1:]}: {listed(each)}.")
        sure = f"{1 - said.level:.0%} interval"
        if said.measure != "kind" or len(said.compare) == 2:
            size = f", {self.standardised:.2f} of these standard deviations"
            lines.append(
                f"{self._effect()}: {self.effect:.4g} (sd {self.effect_deviation:.3g}, "
                f"{sure} {self.low:.4g} to {self.high:.4g})"
                f"{'' if math.isnan(self.standardised) else size}."
            )
        if self.slope is not None:
            mean, low, high = self.slope
            lines.append(
                f"Slope on the probed test changed by {mean:.3g} ({sure} {low:.3g} to {high:.3g})."
            )
        lines.append(self._verdict())
        return "\n".join([*lines, *(f"Note: {doubt}." for doubt in self.doubts)])

    def _effect(self) -> str:
        if len(self.registered.compare) == 1:
            return "Mean"
        of = "arms" if self.registered.test == "welch" else "people at the same place"
        return f"Difference between {of}"

    def _verdict(self) -> str:
        if math.isnan(self.p):
            return "There is no p-value."
        said = self.registered
        is_sign = said.measure == "kind" and len(said.compare) == 1
        kind = "Sign" if is_sign else said.test.title()
        words = f"{kind} test, {said.alternative}: p = {self.p:.3g}"
        if self.is_significant:
            return f"{words}, below {said.level:g}."
        return f"{words}, not below {said.level:g}; that does not show that there is no effect."


def _kinds(arm: str, found: KindCounts) -> str:
    total = found.decided + found.unrelated + found.undecided
    made = stats.binomtest(found.outcomes, max(total, 1)).proportion_ci(0.95)
    return (
        f"{arm}: {found.outcomes} of {total} learn from outcomes (95% interval {made.low:.0%} to "
        f"{made.high:.0%}), {found.others} do not, {found.unrelated} neither ({UNRELATED}), "
        f"{found.undecided} are undecided."
    )


def without_nan(content: dict[str, Any]) -> dict[str, Any]:
    """Plain data as JSON has it; None for numbers that could not be computed."""
    plain: dict[str, Any] = json.loads(json.dumps(content), parse_constant=lambda _: None)
    return plain


# With fewer people than this in an arm, intervals say little and only large effects are found.
FEW = 10


def analyse(study: Study, records: Records, *, resamples: int = RESAMPLES) -> AnalysisResult:
    """Carry out the registered analysis.

    Parameters
    ----------
    study
        The registered study.
    records
        What participants did, including those who will be excluded.
    resamples
        For permutation tests that are too large to be exact.

    Returns
    -------
    AnalysisResult
        With the measure of each participant, and reasons for exclusions.
    """
    said = study.configuration.analysis
    numbers = MEASURES[said.measure](study, records)
    why = exclusion_reasons(study, records, numbers)
    return run_registered_test(study, records, numbers, why, resamples)


def exclusion_reasons(study: Study, records: Records, numbers: FloatArray) -> tuple[str, ...]:
    """Why participants are excluded: by the rules of the file, or because they have no measure."""
    return tuple(
        why or ("not measured" if np.isnan(number) else "")
        for why, number in zip(reasons_by_rule(study, records), numbers, strict=True)
    )


def run_registered_test(
    study: Study,
    records: Records,
    numbers: FloatArray,
    why: tuple[str, ...],
    resamples: int = RESAMPLES,
    seed: int | None = None,
) -> AnalysisResult:
    """Carry out the test, given the measures and the reasons for exclusions.

    `seed` is for permutations; by default the study's.
    """
    said = study.configuration.analysis
    kept = np.array([not reason for reason in why], dtype=np.bool_)
    rows = [kept & (records.arms == name) for name in said.compare]
    groups = [numbers[row] for row in rows]
    lonely: list[str] = []
    is_paired = said.test == "permutation" and len(rows) == 2
    if is_paired:
        places = [set(records.places[row].tolist()) for row in rows]
        both = sorted(places[0] & places[1])
        if alone := len(places[0] ^ places[1]):
            lonely.append(
                f"at {counted(alone, 'place')} one arm is empty; the participant there does "
                "not enter the test"
            )
        if len(both) > 1:
            rows = [row & np.isin(records.places, both) for row in rows]
            groups = [_by_place(numbers[row], records.places[row]) for row in rows]
    doubts = [
        f"only {counted(int(row.sum()), 'person')} in {name}: intervals and p-values say little"
        for name, row in zip(said.compare, rows, strict=True)
        if row.sum() < FEW
    ]
    doubts += _uneven(records, kept, said.compare)
    verdicts: tuple[KindCounts, ...] = ()
    if said.measure == "kind":
        unrelated = unrelated_probability(records)
        verdicts = tuple(KindCounts.of(numbers[row], unrelated[row]) for row in rows)
    if min(len(group) for group in groups) < 2:
        found = GroupDifference(doubts=("fewer than two people in an arm: nothing can be tested",))
    elif is_paired and len(both) < 2:
        why_not = "fewer than two places have people of both arms: nothing can be tested"
        found = GroupDifference(doubts=(why_not,))
    elif said.measure == "kind" and len(groups) == 1:
        neither = (np.array(why) == UNRELATED) & (records.arms == said.compare[0])
        asked = len(groups[0]) + int(neither.sum())
        found = _signs(verdicts[0], asked, said.level)
    else:
        found = compare(study, groups[0], groups[1] if len(groups) > 1 else None, resamples, seed)
    slope = None
    if said.measure == "kind" and said.probe is not None and len(groups) == 1:
        change = slope_change(study, records)[rows[0]]
        change = change[np.isfinite(change)]
        if len(change) > 1:
            got = welch(change, None, "two-sided", said.level)
            slope = (got.effect, got.low, got.high)
    return AnalysisResult(
        **{**vars(found), "doubts": (*doubts, *lonely, *found.doubts)},
        registered=said,
        people=tuple(int(row.sum()) for row in rows),
        means=tuple(float(g.mean()) if g.size else math.nan for g in groups),
        deviations=tuple(float(g.std(ddof=1)) if g.size > 1 else math.nan for g in groups),
        participants=records.participants,
        excluded=why,
        numbers=numbers,
        verdicts=verdicts,
        slope=slope,
    )


def compare(
    study: Study,
    first: FloatArray,
    second: FloatArray | None,
    resamples: int = RESAMPLES,
    seed: int | None = None,
) -> GroupDifference:
    """Carry out the registered test on one number per participant.

    Parameters
    ----------
    study
        The registered study.
    first
        Numbers of the first arm.
    second
        Numbers of the second arm, for a permutation test in the same order of places; None to
        compare the first with 0.
    resamples
        For permutation tests that are too large to be exact.
    seed
        For permutations; by default the study's.

    Returns
    -------
    GroupDifference
        Effect, interval and p-value.

    Examples
    --------
    >>> from preceptor._base.files import parse_toml
    >>> from preceptor.live.study.registration import from_template
    >>> study = Study.from_dict(parse_toml(from_template("plan-or-fixed", "try", 1)))
    >>> rng = np.random.default_rng(0)
    >>> found = compare(study, rng.normal(3.0, 1.0, 20), rng.normal(5.0, 1.0, 20))
    >>> found.p < 0.001, found.effect < -1.0
    (True, True)
    """
    said = study.configuration.analysis
    if said.test == "permutation":
        numbers = first if second is None else first - second
        chance = study.configuration.seed if seed is None else seed
        return permutation(numbers, said.alternative, said.level, chance, resamples)
    return welch(first, second, said.alternative, said.level)


def _by_place(numbers: FloatArray, places: IntArray) -> FloatArray:
    """Mean of each place, in order.

    A participant who dropped out may share a place with a later one, if the rules keep both.
    """
    _, at = np.unique(places, return_inverse=True)
    means: FloatArray = np.bincount(at, numbers) / np.bincount(at)
    return means


def _signs(found: KindCounts, people: int, level: float) -> GroupDifference:
    """Exact sign test: of the people whose kind is decided, do most learn from outcomes?

    The p-value is the larger one of two. The other is of the hypothesis that all `people`
    (including those who were excluded because their answers do not depend on the tests) answer at
    random: a kind is decided for one in nine of them at most (`unrelated_probability`).
    """
    if found.decided == 0:
        why = "the kind of no participant is decided; there is no p-value"
        return GroupDifference(doubts=(why,))
    test = stats.binomtest(found.outcomes, found.decided, 0.5)
    noise = stats.binomtest(found.decided, people, (1.0 - SURE) / SURE, alternative="greater")
    doubts: tuple[str, ...] = ()
    if noise.pvalue >= level:
        doubts = ("if everybody answered at random, as many people could be decided",)
    made = test.proportion_ci(1.0 - level)
    p = max(float(test.pvalue), float(noise.pvalue))
    share = found.outcomes / found.decided
    return GroupDifference(share, made.low, made.high, p, doubts=doubts)


def _uneven(records: Records, kept: npt.NDArray[np.bool_], arms: list[str]) -> list[str]:
    """Whether arms exclude different shares of participants, which may bias the comparison."""
    if len(arms) < 2:
        return []
    table = [[int((kept & (records.arms == a)).sum()), int((~kept & (records.arms == a)).sum())]
             for a in arms]  # fmt: skip
    if stats.fisher_exact(np.array(table)).pvalue >= 0.05:
        return []
    said = [f"{out} of {out + ins} in {a}" for a, (ins, out) in zip(arms, table, strict=True)]
    return [f"arms differ in exclusions: {listed(said)}"]
