"""Which column of a table is which of ours: by its name, else by its name without capitals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from preceptor._base.words import matches, nearest
from preceptor.logs.columns import OPTIONAL
from preceptor.logs.levels import Category, Tests

NEEDED = ("participant", "round", "prediction")
DECIDED = "decided"
FIELD_COLUMNS = (
    *("participant", "round", "shown", "values", "prediction", "outcome"),
    *(*OPTIONAL, DECIDED),
)


class Columns:
    """Names of ours as the table has them; `theirs` are those that somebody gave."""

    def __init__(self, there: Iterable[str], theirs: Mapping[str, str]) -> None:
        self.there = tuple(there)
        self.theirs = theirs

    def name(self, field: str) -> str:
        """What the table calls it; if it has none, what it should be called."""
        wanted = self.theirs.get(field, field)
        found = matches(wanted, self.there)
        return found[0] if len(found) == 1 else wanted

    def has(self, field: str) -> bool:
        """Whether the table has a column for it."""
        return self.name(field) in self.there

    def ambiguous(self, fields: Iterable[str]) -> list[str]:
        """A fault for each of ours that several columns could be."""
        faults = []
        for field in fields:
            wanted = self.theirs.get(field, field)
            found = matches(wanted, self.there)
            if len(found) > 1:
                faults.append(
                    f"columns {' and '.join(map(repr, found))} could both be {wanted!r}; rename one"
                )
        return faults


def by_level(columns: Columns, category: Category, names: Sequence[str]) -> bool:
    """Whether a wide table gives this category as levels in one column."""
    if category.test in FIELD_COLUMNS or not columns.has(category.test):
        return False
    own = [names[i] for i in category.columns]
    return category.test in own or not all(columns.has(name) for name in own)


def mapping_faults(columns: Columns, tests: Tests) -> list[str]:
    """Names that somebody gave which are not ours, or not in the table; and those meant twice."""
    ours = tuple(dict.fromkeys((*FIELD_COLUMNS, *tests.names, *(c.test for c in tests.categories))))
    faults = [
        f"columns: {field!r} is not one of our names ({', '.join(ours)})"
        for field in columns.theirs
        if field not in ours
    ]
    if columns.there:
        faults += [
            f"columns: there is no column {name!r} (for {field!r}); "
            f"there are {', '.join(columns.there)}"
            for field, name in columns.theirs.items()
            if field in ours and not matches(name, columns.there)
        ]
    return faults + columns.ambiguous(ours)


def missing_columns(columns: Columns, tests: Tests, *, wide: bool) -> list[str]:
    """What a table must have and has not."""
    there = ", ".join(columns.there)
    faults = []
    for field in NEEDED:
        if not columns.has(field):
            wanted = columns.name(field)
            near = nearest(wanted, columns.there)
            hint = f" (did you mean {near!r}?)" if near else ""
            faults.append(
                f"column '{wanted}' is missing{hint}; there are {there} "
                f"(say which one it is with `columns`)"
            )
    if not wide:
        return faults
    levels = {
        i: c.test for c in tests.categories if by_level(columns, c, tests.names) for i in c.columns
    }
    absent = [
        columns.name(name)
        for i, name in enumerate(tests.names)
        if i not in levels and not columns.has(name)
    ]
    of_category = {tests.names[i]: c.test for c in tests.categories for i in c.columns}
    wanted_tests = list(dict.fromkeys(of_category.get(name, name) for name in absent))
    if len(absent) == len(tests.names):
        names = list(dict.fromkeys(of_category.get(name, name) for name in tests.names))
        faults.append(
            "no tests: there is neither a column 'shown' nor one for any of the tests "
            f"{', '.join(names)}"
        )
    elif absent:
        faults.append(
            f"no column for the tests {', '.join(wanted_tests)}; add it (empty where the test was "
            "hidden), or say which one it is with `columns`"
        )
    return faults
