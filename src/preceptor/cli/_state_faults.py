"""What is wrong with the data of a state file, which people may have changed by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from preceptor._base.checks import is_count

if TYPE_CHECKING:
    from preceptor.tutoring import Tutor

_ROUND = ("row", "when", "reason")


def state_faults(data: Mapping[str, Any]) -> Iterator[str]:
    """Each fault as one sentence; what the tutor remembers is checked by the tutor."""
    if not isinstance(data["name"], str) or not data["name"]:
        yield f"name: {data['name']!r}, must be text"
    if not is_count(data["seed"], least=0):
        yield f"seed: {data['seed']!r}, must be a whole number of at least 0"
    for key in ("table", "choices", "tutor"):
        if not isinstance(data[key], dict):
            yield f"{key}: {data[key]!r}, must be an object {{...}}"
    yield from _texts(data, "table", ("path", "example"))
    texts = ("outcome", "unit", "sheet", "separator", "decimal", "encoding", "positive")
    yield from _texts(data, "choices", texts)
    if isinstance(data["choices"], dict):
        for key, what in (("drop", "names"), ("missing", "values")):
            given = data["choices"].get(key, [])
            if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
                yield f"choices: {key} is {given!r}, must be a list of {what}"
    if not isinstance(data["rounds"], list):
        yield f"rounds: {data['rounds']!r}, must be a list"
        return
    for number, played in enumerate(data["rounds"], start=1):
        for fault in _round_faults(played):
            yield f"rounds, case {number}: {fault}"


def record_faults(tutor: Tutor, rounds: int) -> Iterator[str]:
    """Whether the tutor remembers as many rounds, each answered and told before the next."""
    if tutor.rounds != rounds:
        yield f"{rounds} rounds, but the tutor has {tutor.rounds}"
        return
    for number, entry in enumerate(tutor.record, start=1):
        for name in ("answer", "outcome"):
            if getattr(entry, name) is None:
                yield f"tutor, case {number}: has no {name}"


def _texts(data: Mapping[str, Any], key: str, names: tuple[str, ...]) -> Iterator[str]:
    if isinstance(data[key], dict):
        for name in names:
            given = data[key].get(name)
            if given is not None and not isinstance(given, str):
                yield f"{key}: {name} is {given!r}, must be text"


def _round_faults(played: Any) -> Iterator[str]:
    if not isinstance(played, dict) or sorted(played) != sorted(_ROUND):
        yield f"{played!r}, must be an object with {', '.join(_ROUND)}"
        return
    if not is_count(played["row"], least=0):
        yield f"row {played['row']!r}, must be a whole number of at least 0"
    if not _is_moment(played["when"]):
        yield f"when {played['when']!r}, must be a date with a time such as 2024-03-31T14:05:00"
    if not isinstance(played["reason"], str):
        yield f"reason {played['reason']!r}, must be text"


def _is_moment(given: Any) -> bool:
    """Dates and times as we write them, in UTC and without an offset, so that they sort as text."""
    try:
        return datetime.fromisoformat(given).tzinfo is None
    except (TypeError, ValueError):
        return False
