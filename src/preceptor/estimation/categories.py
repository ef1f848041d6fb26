"""Categories: which levels are told apart, and whether that pays in cases not yet seen.

Rare levels are merged, since a handful of cases weighs nothing. A category of many levels fits any
outcome a little, a random one too; so it stays only if the averages of its levels predict cases
that were left out of them better than one average does, of the outcome or of what the other tests
leave of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.estimation.columns import Column
from preceptor.estimation.findings import FEW_CASES, Findings, few
from preceptor.estimation.moments import location

# More levels than this and than half of the rows, and it is a name or an id, not a category.
_FEW_LEVELS = 10
# Cases that a level needs on average, and the most levels that anybody keeps apart.
_CASES_A_LEVEL, _MOST_LEVELS = 10, 40
# The levels that are kept must cover this share of the cases.
_COVERED = 0.5
# Categories of so many levels must show that they predict; fewer do as little harm as a number.
JUDGED = 6
OTHER = "other"


@dataclass(frozen=True, eq=False)
class Category:
    """A category after merging: `codes` (rows,) are positions in `levels`, -1 where missing.

    `reference` is the most common level; `became` has the level that each written one is part of;
    `remarks` are for those who keep the category.
    """

    name: str
    levels: tuple[str, ...]
    codes: IntArray
    reference: int
    became: dict[str, str]
    remarks: Findings

    @property
    def coded(self) -> list[int]:
        """Levels that have a column of their own."""
        return [code for code in range(len(self.levels)) if code != self.reference]

    def column_of(self, level: str) -> str:
        """The name of a level's column."""
        return f"{self.name}={level}"


def sorted_out(column: Column, values: FloatArray, found: Findings) -> Category | None:
    """A category with its rare levels merged, or None if it has too many, which is noted."""
    assert column.levels is not None
    codes = np.where(np.isnan(values), -1.0, values).astype(np.int64)
    times = np.bincount(codes[codes >= 0], minlength=len(column.levels))
    present, there = int(times.sum()), np.flatnonzero(times)
    if there.size > max(_FEW_LEVELS, present / 2):
        found.drop(
            column.name,
            f"{there.size:,} different texts in {present:,} cases name the cases rather than sort "
            "them",
        )
        return None
    most = min(_MOST_LEVELS, max(_FEW_LEVELS, present // _CASES_A_LEVEL))
    common = there[np.argsort(-times[there], kind="stable")]
    kept = [int(code) for code in common[: most if there.size <= most else most - 1]]
    if times[kept].sum() < _COVERED * present:
        found.drop(
            column.name,
            f"its {there.size:,} levels are too many for {present:,} cases; merge them into a few "
            "if they matter",
        )
        return None
    apart = [code for code in kept if times[code] >= FEW_CASES]
    merged = [int(code) for code in there if code not in set(apart)]
    if len(merged) < 2 or len(apart) < 2:
        apart, merged = [int(code) for code in there], []
    return _made(column, codes, times, sorted(apart), merged)


def _made(
    column: Column,
    codes: IntArray,
    times: IntArray,
    apart: list[int],
    merged: list[int],
) -> Category:
    assert column.levels is not None
    written, remarks = column.levels, Findings()
    levels = [written[code] for code in apart]
    became = {level: level for level in levels}
    target = {code: i for i, code in enumerate(apart)}
    if merged:
        folded = [level.casefold() for level in levels]
        if OTHER not in folded:
            levels.append(OTHER)
            folded.append(OTHER)
        at = folded.index(OTHER)
        target |= dict.fromkeys(merged, at)
        became |= {written[code]: levels[at] for code in merged}
        rare_ones = f"{column.name}: {len(merged):,} rare levels"
        into = f"were merged into {levels[at]!r}, {int(times[merged].sum()):,} cases."
        # A level of one case may tell who it is.
        which = few(written[code] for code in merged)
        remarks.note(f"{rare_ones} {into}", placed=f"{rare_ones} ({which}) {into}")
    lookup = np.full(len(written) + 1, -1, dtype=np.int64)  # the last for missing ones
    for code, position in target.items():
        lookup[code] = position
    merged_codes = lookup[codes]
    counts = np.bincount(merged_codes[merged_codes >= 0], minlength=len(levels))
    rare = [level for level, n in zip(levels, counts, strict=True) if n < FEW_CASES]
    if rare:
        remarks.doubt(
            f"{column.name}: {few(rare)} in fewer than {FEW_CASES} cases each, too few to "
            "weigh; consider merging rare levels."
        )
    return Category(column.name, tuple(levels), merged_codes, int(counts.argmax()), became, remarks)


def predicts(category: Category, outcome: FloatArray) -> bool:
    """Whether averages by level predict left-out cases better than one average of them all."""
    known = category.codes >= 0
    codes, values = category.codes[known], outcome[known]
    counts = np.bincount(codes, minlength=len(category.levels))
    alone = counts[codes] < 2  # nothing is left to predict it from but the average of all
    total = values.mean()
    averages = np.bincount(codes, values, len(category.levels)) / np.maximum(counts, 1)
    rows = values.size
    by_one = (values - total) * rows / max(rows - 1, 1)
    by_level = (values - averages[codes]) * counts[codes] / np.maximum(counts[codes] - 1, 1)
    by_level = np.where(alone, by_one, by_level)
    return bool(by_level @ by_level < by_one @ by_one)


def left_over(columns: list[FloatArray], outcome: FloatArray) -> FloatArray:
    """What the columns that are numbers leave of an outcome (rows,); gaps count as average."""
    centred: FloatArray = outcome - outcome.mean()
    if not columns:
        return centred
    values = np.column_stack(columns)
    means, scales = location(values)
    standard: FloatArray = np.nan_to_num((values - means) / scales)
    gram = standard.T @ standard + 1e-6 * outcome.size * np.eye(len(columns))
    weights = np.linalg.solve(gram, standard.T @ centred)
    return np.asarray(centred - standard @ weights)
