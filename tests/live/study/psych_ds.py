"""The rules of Psych-DS 1.5, as far as they concern a folder on a disk."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"(?:[a-z]+-[A-Za-z0-9]+)(?:_[a-z]+-[A-Za-z0-9]+)*_data\.csv")
_OFFICIAL = {"study", "site", "subject", "session", "task", "condition", "trial", "stimulus"}
_TYPES = ("Dataset", "https://schema.org/Dataset", "http://schema.org/Dataset")


def psych_ds_faults(folder: Path) -> list[str]:
    """What a validator would complain about, warnings about names of files included."""
    return list(_faults(folder))


def _faults(folder: Path) -> Iterator[str]:
    # 1. There is a global description, in the root and only there, as valid JSON in UTF-8.
    file = folder / "dataset_description.json"
    if not file.is_file():
        yield "dataset_description.json is missing"
        return
    if len(list(folder.rglob("dataset_description.json"))) > 1:
        yield "dataset_description.json is in the root and elsewhere"
    said = json.loads(file.read_bytes().decode("utf-8"))
    # 2. It speaks the words of schema.org, 3. is about a Dataset, 4. has the three fields.
    if not re.fullmatch(r"https?://schema\.org/?", str(said.get("@context", ""))):
        yield "@context is not schema.org"
    if said.get("@type") not in _TYPES:
        yield "@type is not Dataset"
    for field in ("name", "description"):
        if not (isinstance(said.get(field), str) and said[field].strip()):
            yield f"{field} is missing or empty"
    variables = said.get("variableMeasured")
    if not isinstance(variables, list) or not variables:
        yield "variableMeasured is missing or empty"
        return
    # 5. Variables are names, or PropertyValues with a name; ours have a description, too.
    known = set()
    for each in variables:
        if isinstance(each, str):
            known.add(each)
        elif each.get("@type") != "PropertyValue" or not each.get("name"):
            yield f"variable {each!r} is no PropertyValue with a name"
        else:
            known.add(each["name"])
            if not each.get("description"):
                yield f"variable {each['name']} has no description"
    # 6. There is a folder data, with at least one data file in it.
    files = [each for each in (folder / "data").rglob("*") if each.is_file()]
    if not any(each.suffix == ".csv" for each in files):
        yield "data/ has no data file"
    used: set[str] = set()
    for each in files:
        # 7. Names are pairs of keyword and value, end in _data.csv; keywords should be known.
        if not _NAME.fullmatch(each.name):
            yield f"{each.name}: not made of keyword-value pairs that end in _data.csv"
        elif strange := {p.split("-")[0] for p in each.name.split("_")[:-1]} - _OFFICIAL:
            yield f"{each.name}: keyword {strange} is not official"
        yield from _table_faults(each, known, used)
    # 10. No variable is described that no file has.
    if extra := known - used:
        yield f"variableMeasured names {sorted(extra)}, which no file has"


def _table_faults(file: Path, known: set[str], used: set[str]) -> Iterator[str]:
    # 8. A table is UTF-8 with a header, without repetition, and all its rows are as long.
    rows = list(csv.reader(file.read_bytes().decode("utf-8").splitlines()))
    if len(rows) < 2:
        yield f"{file.name}: has no rows"
        return
    head = rows[0]
    if len(set(head)) < len(head) or not all(head):
        yield f"{file.name}: a column is nameless, or there twice"
    if any(len(row) != len(head) for row in rows):
        yield f"{file.name}: rows are not as long as the header"
    # 9. Every column is described; row_id, if there is one, is unique.
    if missing := set(head) - known:
        yield f"{file.name}: {sorted(missing)} are not in variableMeasured"
    used |= set(head)
    if "row_id" in head:
        ids = [row[head.index("row_id")] for row in rows[1:]]
        if len(set(ids)) < len(ids):
            yield f"{file.name}: row_id is not unique"
