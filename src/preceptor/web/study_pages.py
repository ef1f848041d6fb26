"""Pages of participants: one for each kind of step, one for each way to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.service.access import Refusal
from preceptor.service.opening import open_round, think_ahead
from preceptor.service.schemas import Opening
from preceptor.store import participants
from preceptor.store.participants import Participant
from preceptor.store.refusals import Conflict, StoreFailure
from preceptor.study.config import Configuration, Instructions
from preceptor.study.protocol import Step
from preceptor.web.pages import page
from preceptor.web.study_access import Visit, go_on
from preceptor.web.study_forms import limits
from preceptor.web.study_moves import shown
from preceptor.web.study_words import (
    answer,
    choices,
    outcome_name,
    paragraphs,
    results,
    truth,
    verdict,
)

NOTES = {
    "already": "That was answered already, perhaps in another tab or on another device. The first "
    "answer counts. The study has gone on; this is where you are now.",
    "again": "That form could not be used any more, so nothing was changed. This is where you are "
    "now.",
    "back": "Welcome back. You go on where you were.",
}
"""Sentences that an address may ask for by name."""
# Seconds after which a page that waits for a tutor asks again by itself.
_AGAIN = 2


@dataclass(frozen=True)
class Wrong:
    """A form that was not taken: what was wrong with each field, and what was typed."""

    faults: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)


async def step_page(
    request: Request, visit: Visit, note: str = "", wrong: Wrong | None = None
) -> Response:
    """The page of the step that somebody is at."""
    here, who, wrong = visit.here, visit.who, wrong or Wrong()
    if not who.is_active:
        return _ended(request, visit)
    step = here.step(who.stage)
    if step.kind == "ask":
        try:
            visit = await _with_round(visit)
        except (Refusal, StoreFailure):
            return wait_page(request, visit)
        except Conflict:
            return go_on(here.id)
    own = await _content(visit, step)
    status = 422 if wrong.faults else 200
    said = {"faults": wrong.faults, "typed": wrong.typed, "note": NOTES.get(note, "")}
    return page(request, _TEMPLATES[step.kind], status, **{**common(visit), **said, **own})


async def _with_round(visit: Visit) -> Visit:
    """The visit with a round that is shown.

    A tutor may take a while, and then it is a `Refusal`; `Conflict` if somebody went on meanwhile
    in another tab.
    """
    if visit.round is not None and visit.round.shown is not None:
        return visit
    here, who, live = visit.here, visit.who, visit.live
    trial = here.trial(here.step(who.stage))
    if visit.round is None:
        assert who.arm is not None
        assert who.place is not None
        settled = here.settled(who.arm, who.place, trial)
        asked = Opening(feedback=trial.feedback)
        opened = await open_round(live, who.id, asked, settled, trial.number)
        if opened.is_new:
            live.metrics.rounds.labels("offered").inc()
    return replace(visit, round=await live.store.writing(lambda c: shown(c, here, who.id, trial)))


def prepare(visit: Visit, who: Participant) -> None:
    """Where a tutor decides, let it begin with the next round while somebody reads."""
    here = visit.here
    if who.arm is not None and here.arms[who.arm].is_adaptive and who.is_active:
        visit.live.aside(think_ahead(visit.live, who.id))


def common(visit: Visit) -> dict[str, Any]:
    """What all pages of somebody share."""
    here, who = visit.here, visit.who
    return {
        "study": here.study.configuration,
        "who": who,
        "csrf": visit.csrf,
        "done": min(who.stage, here.protocol.end),
        "steps": here.protocol.end,
        "note": "",
        "faults": {},
    }


_TEMPLATES = {
    "consent": "study_consent.html.j2",
    "page": "study_text.html.j2",
    "quiz": "study_quiz.html.j2",
    "ask": "study_ask.html.j2",
    "told": "study_told.html.j2",
    "check": "study_check.html.j2",
    "break": "study_text.html.j2",
    "debrief": "study_debrief.html.j2",
}


async def _content(visit: Visit, step: Step) -> dict[str, Any]:
    """What the template of a step needs beyond what all pages share."""
    block: Any = visit.here.study.configuration.block[step.block]
    own: dict[str, Any] = {"title": block.title, "block": block}
    match step.kind:
        case "ask":
            return own | _case(visit, step)
        case "told":
            return own | _case(visit, step) | _told(visit)
        case "quiz":
            return own
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
                "a break if you like. Go on when you are ready."
            )
        case _:
            text = block.text
    return own | {"text": paragraphs(text)}


def _told(visit: Visit) -> dict[str, Any]:
    """What somebody said, what was true, and how far apart that is."""
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
    """A case: where it stands, what is shown of it, and how it is answered."""
    here, there, trial = visit.here, visit.round, visit.here.trial(step)
    assert there is not None
    look = here.study.configuration.outcome
    return {
        "case": trial.place + 1,
        "cases": here.protocol.length_of(step.block),
        "results": results(here, there),
        "outcome": outcome_name(here),
        "kind": here.study.answer,
        "unit": "%" if here.study.answer == "percent" else look.unit,
        "limits": limits(here),
        "low": 0.0 if here.study.answer == "percent" else look.low,
        "high": 100.0 if here.study.answer == "percent" else look.high,
        "places": 10.0**-look.decimals,
        "choices": choices(here),
    }


async def _missed(visit: Visit, block: Instructions) -> list[str]:
    """Questions that were not right when somebody last took this quiz."""
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
    """The next case takes a while; the page asks again by itself, and nothing is lost."""
    answered = page(
        request,
        "study_notice.html.j2",
        503,
        **common(visit),
        title="One moment",
        sentences=["Your next case is being prepared. This page goes on by itself."],
        again=f"/s/{visit.here.id}/now",
    )
    answered.headers["Refresh"] = answered.headers["Retry-After"] = str(_AGAIN)
    return answered


def notice(
    request: Request, study: Configuration, title: str, *sentences: str, status: int = 200
) -> Response:
    """A page that only says something, to whoever it may be."""
    return page(
        request,
        "study_notice.html.j2",
        status,
        study=study,
        who=None,
        title=title,
        sentences=sentences,
        note="",
        faults={},
        again=None,
    )


def _ended(request: Request, visit: Visit) -> Response:
    who, said = visit.who, visit.here.study.configuration
    title, sentences = _end_words(visit)
    redirect = None
    if said.completion.redirect is not None and who.code is not None:
        redirect = said.completion.redirect.replace("{code}", quote(who.code, safe=""))
    own = {"title": title, "sentences": sentences, "code": who.code, "redirect": redirect}
    return page(request, "study_end.html.j2", 200, **common(visit), **own)


def _end_words(visit: Visit) -> tuple[str, list[str]]:
    """Why it ended follows from where somebody was."""
    who = visit.who
    if who.status == "completed":
        return "Thank you", ["You have finished. Your answers have been kept."]
    if who.status == "no consent":
        return "You did not agree", ["That is fine. Nothing more is asked, and you can leave."]
    if who.status == "withdrawn":
        return "You have withdrawn", ["Nothing more is asked of you."]
    if who.is_lapsed:
        return "Too long ago", [
            "You were away for longer than this study allows, so it cannot be continued."
        ]
    if visit.here.step(who.stage).kind == "ask":
        return "No more people are needed", [
            "All places have been taken meanwhile. Thank you for your interest, and for your time."
        ]
    return "The study ends here for you", [
        "The questions about the instructions were not answered correctly, so the study cannot go "
        "on. Thank you for your time."
    ]
