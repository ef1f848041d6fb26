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
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray
from preceptor._base.words import counted, listed
from preceptor.study.analysis_result import Result, Verdicts
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
