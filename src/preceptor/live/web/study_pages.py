"""Pages of participants: one for each kind of step, one for each way to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from fastapi import Request
from markupsafe import Markup
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.live.store import participants, rounds
from preceptor.live.store.chain import seconds_until
from preceptor.live.study.config import Instructions, Testing
from preceptor.live.study.payment import bonus
from preceptor.live.study.study import Step, Study
from preceptor.live.study.taking_part import due_at
from preceptor.live.web.pages import page
from preceptor.live.web.study_access import Visit
from preceptor.live.web.study_forms import (
    advice,
    answer,
    choices,
    limits,
    number,
    outcome_name,
    paragraphs,
    results,
    truth,
    verdict,
)

_NOTES = {
    "already": ("already", "moved_on"),
    "again": ("again",),
    "back": ("welcome_back",),
}
"""Messages that an address may name."""


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
        return await _ended(request, visit)
    step = here.step(who.stage)
    own = await _content(visit, step)
    status = 422 if wrong.faults else 200
    noted = " ".join(map(here.words.say, _NOTES.get(note, ())))
    said = {"faults": wrong.faults, "typed": wrong.typed, "note": noted}
    template = f"study_{_TEMPLATES.get(step.kind, step.kind)}.html.j2"
    return page(request, template, status, **{**common(visit), **said, **own})


def common(visit: Visit) -> dict[str, Any]:
    """Context of all pages of a participant."""
    here, who = visit.here, visit.who
    return {
        **anonymous(here.study),
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
            own |= {"limits": limits, "words": visit.here.words}
        case "check":
            text = block.check[step.index].text
        case "page" if isinstance(block, Instructions):
            text = block.pages[step.index]
            own |= {"page_number": step.index + 1, "page_count": len(block.pages)}
            own["missed"] = await _missed(visit, block) if step.index == 0 else []
        case "break" if block.kind != "break":  # between two rounds of another block
            say, length = visit.here.words.say, visit.here.protocol.length_of(step.block)
            own["title"] = say("title_break")
            text = f"{say('break_done', n=step.index, all=length)} {say('break_text')}"
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
        "outcome": Markup('<span lang="{}">{}</span>').format(
            here.study.configuration.language, outcome_name(here)
        ),
        "kind": here.study.answer,
        "unit": "%" if here.study.answer == "percent" else look.unit,
        "limits": here.words.say("range", low="0", high="100")
        if here.study.answer == "percent"
        else limits(here.words, look),
        "low": 0.0 if here.study.answer == "percent" else look.low,
        "high": 100.0 if here.study.answer == "percent" else look.high,
        "places": 10.0**-look.decimals,
        "choices": choices(here),
        "advice": advice(here, there),
        "confidence": getattr(here.study.configuration.block[step.block], "confidence", None),
    }


async def _due(visit: Visit, block: Testing) -> dict[str, Any]:
    """When a participant may come back, and until when their place is kept."""
    who = visit.who
    due = await visit.live.store.reading(lambda connection: due_at(connection, who))
    first = datetime.fromisoformat(due)
    last = first + timedelta(days=block.within_days)
    words = visit.here.words
    days = [words.date(moment.isoformat(), "moment_format") for moment in (first, last)]
    linked = Markup('<time datetime="{}">{}</time>').format(due, days[0])
    said = words.say("part_later", first=linked, last=days[1])
    return {"said": said, "is_due": seconds_until(due) <= 0.0}


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
    say = visit.here.words.say
    context = {**common(visit), "again": f"/s/{visit.here.id}/now"}
    answered = notice(request, context, say("one_moment"), say("being_prepared"), status=503)
    answered.headers["Refresh"] = answered.headers["Retry-After"] = "1"
    return answered


def notice(
    request: Request, context: Mapping[str, Any], title: str, *sentences: str, status: int = 200
) -> Response:
    """A page with a message; `context` is that of a participant or of an anonymous visitor."""
    said = {"again": None, **context, "title": title, "sentences": sentences}
    return page(request, "study_notice.html.j2", status, **said)


def anonymous(study: Study) -> dict[str, Any]:
    """Context of pages without a participant."""
    speaks = {"say": study.words.say, "language": study.words.language}
    return {"study": study.configuration, "who": None, "note": "", "faults": {}, **speaks}


async def _bonus(visit: Visit) -> str:
    """The bonus of a participant who has finished; empty if there is none."""
    here, who = visit.here, visit.who
    rule = here.study.configuration.payment
    if rule is None or who.status != "completed":
        return ""
    played = await visit.live.store.reading(lambda c: rounds.all_of(c, who.id))
    value = bonus(here.study, played)
    return "" if value is None else number(here.words, value, 2, rule.currency)


async def _ended(request: Request, visit: Visit) -> Response:
    who, said = visit.who, visit.here.study.configuration
    title, sentence = _end_words(visit)
    redirect = None
    if said.completion.redirect is not None and who.code is not None:
        redirect = said.completion.redirect.replace("{code}", quote(who.code, safe=""))
    own = {
        "title": title,
        "sentences": [sentence],
        "bonus": await _bonus(visit),
        "code": who.code,
        "redirect": redirect,
    }
    return page(request, "study_end.html.j2", 200, **common(visit), **own)


_ENDS = {
    "completed": ("thanks", "thanks_why"),
    "no consent": ("no_consent", "no_consent_why"),
    "withdrawn": ("withdrawn", "withdrawn_why"),
}


def _end_words(visit: Visit) -> tuple[str, str]:
    """Title and sentence of the last page."""
    who, say = visit.who, visit.here.words.say
    keys = "screened_out", "screened_out_why"
    if who.status in _ENDS:
        keys = _ENDS[who.status]
    elif who.is_lapsed and visit.here.study.configuration.recruiting.resume == "block":
        keys = "too_late", "too_late_why"
    elif who.is_lapsed or visit.here.step(who.stage).kind in ("consent", "ask"):
        keys = "study_full", "no_place_why"
    return say(keys[0]), say(keys[1])
