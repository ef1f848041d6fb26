"""Tests that consist of several columns, such as the levels of a category.

Whoever is told the region of a case is told every "region = ..." column at once. So such columns
form one test: shown together or not at all, counted once, priced once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from preceptor._base.checks import is_count
from preceptor._base.fields import Index, Items
from preceptor._base.words import repeated

# The columns that a test consists of.
Columns = Annotated[tuple[Index, ...], Items(at_least=1, unique=True)]
# Name of a test and its columns.
Groups = tuple[tuple[str, Columns], ...]
# For each test its columns; every column is in exactly one of them.
Blocks = Annotated[tuple[Columns, ...], Items(at_least=1)]


def checked_groups(
    groups: Mapping[str, Sequence[int]] | Groups | None, labels: Sequence[str], faults: list[str]
) -> Groups | None:
    """Groups in order of their first columns; what is wrong with them is added to `faults`."""
    if groups is None:
        return None
    try:
        pairs = list(groups.items()) if isinstance(groups, Mapping) else list(groups)
        given = [(str(name), list(columns)) for name, columns in pairs]
    except (TypeError, ValueError):
        faults.append(f"groups: {groups!r}, must be a table of test names and lists of columns")
        return None
    size, found = len(labels), len(faults)
    for name, columns in given:
        wrong = [i for i in columns if not is_count(i, least=0) or (size and i >= size)]
        if wrong or not columns:
            shown = wrong[0] if wrong else columns
            faults.append(f"groups: {name!r} has column {shown!r}, must be among 0..{size - 1}")
    if len(faults) > found:
        return None
    used = [int(i) for _, columns in given for i in columns]
    again = repeated(used)
    if again:
        faults.append(f"groups: column {again[0]} appears twice, must be in one test only")
    taken = set(used)
    alone = [label for i, label in enumerate(labels) if i not in taken]
    names = [name for name, _ in given] + alone
    twice = repeated(names)
    if twice:
        faults.append(f"groups: {twice[0]!r} names two tests, every test needs a name of its own")
    ordered = [(name, tuple(sorted(int(i) for i in columns))) for name, columns in given]
    return tuple(sorted(ordered, key=lambda pair: pair[1])) or None


def blocks_of(groups: Groups | None, size: int) -> Blocks:
    """For each test its columns; columns in no group are tests of their own.

    >>> blocks_of((("site", (1, 2)),), 4)
    ((0,), (1, 2), (3,))
    """
    grouped = () if groups is None else tuple(columns for _, columns in groups)
    taken = {i for columns in grouped for i in columns}
    alone = tuple((i,) for i in range(size) if i not in taken)
    return tuple(sorted(grouped + alone))


def columns_by_test(groups: Groups | None, labels: Sequence[str]) -> dict[str, list[str]]:
    """Names of the columns of each test.

    >>> columns_by_test((("site", (1, 2)),), ["age", "site=b", "site=c"])
    {'age': ['age'], 'site': ['site=b', 'site=c']}
    """
    names = {} if groups is None else {columns: name for name, columns in groups}
    blocks = blocks_of(groups, len(labels))
    return {names.get(b, labels[b[0]]): [labels[i] for i in b] for b in blocks}
