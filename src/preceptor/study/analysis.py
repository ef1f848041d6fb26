"""The registered analysis: what the study file says is computed, and nothing else.

>>> import numpy as np
>>> from preceptor.study import Study
>>> from preceptor.study.beginning import begun
>>> from preceptor._base.parsing import parse_toml
>>> study = Study.from_dict(parse_toml(begun("plan-or-fixed", "try", 1)))
>>> rng = np.random.default_rng(0)
>>> found = compare(study, rng.normal(3.0, 1.0, 20), rng.normal(5.0, 1.0, 20))
>>> found.p < 0.001, found.effect < -1.0
(True, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray
from preceptor._base.words import counted, listed
from preceptor.diagnosis.kind_posterior import SURE
from preceptor.study.measures import (
    MEASURES,
    charged,
    outcome_share,
    reasons,
    slope_change,
    trials_of,
)
from preceptor.study.records import Records
from preceptor.study.significance import (
    RESAMPLES,
    Found,
    mixed,
    permutation,
    standardised,
    welch,
)
from preceptor.study.study import Study

# With fewer people than this in an arm, intervals are taken with a grain of salt.
_FEW = 10


@dataclass(frozen=True)
class Verdicts:
    """How people learn, counted: from outcomes, not from outcomes, not decided."""

    outcomes: int
    others: int
    undecided: int

    @classmethod
    def of(cls, shares: FloatArray) -> Verdicts:
        """From everybody's probability to learn from outcomes."""
        yes, no = int((shares >= SURE).sum()), int((shares <= 1.0 - SURE).sum())
        return cls(yes, no, len(shares) - yes - no)


@dataclass(frozen=True, eq=False)
class Result:
    """What the registered analysis found.

    Attributes
    ----------
    measure, test, alternative, level
        As registered.
    arms
        Those compared; one where people are compared with themselves.
    people
        How many of each arm were analysed.
    means, deviations
        Of the measure, in each arm.
    effect, low, high
        First arm minus second (or the mean of the one arm), with its 1 - level interval.
    standardised
        Hedges' g.
    p
        NaN where the test could not be carried out.
    verdicts
        For the measure `kind`: how many people of each arm learn in which way.
    slope
        Mean change of the slope on the probed test with its interval, where one is named and there
        is one arm.
    participants, excluded, numbers
        Everybody, why they are left out (empty if they are not), and what was measured.
    doubts
        What to be wary of, in sentences.
    """

    measure: str
    test: str
    alternative: str
    level: float
    arms: tuple[str, ...]
    people: tuple[int, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    effect: float
    low: float
    high: float
    standardised: float
    p: float
    participants: tuple[str, ...]
    excluded: tuple[str, ...]
    numbers: FloatArray
    verdicts: tuple[Verdicts, ...] = ()
    slope: tuple[float, float, float] | None = None
    doubts: tuple[str, ...] = ()

    @property
    def is_significant(self) -> bool:
        """Whether p is below the level; not where there is none."""
        return bool(self.p < self.level)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None where a number could not be computed."""
        said = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("numbers", "verdicts", "participants", "excluded")
        }
        said["verdicts"] = [vars(each) for each in self.verdicts]
        said["participants"] = [
            {"participant": who, "excluded": why, "measure": float(number)}
            for who, why, number in zip(self.participants, self.excluded, self.numbers, strict=True)
        ]
        return {name: plain(part) for name, part in said.items()}

    def in_words(self) -> str:
        """A few sentences that can go into a paper."""
        out = sum(bool(why) for why in self.excluded)
        whom = [f"{n} of {arm}" for n, arm in zip(self.people, self.arms, strict=True)]
        lines = [
            f"Analysed: {listed(whom)} ({out} of {len(self.excluded)} people left out by the "
            "registered rules)."
        ]
        if self.measure == "kind":
            lines += [_kinds(a, v) for a, v in zip(self.arms, self.verdicts, strict=True)]
        each = [
            f"{mean:.4g} (sd {sd:.3g}) in {arm}"
            for arm, mean, sd in zip(self.arms, self.means, self.deviations, strict=True)
        ]
        what = "Probability of learning from outcomes" if self.measure == "kind" else self.measure
        lines.append(f"{what[0].upper()}{what[1:]}: {listed(each)}.")
        if self.measure != "kind" or len(self.arms) == 2:
            effect = "Difference" if len(self.arms) == 2 else "Mean"
            lines.append(
                f"{effect} {self.effect:.4g} ({1 - self.level:.0%} interval {self.low:.4g} to "
                f"{self.high:.4g}), {self.standardised:.2f} standard deviations of people."
            )
        if self.slope is not None:
            mean, low, high = self.slope
            lines.append(
                f"Slope on the probed test changed by {mean:.3g} ({1 - self.level:.0%} interval "
                f"{low:.3g} to {high:.3g})."
            )
        lines.append(self._verdict())
        return "\n".join([*lines, *(f"Note: {doubt}." for doubt in self.doubts)])

    def _verdict(self) -> str:
        if math.isnan(self.p):
            return "There is no p-value."
        kind = "Sign" if self.measure == "kind" and len(self.arms) == 1 else self.test.title()
        said = f"{kind} test, {self.alternative}: p = {self.p:.3g}"
        if self.is_significant:
            return f"{said}, below {self.level:g}."
        return f"{said}, not below {self.level:g}; that does not show that there is no effect."


def analyse(
    study: Study,
    records: Records,
    *,
    resamples: int = RESAMPLES,
    workers: int | None = 1,
    progress: Progress | None = None,
) -> Result:
    """Carry out the registered analysis.

    Parameters
    ----------
    study
        What was registered.
    records
        What people did, whoever is to be left out included.
    resamples
        Of a permutation test that is too large to be exact.
    workers
        In how many processes people are read, for the measure `kind`; None is one for each core.
    progress
        Called as people are read.

    Returns
    -------
    Result
        With everybody's number and why people were left out.
    """
    said = study.configuration.analysis
    if said.measure == "kind":
        numbers = outcome_share(study, records, workers, progress)
    else:
        numbers = MEASURES[said.measure](study, records)
    why = left_out(study, records, numbers)
    return judged(study, records, numbers, why, resamples)


def left_out(study: Study, records: Records, numbers: FloatArray) -> tuple[str, ...]:
    """Why people are left out: by the rules of the file, or since nothing could be measured."""
    return tuple(
        why or ("not measured" if np.isnan(number) else "")
        for why, number in zip(reasons(study, records), numbers, strict=True)
    )


def judged(
    study: Study,
    records: Records,
    numbers: FloatArray,
    why: tuple[str, ...],
    resamples: int = RESAMPLES,
    seed: int | None = None,
) -> Result:
    """The test alone: from everybody's number and reasons to be left out.

    `seed` is that of permutations, the study's own if left out.
    """
    said = study.configuration.analysis
    kept = np.array([not reason for reason in why], dtype=np.bool_)
    rows = [kept & (records.arms == name) for name in said.compare]
    groups = [numbers[row] for row in rows]
    doubts = [
        f"only {counted(len(group), 'person')} in {name}: intervals and p-values say little"
        for name, group in zip(said.compare, groups, strict=True)
        if len(group) < _FEW
    ]
    doubts += _uneven(records, kept, said.compare)
    found = Found(math.nan, math.nan, math.nan, math.nan)
    if min(len(group) for group in groups) < 2:
        doubts.append("fewer than two people in an arm: nothing can be tested")
    elif said.test == "mixed" and len(groups) == 2 and said.measure != "kind":
        found = _mixed(study, records, numbers, rows)
    elif said.measure == "kind" and len(groups) == 1:
        found = _signs(groups[0], said.level)
    elif said.test == "permutation" and len(groups) == 2:
        found = _paired(study, records, numbers, rows, resamples, seed)
    else:
        found = compare(study, groups[0], groups[1] if len(groups) > 1 else None, resamples, seed)
    slope = None
    if said.measure == "kind" and said.probe is not None and len(groups) == 1:
        change = slope_change(study, records)[rows[0]]
        change = change[np.isfinite(change)]
        if len(change) > 1:
            got = welch(change, None, "two-sided", said.level)
            slope = (got.effect, got.low, got.high)
    many = [len(group) > 1 for group in groups]
    return Result(
        said.measure,
        said.test,
        said.alternative,
        said.level,
        tuple(said.compare),
        tuple(len(group) for group in groups),
        tuple(float(group.mean()) if group.size else math.nan for group in groups),
        tuple(float(g.std(ddof=1)) if m else math.nan for g, m in zip(groups, many, strict=True)),
        found.effect,
        found.low,
        found.high,
        standardised(groups[0], groups[1] if len(groups) > 1 else None) if all(many) else math.nan,
        found.p,
        records.participants,
        why,
        numbers,
        tuple(Verdicts.of(group) for group in groups) if said.measure == "kind" else (),
        slope,
        (*doubts, *found.doubts),
    )


def compare(
    study: Study,
    first: FloatArray,
    second: FloatArray | None,
    resamples: int = RESAMPLES,
    seed: int | None = None,
) -> Found:
    """The registered test of one number a person, as it stands.

    Parameters
    ----------
    study
        What was registered.
    first
        Numbers of the first arm.
    second
        Numbers of the second, for a permutation test in the same order of places; None to compare
        the first with 0.
    resamples
        Of a permutation test that is too large to be exact.
    seed
        Of permutations; the study's own if left out.

    Returns
    -------
    Found
        Effect, interval and p-value.
    """
    said = study.configuration.analysis
    if said.test == "permutation":
        numbers = first if second is None else first - second
        chance = study.configuration.seed if seed is None else seed
        return permutation(numbers, said.alternative, said.level, chance, resamples)
    return welch(first, second, said.alternative, said.level)


def _paired(
    study: Study,
    records: Records,
    numbers: FloatArray,
    rows: list[npt.NDArray[np.bool_]],
    resamples: int,
    seed: int | None,
) -> Found:
    """Place by place: those at the same one met the same cases."""
    by_place = []
    for row in rows:
        # Whoever dropped out may share a place with who came after, where the rules keep both.
        places, inverse = np.unique(records.places[row], return_inverse=True)
        means = np.bincount(inverse, numbers[row]) / np.bincount(inverse)
        by_place.append(dict(zip(places.tolist(), means.tolist(), strict=True)))
    both = sorted(set(by_place[0]) & set(by_place[1]))
    alone = len(set(by_place[0]) ^ set(by_place[1]))
    doubts = []
    if alone:
        doubts.append(
            f"at {counted(alone, 'place')} one arm is empty; whoever is there does not enter the "
            "test"
        )
    if len(both) < 2:
        doubts.append("fewer than two places have people of both arms: nothing can be tested")
        return Found(math.nan, math.nan, math.nan, math.nan, tuple(doubts))
    first, second = (np.array([mean[place] for place in both]) for mean in by_place)
    found = compare(study, first, second, resamples, seed)
    return replace(found, doubts=(*doubts, *found.doubts))


def _mixed(
    study: Study, records: Records, numbers: FloatArray, rows: list[npt.NDArray[np.bool_]]
) -> Found:
    said = study.configuration.analysis
    who = np.flatnonzero(rows[0] | rows[1])
    if "error" in said.measure:
        by_round = charged(study, records)[:, trials_of(study, said.measure)]
        person, trial = np.nonzero(np.isfinite(by_round[who]))
        person, values = who[person], by_round[who[person], trial]
    else:
        person, values = who, numbers[who]
    return mixed(
        values,
        rows[0][person].astype(float),
        person.astype(float),
        records.places[person].astype(float),
        said.alternative,
        said.level,
    )


def _signs(shares: FloatArray, level: float) -> Found:
    """Of people whose kind is decided: do more learn from outcomes than not? An exact sign test."""
    found = Verdicts.of(shares)
    decided = found.outcomes + found.others
    if decided == 0:
        why = "nobody's way to learn is decided; there is no p-value"
        return Found(math.nan, math.nan, math.nan, math.nan, (why,))
    test = stats.binomtest(found.outcomes, decided, 0.5)
    made = test.proportion_ci(1.0 - level)
    return Found(found.outcomes / decided, made.low, made.high, float(test.pvalue))


def _uneven(records: Records, kept: npt.NDArray[np.bool_], arms: list[str]) -> list[str]:
    """Whether arms lose different shares of their people, which may bias what is left."""
    if len(arms) < 2:
        return []
    table = [[int((kept & (records.arms == a)).sum()), int((~kept & (records.arms == a)).sum())]
             for a in arms]  # fmt: skip
    if stats.fisher_exact(np.array(table)).pvalue >= 0.05:
        return []
    said = [f"{out} of {out + ins} in {a}" for a, (ins, out) in zip(arms, table, strict=True)]
    return [f"arms differ in who is left out: {listed(said)}"]


def _kinds(arm: str, found: Verdicts) -> str:
    total = found.outcomes + found.others + found.undecided
    made = stats.binomtest(found.outcomes, max(total, 1)).proportion_ci(0.95)
    return (
        f"{arm}: {found.outcomes} of {total} learn from outcomes (95% interval {made.low:.0%} to "
        f"{made.high:.0%}), {found.others} do not, {found.undecided} stay open."
    )


def plain(part: Any) -> Any:
    """Data that JSON can hold: None where a number could not be computed."""
    if isinstance(part, float):
        return part if math.isfinite(part) else None
    if isinstance(part, (list, tuple)):
        return [plain(each) for each in part]
    if isinstance(part, dict):
        return {name: plain(each) for name, each in part.items()}
    return part
