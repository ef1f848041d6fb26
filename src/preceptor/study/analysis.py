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

import numpy as np
import numpy.typing as npt
from scipy import stats

from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted, listed
from preceptor.study.analysis_result import Result, Verdicts
from preceptor.study.measures import (
    MEASURES,
    outcome_share,
    reasons,
    slope_change,
)
from preceptor.study.records import Records
from preceptor.study.significance import (
    NO_PAIRS,
    RESAMPLES,
    Found,
    mixed,
    permutation,
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
    lonely: list[str] = []
    is_paired = said.test == "permutation" and len(rows) == 2
    if is_paired:
        places = [set(records.places[row].tolist()) for row in rows]
        both = sorted(places[0] & places[1])
        if alone := len(places[0] ^ places[1]):
            lonely.append(
                f"at {counted(alone, 'place')} one arm is empty; whoever is there does not enter "
                "the test"
            )
        if len(both) > 1:
            rows = [row & np.isin(records.places, both) for row in rows]
            groups = [_by_place(numbers[row], records.places[row]) for row in rows]
    doubts = [
        f"only {counted(int(row.sum()), 'person')} in {name}: intervals and p-values say little"
        for name, row in zip(said.compare, rows, strict=True)
        if row.sum() < _FEW
    ]
    doubts += _uneven(records, kept, said.compare)
    if min(len(group) for group in groups) < 2:
        found = Found(doubts=("fewer than two people in an arm: nothing can be tested",))
    elif is_paired and len(both) < 2:
        found = Found(doubts=(NO_PAIRS,))
    elif said.measure == "kind" and len(groups) == 1:
        found = _signs(groups[0], said.level)
    elif said.test == "mixed":
        who = rows[0] | rows[1]
        found = mixed(
            numbers[who],
            rows[0][who].astype(float),
            records.places[who],
            said.alternative,
            said.level,
        )
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
        tuple(int(row.sum()) for row in rows),
        found.means or tuple(float(g.mean()) if g.size else math.nan for g in groups),
        tuple(float(g.std(ddof=1)) if m else math.nan for g, m in zip(groups, many, strict=True)),
        found.effect,
        found.low,
        found.high,
        found.deviation,
        found.standardised,
        found.p,
        records.participants,
        why,
        numbers,
        tuple(Verdicts.of(group) for group in groups) if said.measure == "kind" else (),
        slope,
        (*doubts, *lonely, *found.doubts),
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


def _by_place(numbers: FloatArray, places: IntArray) -> FloatArray:
    """Mean of each place, in their order.

    Whoever dropped out may share a place with who came after, where the rules keep both.
    """
    _, at = np.unique(places, return_inverse=True)
    means: FloatArray = np.bincount(at, numbers) / np.bincount(at)
    return means


def _signs(shares: FloatArray, level: float) -> Found:
    """Of people whose kind is decided: do more learn from outcomes than not? An exact sign test."""
    found = Verdicts.of(shares)
    decided = found.outcomes + found.others
    if decided == 0:
        why = "nobody's way to learn is decided; there is no p-value"
        return Found(doubts=(why,))
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
