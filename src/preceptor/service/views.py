"""What callers get to see of a round and of a person; truth and hidden results stay here."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from preceptor.service.guides import Guide
from preceptor.store.people import Person
from preceptor.store.refusals import Conflict
from preceptor.store.rounds import Round


def answer(body: Any, status: int = 200, **headers: str) -> Response:
    """Plain data as JSON; numbers are written so that reading them gives the same bits."""
    text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    return Response(text, status, headers or None, "application/json")


def round_view(guide: Guide, there: Round) -> dict[str, Any]:
    """A round for whoever plays it: the truth only once the person may hear it."""
    words = guide.words
    told = there.status == "told"
    return {
        "person": there.person,
        "round": there.number,
        "status": there.status,
        "recommended": None if there.recommended is None else words.tests(there.recommended),
        "reason": there.reason,
        "policy": there.policy,
        "plan": there.plan,
        "gap": guide.gap,
        "propensity": there.propensity,
        "case": there.opened_with.get("case"),
        "available": there.opened_with.get("available"),
        "shown": None if there.shown is None else words.tests(there.shown),
        "values": None if there.shown is None else words.spoken(there.shown, there.values or ()),
        "override_reason": there.override_reason,
        "prediction": there.prediction,
        "feedback": there.feedback,
        "outcome": there.outcome if told else None,
        "offered_at": there.offered_at,
        "shown_at": there.shown_at,
        "predicted_at": there.predicted_at,
        "ended_at": there.ended_at,
    }


def person_view(guide: Guide, who: Person, open_round: Round | None) -> dict[str, Any]:
    """A person without what takes time to work out."""
    return {
        "person": who.id,
        "plan": who.plan,
        "policy": who.policy,
        "cases": who.case_list,
        "is_bot": who.is_bot,
        "counts": guide.words.by_test(who.counts),
        "rounds": who.rounds,
        "answers": who.answers,
        "open_round": None if open_round is None else round_view(guide, open_round),
        "created": who.created,
        "seen_at": who.seen_at,
    }


def log_row(guide: Guide, there: Round, *, is_bot: bool) -> dict[str, Any]:
    """A row of the library's log (`Log.read`), and what the store knows besides."""
    spoken = guide.words.spoken(there.shown or (), there.values or ())
    return {
        "participant": there.person,
        "round": there.number,
        "shown": list(spoken),
        "values": list(spoken.values()),
        "prediction": there.prediction,
        "outcome": there.outcome,
        "feedback": there.status == "told",
        "when": there.predicted_at,
        "seq": there.seq,
        "status": there.status,
        "recommended": None if there.recommended is None else guide.words.tests(there.recommended),
        "policy": there.policy,
        "plan": there.plan,
        "propensity": there.propensity,
        "case": there.opened_with.get("case"),
        "override_reason": there.override_reason,
        "is_bot": is_bot,
    }


def must_be_free(person: Person) -> Person:
    """Somebody who is in no study; `Conflict` if they are in one.

    Only the pages of a study move its people: an answer given behind their back would be counted
    as theirs, and what they are shown says which arm they are in.
    """
    study = person.enrolled_with.get("study")
    if study is not None:
        raise Conflict(
            f"person: {person.id!r} takes part in study {study!r}: only its pages move them, and "
            f"its owner looks after them at /studies/{study}"
        )
    return person
