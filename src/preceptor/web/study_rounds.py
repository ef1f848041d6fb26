"""A participant's case: opened, and shown, when its page is drawn for the first time."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from preceptor.service.opening import open_round, think_ahead
from preceptor.service.schemas import Opening
from preceptor.store import participants, people, plans, rounds
from preceptor.store.refusals import Conflict
from preceptor.store.rounds import Round
from preceptor.study.protocol import Trial
from preceptor.web.studies_live import LiveStudy
from preceptor.web.study_access import Visit


async def with_round(visit: Visit) -> Visit:
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


def shown(connection: Connection, here: LiveStudy, who: str, trial: Trial) -> Round:
    """Write down that somebody sees the case of a round now."""
    person = people.find(connection, who, to_change=True)
    there = rounds.find(connection, who, trial.number)
    if there.shown is not None:
        return there
    labels = there.recommended or []
    assert person.case_list is not None
    values = plans.case_of(connection, person.case_list, trial.number).values
    seen = [float(values[i] or 0.0) for i in here.guide.words.indices(labels)]
    return rounds.show(connection, person, there, labels, seen, None)


def answer_round(
    connection: Connection, here: LiveStudy, who: str, trial: Trial, given: float
) -> Round:
    """What somebody said; the truth is looked up, and told if the round has feedback."""
    person = people.find(connection, who, to_change=True)
    there = rounds.find(connection, who, trial.number)
    if person.case_list is None or there.case_number is None:
        raise Conflict(f"round {trial.number}: its case is not held here", there)
    truth = plans.case_of(connection, person.case_list, there.case_number).outcome
    taught = here.guide.words.counted(there.shown or ())
    return rounds.predict(connection, person, there, given, taught, truth)


def prepare(visit: Visit, who: participants.Participant) -> None:
    """Where a tutor decides, let it begin with the next round while somebody reads."""
    here = visit.here
    if who.arm is not None and here.arms[who.arm].is_adaptive and who.is_active:
        visit.live.aside(think_ahead(visit.live, who.id))
