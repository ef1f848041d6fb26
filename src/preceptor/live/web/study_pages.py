"""Pages of participants: one for each kind of step, one for each way to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.live.store import participants
from preceptor.live.store.chain import seconds_until
from preceptor.live.study.config import Configuration, Instructions, Testing
from preceptor.live.study.study import Step
from preceptor.live.study.taking_part import due_at
from preceptor.live.web.pages import page
from preceptor.live.web.study_access import Visit
from preceptor.live.web.study_forms import (
    answer,
    choices,
    limits,
    outcome_name,
    paragraphs,
    results,
    truth,
    verdict,
)

NOTES = {
    "already": "That was answered already, perhaps in another tab or on another device. The first "
    "answer counts. The study has moved on; this is your current page.",
    "again": "That form was out of date, so nothing was changed. This is your current page.",
    "back": "Welcome back. You continue where you were.",
}
"""Sentences that an address may name."""


@dataclass(frozen=True)
class RefusedForm:
    """A refused form: a sentence for each faulty field, and what was typed."""

    faults: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)


async def step_page(
    request: Request, visit: Visit, note: str = "", wrong: RefusedForm | None = None
) -> Response:
    """The page of the participant's step."""
    here, who, wrong = visit.here, visit.who, wrong or RefusedForm()
    if not who.is_active:
        return _ended(request, visit)
    step = here.step(who.stage)
    own = await _content(visit, step)
    status = 422 if wrong.faults else 200
    said = {"faults": wrong.faults, "typed": wrong.typed, "note": NOTES.get(note, "")}
    template = f"study_{_TEMPLATES.get(step.kind, step.kind)}.html.j2"
    return page(request, template, status, **{**common(visit), **said, **own})


def common(visit: Visit) -> dict[str, Any]:
    """Context of all pages of a participant."""
    here, who = visit.here, visit.who
    return {
        **anonymous(here.study.configuration),
        "who": who,
        "csrf": visit.csrf,
        "done": min(who.stage, here.protocol.end),
        "steps": here.protocol.end,
    }


# Kinds of steps whose template has another name.
_TEMPLATES = {"page": "text", "break": "text"}


async def _content(visit: Visit, step: Step) -> dict[str, Any]:
    """Context of the template of a step."""
    block: Any = visit.here.study.configuration.block[step.block]
    own: dict[str, Any] = {"title": block.title, "block": block}
    match step.kind:
        case "ask":
            return own | _case(visit, step)
        case "told":
            return own | _case(visit, step) | _told(visit)
        case "quiz":
            return own
        case "wait":
            return own | await _due(visit, block)
        case "survey":
            text = block.text or ""
            own["limits"] = limits
        case "check":
            text = block.check[step.index].text
        case "page" if isinstance(block, Instructions):
            text = block.pages[step.index]
            own |= {"page_number": step.index + 1, "page_count": len(block.pages)}
            own["missed"] = await _missed(visit, block) if step.index == 0 else []
        case "break" if block.kind != "break":  # between two rounds of another block
            own["title"] = "A break"
            text = (
                f"{step.index} of {visit.here.protocol.length_of(step.block)} cases are done. Take "
                "a break if you like. Continue when you are ready."
            )
        case _:
            text = block.text
    return own | {"text": paragraphs(text)}


def _told(visit: Visit) -> dict[str, Any]:
    """The answer, the outcome, and the difference."""
    here, there = visit.here, visit.round
    assert there is not None
    assert there.prediction is not None
    assert there.outcome is not None
    return {
        "said": answer(here, there.prediction),
        "truth": truth(here, there.outcome),
        "verdict": verdict(here, there.prediction, there.outcome),
    }


def _case(visit: Visit, step: Step) -> dict[str, Any]:
    """A case: its number, what is shown, and how it is answered."""
    here, there, trial = visit.here, visit.round, visit.here.trial(step)
    assert there is not None
    look = here.study.configuration.outcome
    return {
        "case": trial.place + 1,
        "cases": here.protocol.length_of(step.block),
        "case_number": there.case_number,
        "results": results(here, there),
        "outcome": outcome_name(here),
        "kind": here.study.answer,
        "unit": "%" if here.study.answer == "percent" else look.unit,
        "limits": "from 0 to 100" if here.study.answer == "percent" else limits(look),
        "low": 0.0 if here.study.answer == "percent" else look.low,
        "high": 100.0 if here.study.answer == "percent" else look.high,
        "places": 10.0**-look.decimals,
        "choices": choices(here),
        "confidence": getattr(here.study.configuration.block[step.block], "confidence", None),
    }


async def _due(visit: Visit, block: Testing) -> dict[str, Any]:
    """When a participant may come back, and until when their place is kept."""
    who = visit.who
    due = await visit.live.store.reading(lambda connection: due_at(connection, who))
    first = datetime.fromisoformat(due)
    last = first + timedelta(days=block.within_days)
    days = [moment.strftime("%A, %d %B %Y, %H:%M UTC") for moment in (first, last)]
    return {"due": due, "days": days, "is_due": seconds_until(due) <= 0.0}


async def _missed(visit: Visit, block: Instructions) -> list[str]:
    """Questions that were wrong at the last attempt at the quiz."""
    stage = visit.who.stage + len(block.pages)

    def look(connection: Connection) -> list[int]:
        found = [a for a in participants.answers_of(connection, visit.who.id) if a.stage == stage]
        return list(found[-1].answer) if found else []

    if not visit.who.quizzes:
        return []
    chosen = await visit.live.store.reading(look)
    asked = list(zip(block.question, chosen, strict=False))
    return [question.text for question, given in asked if question.right != given]


def wait_page(request: Request, visit: Visit) -> Response:
    """The next case takes a while; the page reloads by itself."""
    said = "Your next case is being prepared. This page continues by itself."
    context = {**common(visit), "again": f"/s/{visit.here.id}/now"}
    answered = notice(request, context, "One moment", said, status=503)
    answered.headers["Refresh"] = answered.headers["Retry-After"] = "1"
    return answered


def notice(
    request: Request, context: Mapping[str, Any], title: str, *sentences: str, status: int = 200
) -> Response:
    """A page with a message; `context` is that of a participant or of an anonymous visitor."""
    said = {"again": None, **context, "title": title, "sentences": sentences}
    return page(request, "study_notice.html.j2", status, **said)


def anonymous(study: Configuration) -> dict[str, Any]:
    """Context of pages without a participant."""
    return {"study": study, "who": None, "note": "", "faults": {}}


def _ended(request: Request, visit: Visit) -> Response:
    who, said = visit.who, visit.here.study.configuration
    title, sentences = _end_words(visit)
    redirect = None
    if said.completion.redirect is not None and who.code is not None:
        redirect = said.completion.redirect.replace("{code}", quote(who.code, safe=""))
    own = {"title": title, "sentences": sentences, "code": who.code, "redirect": redirect}
    return page(request, "study_end.html.j2", 200, **common(visit), **own)


_ENDS = {
    "completed": ("Thank you", ["You have finished. Your answers have been saved."]),
    "no consent": ("You did not agree", ["That is fine. You can close this page."]),
    "withdrawn": ("You have withdrawn", ["Nothing more is asked of you."]),
}


def _end_words(visit: Visit) -> tuple[str, list[str]]:
    """Title and sentences of the last page."""
    who = visit.who
    if who.status in _ENDS:
        return _ENDS[who.status]
    if who.is_lapsed and visit.here.study.configuration.recruiting.resume == "block":
        return "Too long ago", [
            "You were away for longer than this study allows, so you cannot continue."
        ]
    if who.is_lapsed or visit.here.step(who.stage).kind in ("consent", "ask"):
        return "No more people are needed", [
            "All places have been taken in the meantime. Thank you for your interest and your time."
        ]
    return "The study ends here for you", [
        "The questions about the instructions were not answered correctly, so you cannot continue. "
        "Thank you for your time."
    ]
