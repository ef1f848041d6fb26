"""From step to step: one transaction a move, whatever comes at once from elsewhere.

Whoever reaches the first case gets an arm in the same transaction, so nobody has an arm without a
place and no place is given twice.
"""

from __future__ import annotations

import hashlib
import json
import secrets

from sqlalchemy import Connection

from preceptor.store import participants, people, plans, rounds, studies
from preceptor.store.clock import seconds_until
from preceptor.store.participants import Participant
from preceptor.store.plans import HeldCase
from preceptor.store.refusals import Conflict
from preceptor.store.rounds import Round
from preceptor.study.allocation import Draw, Filled, draw
from preceptor.study.cases import case_list
from preceptor.study.protocol import Trial
from preceptor.web.studies_live import LiveStudy

# Letters and digits that nobody mistakes for one another.
_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
_CODE = 10
# Seconds after which it is written down that somebody is still there.
_SILENCE = 60.0


def advance(
    connection: Connection, here: LiveStudy, who: Participant, to: int | None = None
) -> Participant:
    """On to the next step, or to another one."""
    to = who.stage + 1 if to is None else to
    kind = here.step(to).kind
    who = participants.change(connection, who, stage=to)
    if kind == "end":
        code = here.study.configuration.completion.code
        return participants.end(connection, who, "completed", code or _own_code())
    if kind == "ask" and who.arm is None:
        found = _drawn(connection, here, who)
        if found is None:
            return screen_out(connection, here, who)
        return _assigned(connection, here, who, *found)
    return who


def screen_out(connection: Connection, here: LiveStudy, who: Participant) -> Participant:
    """It ends here for them."""
    code = here.study.configuration.completion.screened_out
    return participants.end(connection, who, "screened out", code)


def _own_code() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(_CODE))


def _drawn(
    connection: Connection, here: LiveStudy, who: Participant
) -> tuple[Draw, list[Filled]] | None:
    """The next arm and place with all that they were drawn from; None if there is no room."""
    kept = studies.find(connection, here.id, to_change=True)
    said = here.study.configuration
    own = (connection, here.id, who.kind)
    if who.kind != "preview":
        if not kept.is_open:
            return None
        participants.let_lapse(*own, said.recruiting.drop_after)
    taken = participants.filled(*own)
    if who.kind == "real" and sum(map(len, taken.values())) >= kept.people:
        return None
    # Whoever previews a study must get in, however full it is.
    arms = [
        Filled(arm.name, taken.get(arm.name, frozenset()))
        if who.kind == "preview"
        else Filled(arm.name, taken.get(arm.name, frozenset()), arm.cap, arm.is_open)
        for arm in studies.arms_of(connection, here.id)
    ]
    found = draw(arms, participants.assigned_before(*own), said.seed)
    return None if found is None else (found, arms)


def _assigned(
    connection: Connection, here: LiveStudy, who: Participant, found: Draw, arms: list[Filled]
) -> Participant:
    own = here.arms[found.arm]
    return participants.assign(
        connection,
        who,
        arm=found.arm,
        place=found.place,
        number=found.number,
        drawn_from={
            "seed": here.study.configuration.seed,
            "order": list(found.order),
            "filled": {arm.name: sorted(arm.places) for arm in arms},
            "caps": {arm.name: arm.cap for arm in arms},
            "open": [arm.name for arm in arms if arm.is_open],
        },
        plan=here.plans[found.arm],
        policy="tutor" if own.is_adaptive else own.policy,
        columns=here.study.problem.size,
        cases=_cases(connection, here, found.place),
    )


def _cases(connection: Connection, here: LiveStudy, place: int) -> str:
    """The name of the list of cases of a place, which is kept when the place is first taken."""
    drawn = case_list(here.study, place)
    rows = [
        HeldCase(values, outcome)
        for values, outcome in zip(drawn.values.tolist(), drawn.truths.tolist(), strict=True)
    ]
    text = json.dumps([[list(row.values), row.outcome] for row in rows])
    name, first = f"{here.id}.{place}", next(iter(here.plans.values()))
    plans.keep_cases(connection, name, first, hashlib.sha256(text.encode()).hexdigest(), rows)
    return name


def is_back(here: LiveStudy, who: Participant) -> bool:
    """Whether somebody was silent for so long that it has to be looked at."""
    after = here.study.configuration.recruiting.drop_after
    return who.is_active and -seconds_until(who.seen_at) > min(_SILENCE, 30.0 * after)


def arrive(connection: Connection, here: LiveStudy, who: Participant) -> Participant:
    """Somebody was silent for a while: they go on, or cannot go on, as the file says.

    `who` was found to be changed.
    """
    said = here.study.configuration.recruiting
    late = who.is_lapsed or -seconds_until(who.seen_at) > 60.0 * said.drop_after
    if not who.is_active:
        return who
    if not late or who.kind == "preview":
        return participants.change(connection, who)
    if said.resume == "block":
        who = participants.change(connection, who, is_lapsed=True)
        return screen_out(connection, here, who)
    lapsed = who.is_lapsed and not _is_free(connection, here, who)
    return participants.change(connection, who, is_lapsed=lapsed)


def _is_free(connection: Connection, here: LiveStudy, who: Participant) -> bool:
    """Whether the place of somebody who lapsed is still theirs."""
    if who.arm is None:
        return True
    taken = participants.filled(connection, here.id, who.kind).get(who.arm, frozenset())
    arms = {arm.name: arm for arm in studies.arms_of(connection, here.id)}
    cap = arms[who.arm].cap
    return who.place not in taken and (cap is None or len(taken) < cap)


def begin(connection: Connection, here: LiveStudy, who: Participant) -> Participant:
    """The first step of somebody new; a study may begin with a case at once."""
    return advance(connection, here, who, 0) if here.step(0).kind == "ask" else who


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
