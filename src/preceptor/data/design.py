"""From a table of cases (any data frame, mapping or array) to a design matrix.

`read_table` splits it into columns, which `columns` reads, and reports all faults at once. `encode`
then encodes categories and drops columns without information. A category of L levels becomes L - 1
columns, one for each level but the most common, which is the reference. (With all L columns the
last would follow from the others, and their covariance could not be positive definite.) Together
they are one test.

Rare levels are merged, since a handful of cases determines nothing. A category of many levels fits
any outcome a little, even a random one. So it is kept only if its level averages predict left-out
cases better than the overall average does, of the outcome or of its residual after the numeric
tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from preceptor._base.extensions import from_extra
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted, listed, matches, nearest, repeated
from preceptor.data.columns import LARGEST, TableColumn, read_column
from preceptor.data.findings import ENOUGH_CASES, FEW_CASES, Findings, Remark, few, place
from preceptor.data.moments import location
from preceptor.data.odd_values import SCALE, Codes, doubt_number, is_identifier
from preceptor.data.opening import Reading
from preceptor.data.outcome import ROUNDING, Outcome, read_outcome
from preceptor.errors import InvalidData

# The most levels that are kept apart.
_MOST_LEVELS = 40
# Levels kept apart must cover this share of the cases.
_COVERED = 0.5
# Categories of at least this many levels must prove that they predict.
JUDGED = 6
OTHER = "other"


@dataclass(frozen=True, eq=False)
class MergedCategory:
    """A category after merging: `codes` (rows,) are positions in `levels`, -1 where missing.

    `reference` is the most common level; `became` maps each original level to the merged one;
    `remarks` apply if the category is kept.
    """

    name: str
    levels: tuple[str, ...]
    codes: IntArray
    reference: int
    became: dict[str, str]
    remarks: Findings

    def columns(self) -> Iterator[tuple[str, FloatArray]]:
        """Names and 0/1 columns of all levels but the reference, NaN where missing."""
        for code, level in enumerate(self.levels):
            if code != self.reference:
                values = np.where(self.codes < 0, np.nan, (self.codes == code).astype(np.float64))
                yield f"{self.name}={level}", values

    @property
    def column_by_level(self) -> dict[str, str]:
        """Name of the column that is 1 for each original level, "" for the reference."""
        reference = self.levels[self.reference]
        return {
            written: "" if level == reference else f"{self.name}={level}"
            for written, level in self.became.items()
        }


def merge_rare_levels(
    column: TableColumn, values: FloatArray, found: Findings
) -> MergedCategory | None:
    """Merge rare levels; None, with the reason recorded, if there are too many levels."""
    assert column.levels is not None
    codes = np.where(np.isnan(values), -1.0, values).astype(np.int64)
    times = np.bincount(codes[codes >= 0], minlength=len(column.levels))
    present, there = int(times.sum()), np.flatnonzero(times)
    if there.size > max(SCALE, present / 2):
        found.drop(
            column.name, f"{there.size:,} different texts in {present:,} cases identify the cases"
        )
        return None
    most = min(_MOST_LEVELS, max(SCALE, present // ENOUGH_CASES))
    common = there[np.argsort(-times[there], kind="stable")]
    kept = [int(code) for code in common[: most if there.size <= most else most - 1]]
    if times[kept].sum() < _COVERED * present:
        found.drop(
            column.name,
            f"{there.size:,} levels are too many for {present:,} cases; merge them if they matter",
        )
        return None
    apart = sorted(code for code in kept if times[code] >= FEW_CASES)
    merged = [int(code) for code in there if code not in set(apart)]
    if len(merged) < 2 or len(apart) < 2:
        apart, merged = [int(code) for code in there], []
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
        # A level with one case may identify the person.
        which = few(written[code] for code in merged)
        remarks.note(f"{rare_ones} {into}", with_place=f"{rare_ones} ({which}) {into}")
    lookup = np.full(len(written) + 1, -1, dtype=np.int64)  # the last entry is for missing
    for code, position in target.items():
        lookup[code] = position
    merged_codes = lookup[codes]
    counts = np.bincount(merged_codes[merged_codes >= 0], minlength=len(levels))
    rare = [level for level, n in zip(levels, counts, strict=True) if n < FEW_CASES]
    if rare:
        remarks.doubt(
            f"{column.name}: {few(rare)} in fewer than {FEW_CASES} cases each; consider merging "
            "rare levels."
        )
    reference = int(counts.argmax())
    several = "one column" if len(levels) == 2 else f"{len(levels) - 1} columns"
    remarks.note(
        f"{column.name} is a category of {len(levels)} levels: shown and counted as one test, "
        f"{several} relative to {levels[reference]!r}, its most common level.",
        is_detail=True,
    )
    return MergedCategory(column.name, tuple(levels), merged_codes, reference, became, remarks)


def predicts(category: MergedCategory, outcome: FloatArray) -> bool:
    """Whether level averages predict left-out cases better than the overall average."""
    known = category.codes >= 0
    codes, values = category.codes[known], outcome[known]
    counts = np.bincount(codes, minlength=len(category.levels))
    alone = counts[codes] < 2  # only the overall average is left to predict it
    total = values.mean()
    averages = np.bincount(codes, values, len(category.levels)) / np.maximum(counts, 1)
    rows = values.size
    by_one = (values - total) * rows / max(rows - 1, 1)
    by_level = (values - averages[codes]) * counts[codes] / np.maximum(counts[codes] - 1, 1)
    by_level = np.where(alone, by_one, by_level)
    return bool(by_level @ by_level < by_one @ by_one)


def residual_outcome(columns: list[FloatArray], outcome: FloatArray) -> FloatArray:
    """Residual of the outcome (rows,) after numeric columns, whose gaps count as average."""
    centred: FloatArray = outcome - outcome.mean()
    if not columns:
        return centred
    values = np.column_stack(columns)
    means, scales = location(values)
    standard: FloatArray = np.nan_to_num((values - means) / scales)
    gram = standard.T @ standard + 1e-6 * outcome.size * np.eye(len(columns))
    weights = np.linalg.solve(gram, standard.T @ centred)
    return np.asarray(centred - standard @ weights)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, their outcomes (rows,), and findings on how they were read."""

    columns: tuple[TableColumn, ...]
    outcome: Outcome
    findings: Findings


def read_table(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    outcome: str | None = None,
    drop: Iterable[str] = (),
    notes: Iterable[str] = (),
    reading: Reading | None = None,
    as_number: bool = False,
) -> Table:
    """Read tests and outcomes; every fault names its row and column.

    `notes` on how the file was read come first; `reading` says what values mean; `as_number` reads
    an outcome of two values as a number instead of yes or no.
    """
    how = reading or Reading()
    raw = _raw_columns(X, names)
    known = list(raw)
    raw_outcome, outcome_name = _raw_outcome(X, y, raw, outcome)
    _drop(raw, drop)
    if not raw:
        raise InvalidData("X: no columns of tests; give at least one besides the outcome")
    rows = len(raw_outcome)
    if rows == 0:
        raise InvalidData("X: the table has no rows; give at least one case a row")
    found = Findings(notes=[Remark(note) for note in notes])
    # `missing` may name the outcome by its column or as reports do.
    column = next((name for name in known if name not in raw), outcome_name)
    codes = Codes.of(how.missing, [*known, column], found.faults)
    target = read_outcome(
        column,
        raw_outcome,
        found,
        codes,
        positive=how.positive,
        decimal=how.decimal,
        as_number=as_number,
    )
    columns = [read_column(name, values, found, codes, how.decimal) for name, values in raw.items()]
    for name, values in raw.items():
        if len(values) != rows:
            found.faults.append(
                f"column {name!r}: {len(values)} rows, but there are {rows} outcomes; "
                "lengths must agree"
            )
    for sentence in codes.sentences():
        found.note(sentence)
    InvalidData.raise_if(found.faults)
    assert target is not None
    kept = tuple(column for column in columns if column is not None)
    return Table(kept, replace(target, name=outcome_name), found)


def _raw_columns(X: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Values of each column by name, as an array or a narwhals series."""
    if isinstance(X, Mapping):
        columns = [
            (str(n), _array(v, f"column {n!r}", "one value per case", 1)) for n, v in X.items()
        ]
    elif isinstance(X, (np.ndarray, list, tuple)):
        array = _array(X, "X", "a table with a row per case and a column per test", 2)
        columns = [(f"x{i + 1}", array[:, i]) for i in range(array.shape[1])]
    else:
        frame = _narwhals(X, "X", series=False)
        columns = [(str(name), frame[name]) for name in frame.columns]
    if names is not None:
        if len(names) != len(columns):
            raise InvalidData(
                f"names: {len(names)} names for {len(columns)} columns; lengths must agree"
            )
        columns = [(str(name), values) for name, (_, values) in zip(names, columns, strict=True)]
    for name in repeated(name for name, _ in columns)[:1]:
        raise InvalidData(f"column {name!r}: is there twice; rename or drop one")
    return dict(columns)


def _array(values: Any, what: str, wanted: str, ndim: int) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidData(f"{what}: rows of different lengths, must be {wanted}") from None
    if array.ndim != ndim:
        raise InvalidData(f"{what}: shape {array.shape}, must be {wanted}")
    return array


def _narwhals(native: Any, what: str, *, series: bool) -> Any:
    nw = from_extra("narwhals", "data", "Reading data frames")
    try:
        if series:
            return nw.from_native(native, series_only=True)
        return nw.from_native(native, eager_only=True)
    except TypeError:
        wanted = "a series, an array or the name of a column" if series else "a frame or an array"
        raise InvalidData(
            f"{what}: a {type(native).__name__}, must be {wanted} "
            "(pandas, polars and other frames; collect lazy ones first)"
        ) from None
    except (ValueError, nw.exceptions.NarwhalsError) as error:
        raise InvalidData(f"{what}: cannot be read as a table ({error})") from None


def _raw_outcome(X: Any, y: Any, raw: dict[str, Any], outcome: str | None) -> tuple[Any, str]:
    """Values and name of the outcome, which is removed from `raw` if it is a column of X."""
    if isinstance(y, str):
        alike = matches(y, raw)
        if len(alike) != 1:
            raise InvalidData(f"outcome {y!r}: {_which(y, alike, raw)}")
        return raw.pop(alike[0]), outcome or alike[0]
    if isinstance(y, (np.ndarray, list, tuple)):
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        return _array(y, "y", "one outcome per case", 1), outcome or "outcome"
    if _labelled_differently(X, y):
        raise InvalidData(
            "y: its rows are labelled differently from those of X; align them, "
            "or give y.to_numpy() if the order is right"
        )
    series = _narwhals(y, "y", series=True)
    return series, outcome or str(series.name or "outcome")


def _labelled_differently(X: Any, y: Any) -> bool:
    """Whether pandas row labels differ, as they do after sorting only one of the two."""
    indices: list[Any] = [getattr(part, "index", None) for part in (X, y)]
    if not all(hasattr(index, "equals") for index in indices):
        return False
    return len(indices[0]) == len(indices[1]) and not indices[0].equals(indices[1])


def _drop(raw: dict[str, Any], drop: Iterable[str]) -> None:
    unwanted = [drop] if isinstance(drop, str) else list(drop)
    alike = {name: matches(name, raw) for name in unwanted}
    InvalidData.raise_if(
        f"drop: {name!r}, {_which(name, found, raw)}"
        for name, found in alike.items()
        if len(found) != 1
    )
    for found in alike.values():
        raw.pop(found[0], None)


def _which(name: str, alike: list[str], there: Iterable[str]) -> str:
    """Explain why a name does not identify a column."""
    if alike:
        return f"could be {' or '.join(map(repr, alike))}; write it as in the table"
    near = nearest(name, there)
    hint = f" (did you mean {near!r}?)" if near else ""
    return f"no such column{hint}; there are {', '.join(there)}"


# A column is redundant if the columns before it leave less than this share of its variance.
_NOTHING_NEW = 1e-9


@dataclass(frozen=True, eq=False)
class DesignMatrix:
    """Numbers (rows, n), NaN where missing, and outcomes (rows,) of the cases that are used.

    `tests` names the test that each column belongs to; `findings` are remarks and dropped columns.
    `levels` maps, for each categorical test, every level as written to the column that is 1, ""
    for the reference. `outcome_levels` are the values of a two-valued outcome as written, the one
    that counts as 1 last; `is_binary` says that the outcome is yes or no. `columns` are all columns
    of these cases as they were read, whether used or not; `rows` (rows,) are their positions in
    the table.
    """

    values: FloatArray
    outcome: FloatArray
    names: tuple[str, ...]
    tests: tuple[str, ...]
    outcome_name: str
    findings: Findings
    levels: dict[str, dict[str, str]] = field(default_factory=dict)
    outcome_levels: tuple[str, str] | None = None
    is_binary: bool = False
    columns: Mapping[str, TableColumn] = field(default_factory=dict)
    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def groups(self) -> dict[str, list[int]]:
        """Categorical tests with their columns."""
        found: dict[str, list[int]] = {}
        for i, (name, test) in enumerate(zip(self.names, self.tests, strict=True)):
            if name != test:
                found.setdefault(test, []).append(i)
        return found


def encode(table: Table) -> DesignMatrix:
    """Build the design matrix, or say why no world can be estimated from the table."""
    used = ~np.isnan(table.outcome.values)
    found = deepcopy(table.findings)
    without = int(np.sum(~used))
    if without:
        were = "was" if without == 1 else "were"
        text = f"{counted(without, 'row')} without an outcome {were} left out"
        first = place(table.outcome.name, int(np.flatnonzero(~used)[0]))
        found.note(f"{text}.", with_place=f"{text} (first: {first}).")
    outcome, rows = table.outcome.values[used], np.flatnonzero(used)
    encoded: list[tuple[str, str, FloatArray]] = []  # column, test, values
    levels: dict[str, dict[str, str]] = {}
    columns = {each.name: replace(each, values=each.values[used]) for each in table.columns}
    for column, category in _usable_columns(columns.values(), outcome, table.outcome.name, found):
        if category is None:
            encoded.append((column.name, column.name, column.values))
        else:
            encoded += [(name, column.name, values) for name, values in category.columns()]
            levels[column.name] = category.column_by_level
            found.notes += category.remarks.notes
            found.doubts += category.remarks.doubts
    _check_size([name for name, _, _ in encoded], outcome.size, found)
    values = np.column_stack([values for _, _, values in encoded])
    kept = _without_repetition([name for name, _, _ in encoded], values, found)
    names, tests, _ = zip(*(encoded[i] for i in kept), strict=True)
    for i, name, test in zip(kept, names, tests, strict=True):
        if name == test:
            doubt_number(name, values[:, i], rows, found)
    if table.outcome.levels is None:
        doubt_number(table.outcome.name, outcome, rows, found)
    for name, reason in found.dropped:
        found.note(f"{name} was left out: {reason}.")
    return DesignMatrix(
        values=values if len(kept) == values.shape[1] else values[:, kept],
        outcome=outcome,
        names=names,
        tests=tests,
        outcome_name=table.outcome.name,
        findings=found,
        # A dropped column counts as all 0.
        levels={
            test: {
                level: column if column in names else "" for level, column in levels[test].items()
            }
            for test in levels
            if test in tests
        },
        outcome_levels=table.outcome.levels,
        is_binary=table.outcome.is_binary,
        columns=columns,
        rows=rows,
    )


def _usable_columns(
    columns: Iterable[TableColumn], outcome: FloatArray, outcome_name: str, found: Findings
) -> list[tuple[TableColumn, MergedCategory | None]]:
    """Columns of the used cases, without those that carry no information, in order."""
    kept: list[tuple[TableColumn, MergedCategory | None]] = []
    for column in columns:
        reason = _uninformative(column)
        if reason:
            found.drop(column.name, reason)
        elif column.levels is None:
            kept.append((column, None))
        else:
            category = merge_rare_levels(column, column.values, found)
            if category is not None:
                kept.append((column, category))
    numbers = [column.values for column, category in kept if category is None]
    rest: FloatArray | None = None
    for pair in list(kept):
        category = pair[1]
        if category is None or len(category.levels) < JUDGED or predicts(category, outcome):
            continue
        if rest is None:
            rest = residual_outcome(numbers, outcome)
        if not predicts(category, rest):
            kept.remove(pair)
            found.drop(
                category.name,
                f"its {len(category.became):,} levels do not predict {outcome_name} in "
                "held-out cases",
            )
    return kept


def _uninformative(column: TableColumn) -> str:
    """Why a column cannot be a test; empty if it can."""
    known = column.values[~np.isnan(column.values)]
    if known.size == 0:
        return "it has no values"
    spread = float(np.ptp(known))
    if spread == 0.0:
        what = repr(column.levels[int(known[0])]) if column.levels else f"{known[0]:g}"
        return f"it is {what} in every case"
    if column.levels is not None:
        return ""
    if spread <= ROUNDING * np.abs(known).max():
        return f"it is {known[0]:g} in every case, up to rounding"
    if spread < 1.0 / LARGEST:
        return f"its values differ by at most {spread:g}, too little to compute with"
    if is_identifier(column.name, column.values):
        return "it is a whole number that no two cases share, so it is an identifier"
    return ""


def _check_size(names: list[str], rows: int, found: Findings) -> None:
    columns = len(names)
    if not columns:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in found.dropped)
        raise InvalidData(f"X: no column is left to learn from ({reasons})")
    for name in repeated(names)[:1]:
        raise InvalidData(f"column {name!r}: is also a level of a category; rename one of them")
    if rows < columns + 2:
        raise InvalidData(
            f"rows: {rows} with an outcome for {columns} columns of tests, must be at least "
            f"{columns + 2}; give more cases or fewer tests"
        )


def _without_repetition(names: list[str], values: FloatArray, found: Findings) -> list[int]:
    """Columns that are not a copy or a weighted sum of those before them.

    Builds a Cholesky factor row by row; what the kept columns leave of a column's variance decides.
    With gaps, only complete cases are used, if there are enough.
    """
    complete = ~np.isnan(values).any(axis=1)
    whole = values if complete.all() else values[complete]
    size = values.shape[1]
    if whole.shape[0] < 2 * size + 2 or np.any(
        np.ptp(whole, axis=0) <= ROUNDING * np.abs(whole).max(axis=0)
    ):
        return list(range(size))
    standard = (whole - whole.mean(axis=0)) / whole.std(axis=0)
    correlation = standard.T @ standard / whole.shape[0]
    kept: list[int] = []
    factor = np.zeros((size, size))
    for j in range(size):
        m = len(kept)
        row: FloatArray = np.zeros(0)
        if m:
            row = solve_triangular(factor[:m, :m], correlation[kept, j], lower=True)
        left = float(correlation[j, j] - np.dot(row, row))
        if left > _NOTHING_NEW:
            factor[m, :m], factor[m, m] = row, np.sqrt(left)
            kept.append(j)
            continue
        weights = solve_triangular(factor[:m, :m].T, row)
        sources = [names[kept[i]] for i in np.flatnonzero(np.abs(weights) > 1e-4)]
        how = "says the same as" if len(sources) == 1 else "follows exactly from"
        found.drop(names[j], f"it {how} {listed(sources)}")
    return kept
