"""A person's rounds as the library follows them: the record of a tutor, and a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from preceptor.service.guides import Guide
from preceptor.store.rounds import Round
from preceptor.tutoring.rounds import Round as Followed


def record_of(guide: Guide, rounds: Sequence[Round]) -> tuple[Followed, ...]:
    """Answered rounds in the order of the answers, each with when its truth was heard."""
    record = []
    for each in _answered(rounds):
        columns = guide.words.indices(each.shown or ())
        told = each.status == "told"
        record.append(
            Followed(
                columns,
                tuple(each.values or ()),
                each.prediction,
                each.outcome if told else None,
                each.heard if told else None,
            )
        )
    return tuple(record)


def log_of(guide: Guide, rounds: Sequence[Round]) -> dict[str, Any] | None:
    """Answered rounds as arguments of `Log`, plain data; None if there are none."""
    answered = _answered(rounds)
    if not answered:
        return None
    labels = guide.words.labels
    seen = [dict(zip(each.shown or (), each.values or (), strict=True)) for each in answered]
    return {
        "names": list(labels),
        "participant": ["person"] * len(answered),
        "rounds": [each.answered for each in answered],
        "shown": [[label in one for label in labels] for one in seen],
        "values": [[one.get(label) for label in labels] for one in seen],
        "prediction": [each.prediction for each in answered],
        "outcome": [each.outcome for each in answered],
        "feedback": [each.status == "told" for each in answered],
    }


def _answered(rounds: Sequence[Round]) -> list[Round]:
    return sorted((r for r in rounds if r.answered is not None), key=lambda r: r.answered or 0)
