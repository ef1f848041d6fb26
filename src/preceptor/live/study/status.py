"""Status of an open study: participants by step and arm, drop-out, pace, errors, assignments.

Counted from the store, for one kind of participant at a time: bots and previews are never added to
real participants. Errors are over all arms while the study is blinded, by arm afterwards.

`verify` checks that a study is as it was registered, and that everything stored follows from its
events: it recomputes the hash of the registration, compares it with the event of opening the study,
and rebuilds the study, its arms and its participants. `store.checking` checks rounds and people.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select

from preceptor.live.store import checking, participants, plans, studies
from preceptor.live.store.chain import later, now, seconds_until
from preceptor.live.store.checking import Checked
from preceptor.live.store.participants import Participant
from preceptor.live.store.studies import KeptArm, KeptStudy
from preceptor.live.store.tables import event, given_answer, person, round_
from preceptor.live.study.cases import Filled, draw
from preceptor.live.study.registration import Registration
from preceptor.live.study.study import Protocol, Study

ALL_ARMS = "all arms"


@dataclass(frozen=True)
class ErrorCourse:
    """Mean errors of each round that has been answered.

    Attributes
    ----------
    measure
        The averaged quantity, in words.
    lines
        By arm, or for all arms together under `ALL_ARMS`: round (from 1), mean error, answers.
    is_blinded
        Whether arms are pooled.
    """

    measure: str
    lines: dict[str, tuple[tuple[int, float, int], ...]]
    is_blinded: bool


def error_course(
    connection: Connection, kept: KeptStudy, study: Study, kind: str = "real"
) -> ErrorCourse:
    """Mean errors by round; those of real participants by arm only after unblinding.

    Parameters
    ----------
    connection
        Of the store.
    kept
        The row of the study, which says whether it is unblinded.
    study
        The study.
    kind
        Of participants; bots and previews are never blinded.

    Returns
    -------
    ErrorCourse
        With one line, or one per arm.
    """
    is_blinded = kind == "real" and kept.unblinded is None
    difference = round_.c.prediction - round_.c.outcome
    if study.answer == "percent":
        error, measure = difference * difference, "mean squared error (Brier score)"
    elif study.answer == "yes or no":
        error, measure = func.abs(difference), "share of wrong answers"
    else:
        unit = study.configuration.outcome.unit
        error, measure = func.abs(difference), f"mean error{f' in {unit}' if unit else ''}"
    # While blinded, the query itself averages over arms.
    own = participants.in_study(kept.id, kind)
    groups = [round_.c.number] if is_blinded else [round_.c.number, person.c.arm]
    asked = (
        select(func.avg(error), func.count(), *groups)
        .select_from(round_.join(person, person.c.id == round_.c.person))
        .where(own, round_.c.prediction.is_not(None), round_.c.outcome.is_not(None))
        .group_by(*groups)
        .order_by(round_.c.number)
    )
    names = [ALL_ARMS] if is_blinded else [arm.name for arm in study.configuration.arm]
    lines: dict[str, list[tuple[int, float, int]]] = {name: [] for name in names}
    for row in connection.execute(asked):
        name = ALL_ARMS if is_blinded else row.arm
        lines[name].append((row.number + 1, float(row[0]), int(row[1])))
    return ErrorCourse(measure, {name: tuple(line) for name, line in lines.items()}, is_blinded)


@dataclass(frozen=True)
class Assignment:
    """A draw, as recorded.

    Attributes
    ----------
    number
        Participants assigned before.
    block
        Its permuted block, from 0.
    order
        Order of the arms in this block.
    arm, place
        What was drawn.
    status
        Current status of the participant.
    follows
        Whether the same arm and place follow from the seed and the places filled then; None if the
        record was erased with the participant.
    """

    number: int
    block: int
    order: tuple[str, ...]
    arm: str
    place: int | None
    status: str
    follows: bool | None


def assignments(connection: Connection, study: Study, kind: str) -> list[Assignment]:
    """All draws of a study for one kind of participant, in order."""
    written = (event.c.subject == person.c.id) & (event.c.kind == "assigned")
    asked = (
        select(person, event.c.payload)
        .select_from(person.outerjoin(event, written))
        .where(participants.in_study(study.id, kind), person.c.draw.is_not(None))
        .order_by(person.c.draw, person.c.id)
    )
    made = []
    for row in connection.execute(asked):
        said = None if row.payload is None else json.loads(row.payload)
        block = row.draw // len(study.configuration.arm)
        order = () if said is None else tuple(said.get("order", ()))
        status = "silent" if row.is_lapsed and row.status == "active" else row.status
        follows = None if said is None else _follows(study, row, said)
        made.append(Assignment(row.draw, block, order, row.arm, row.place, status, follows))
    return made


def _follows(study: Study, row: Any, said: dict[str, Any]) -> bool:
    """Repeat a draw from its record, which may have been tampered with."""
    try:
        arms = [
            Filled(
                arm.name,
                frozenset(said["filled"].get(arm.name, ())),
                said["caps"].get(arm.name),
                arm.name in said["open"],
            )
            for arm in study.configuration.arm
        ]
        found = draw(arms, said["draw"], study.configuration.seed)
    except (KeyError, TypeError, AttributeError, ValueError):
        return False
    drawn = None if found is None else (found.arm, found.place, found.number)
    return drawn == (said["arm"], said["place"], said["draw"]) and drawn[::2] == (row.arm, row.draw)


@dataclass(frozen=True)
class ArmStatus:
    """An arm: how many participants were assigned to it, and their status."""

    name: str
    policy: str
    is_open: bool
    cap: int | None
    assigned: int
    active: int
    completed: int
    left: int

    @property
    def filled(self) -> int:
        """Active and completed participants, which assignment balances."""
        return self.active + self.completed


@dataclass(frozen=True)
class BlockStatus:
    """A block: who is in it by arm, how many reached it, and how many dropped out in it."""

    number: int
    title: str
    kind: str
    now: dict[str, int]
    reached: int
    left: int

    @property
    def drop_out(self) -> float:
        """Share of those who reached it that dropped out in it."""
        return self.left / self.reached if self.reached else 0.0


@dataclass(frozen=True)
class StudyStatus:
    """Status of a study, for one kind of participant.

    Attributes
    ----------
    people
        Planned number of participants.
    statuses
        Numbers of active, silent, completed, withdrawn, screened out, and without consent.
    invited
        Participants who have not used their link.
    per_minute
        Answers in each minute of the last hour, the latest last.
    imbalance
        Difference between the fullest and the emptiest arm that is open and below its cap.
    a_day
        Completions per day since the first participant; None during the first hour.
    days_to_go
        At this pace; None if unknown.
    others
        Numbers of participants of the other kinds.
    """

    id: str
    title: str
    state: str
    kind: str
    opened: str
    closed: str | None
    unblinded: str | None
    people: int
    statuses: dict[str, int]
    invited: int
    arms: tuple[ArmStatus, ...]
    blocks: tuple[BlockStatus, ...]
    answers: int
    per_minute: tuple[int, ...]
    last_answer: str | None
    imbalance: int
    a_day: float | None
    days_to_go: float | None
    others: dict[str, int]

    @property
    def completed(self) -> int:
        """Number of participants who completed the study."""
        return self.statuses["completed"]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **asdict(self),
            "arms": [{**asdict(arm), "filled": arm.filled} for arm in self.arms],
            "blocks": [{**asdict(each), "drop_out": each.drop_out} for each in self.blocks],
        }


def standing(
    connection: Connection, kept: KeptStudy, study: Study, kind: str = "real"
) -> StudyStatus:
    """Compute the status of a study; `kept` is its row, `kind` real, bot or preview."""
    everyone = participants.everyone(connection, kept.id, kind)
    after = study.configuration.recruiting.drop_after
    by_link = study.configuration.recruiting.entry == "links"
    begun = [who for who in everyone if not (by_link and has_not_begun(who))]
    silent = {who.id for who in begun if is_silent(who, after)}
    arms = tuple(_arm(arm, begun, silent) for arm in studies.arms_of(connection, kept.id))
    total, last = _answers(connection, kept.id, kind)
    open_arms = [a for a in arms if a.is_open and (a.cap is None or a.filled < a.cap)]
    filled = [arm.filled for arm in open_arms]
    pace = _pace(begun)
    to_go = max(kept.people - sum(who.status == "completed" for who in begun), 0)
    return StudyStatus(
        id=kept.id,
        title=study.configuration.title,
        state=kept.state,
        kind=kind,
        opened=kept.opened,
        closed=kept.closed,
        unblinded=kept.unblinded,
        people=kept.people,
        statuses=_statuses(begun, silent),
        invited=len(everyone) - len(begun),
        arms=arms,
        blocks=tuple(_blocks(study, begun, silent)),
        answers=total,
        per_minute=_per_minute(connection, kept.id, kind),
        last_answer=last,
        imbalance=max(filled, default=0) - min(filled, default=0),
        a_day=pace,
        days_to_go=0.0 if not to_go else (to_go / pace if pace else None),
        others=_others(connection, kept.id, kind),
    )


@dataclass(frozen=True)
class ParticipantRow:
    """A participant as the owner may see them at any time: without arm and answers."""

    participant: str
    status: str
    block: str
    rounds: int
    seen_at: str
    comment: str


def participant_rows(
    connection: Connection, kept: KeptStudy, study: Study, kind: str = "real"
) -> list[ParticipantRow]:
    """All participants, in the order of their random names, which tells nothing about arms."""
    own = participants.in_study(kept.id, kind)
    answered = (
        select(round_.c.person, func.count(round_.c.predicted_at))
        .select_from(round_.join(person, person.c.id == round_.c.person))
        .where(own)
        .group_by(round_.c.person)
    )
    commented = (
        select(given_answer.c.participant, given_answer.c.answer)
        .select_from(given_answer.join(person, person.c.id == given_answer.c.participant))
        .where(own, given_answer.c.what == "comment")
        .order_by(given_answer.c.stage, given_answer.c.attempt)
    )
    rounds = {str(who): int(number) for who, number in connection.execute(answered)}
    comments: dict[str, list[str]] = {}
    for who, said in connection.execute(commented):
        comments.setdefault(who, []).append(str(said))
    minutes = study.configuration.recruiting.drop_after
    titles = [*(block.title for block in study.configuration.block), ""]
    found = [
        ParticipantRow(
            who.id,
            "silent" if is_silent(who, minutes) else who.status,
            titles[block_of(study.protocol, who.stage)],
            rounds.get(who.id, 0),
            who.seen_at,
            " ".join(comments.get(who.id, ())),
        )
        for who in participants.everyone(connection, kept.id, kind)
    ]
    return sorted(found, key=lambda each: each.participant)


def has_not_begun(who: Participant) -> bool:
    """Whether a participant was sent a link and has not used it."""
    return who.seen_at == who.created and who.stage == 0 and who.is_active


def is_silent(who: Participant, minutes: float) -> bool:
    """Whether an active participant has been inactive for too long."""
    return who.is_active and (who.is_lapsed or -seconds_until(who.seen_at) > 60.0 * minutes)


def block_of(protocol: Protocol, stage: int) -> int:
    """Block of a step; the end has the number after the last block."""
    return protocol.steps[min(stage, protocol.end)].block


def _statuses(everyone: Sequence[Participant], silent: set[str]) -> dict[str, int]:
    found = Counter("silent" if who.id in silent else who.status for who in everyone)
    names = ("active", "silent", "completed", "withdrawn", "screened out", "no consent")
    return {name: found[name] for name in names}


def _arm(arm: KeptArm, everyone: Sequence[Participant], silent: set[str]) -> ArmStatus:
    own = [who for who in everyone if who.arm == arm.name]
    active = sum(who.is_active and who.id not in silent for who in own)
    completed = sum(who.status == "completed" for who in own)
    left = len(own) - active - completed
    return ArmStatus(arm.name, arm.policy, arm.is_open, arm.cap, len(own), active, completed, left)


def _blocks(study: Study, everyone: Sequence[Participant], silent: set[str]) -> list[BlockStatus]:
    protocol = study.protocol
    where = {who.id: block_of(protocol, who.stage) for who in everyone}
    is_here = {who.id: who.is_active and who.id not in silent for who in everyone}
    made = []
    for number, block in enumerate(study.configuration.block):
        inside = [who for who in everyone if where[who.id] == number]
        there = Counter(who.arm or "" for who in inside if is_here[who.id])
        left = sum(not is_here[who.id] and who.status != "completed" for who in inside)
        reached = sum(where[who.id] >= number for who in everyone)
        made.append(BlockStatus(number + 1, block.title, block.kind, dict(there), reached, left))
    return made


def _answers(connection: Connection, study: str, kind: str) -> tuple[int, str | None]:
    answered = round_.join(person, person.c.id == round_.c.person)
    asked = select(func.count(round_.c.predicted_at), func.max(round_.c.predicted_at))
    row = connection.execute(
        asked.select_from(answered).where(participants.in_study(study, kind))
    ).one()
    return int(row[0]), row[1]


def _per_minute(connection: Connection, study: str, kind: str) -> tuple[int, ...]:
    minute = func.substr(round_.c.predicted_at, 1, 16)
    asked = (
        select(minute, func.count())
        .select_from(round_.join(person, person.c.id == round_.c.person))
        .where(participants.in_study(study, kind), round_.c.predicted_at >= later(-3600.0))
        .group_by(minute)
    )
    found = {str(row[0]): int(row[1]) for row in connection.execute(asked)}
    this = datetime.now(UTC).replace(tzinfo=None)
    minutes = [this - timedelta(minutes=ago) for ago in reversed(range(60))]
    return tuple(found.get(each.isoformat(timespec="minutes"), 0) for each in minutes)


def _pace(everyone: Sequence[Participant]) -> float | None:
    """Completions per day; None during the first hour."""
    finished = sum(who.status == "completed" for who in everyone)
    since = -seconds_until(min((who.created for who in everyone), default=now()))
    if not finished or since < timedelta(hours=1).total_seconds():
        return None
    return finished * timedelta(days=1).total_seconds() / since


def _others(connection: Connection, study: str, kind: str) -> dict[str, int]:
    asked = select(person.c.kind, func.count()).where(person.c.study == study)
    rows = connection.execute(asked.group_by(person.c.kind))
    found = {str(row[0]): int(row[1]) for row in rows}
    return {each: found.get(each, 0) for each in ("real", "bot", "preview") if each != kind}


_ENDINGS = ("completed", "withdrawn", "screened out", "no consent")


@dataclass(frozen=True)
class StudyCheck:
    """Result of a check.

    Attributes
    ----------
    registration
        The recomputed hash.
    checked
        Result of the check of the whole store.
    faults
        A sentence for each fault.
    """

    registration: str
    checked: Checked
    faults: tuple[str, ...]


def verify(connection: Connection, kept: KeptStudy, columns_of: Any) -> StudyCheck:
    """Check a study; `columns_of` is as for `store.checking.check`."""
    checked = checking.check(connection, columns_of)
    events = list(_events(connection))
    faults = [*checked.faults, *_registration_faults(connection, kept, events)]
    faults += _study_faults(connection, kept, events)
    by_person: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for kind, subject, said in events:
        if subject is not None:
            by_person.setdefault(subject, []).append((kind, said))
    for who in participants.everyone(connection, kept.id):
        faults += _participant_faults(who, by_person.get(who.id, []))
    faults += _draw_faults(connection, kept)
    return StudyCheck(Registration(kept.registration).sha256, checked, tuple(faults))


def _events(connection: Connection) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    asked = select(event.c.kind, event.c.subject, event.c.payload).order_by(event.c.seq)
    for row in connection.execute(asked):
        try:
            said = {} if row.payload is None else json.loads(row.payload)
        except ValueError:  # the chain reports it
            said = {}
        yield row.kind, row.subject, said


def _registration_faults(
    connection: Connection, kept: KeptStudy, events: list[tuple[str, str | None, dict[str, Any]]]
) -> Iterator[str]:
    where = f"study {kept.id!r}"
    registration = Registration(kept.registration)
    opened = [said for kind, _, said in events if kind == "study opened" and _is(said, kept)]
    if len(opened) != 1:
        yield f"{where}: has {len(opened)} events of opening"
        return
    if registration.sha256 != opened[0].get("registration"):
        yield (
            f"{where}: the registration has the hash {registration.sha256}, but it was opened with "
            f"{opened[0].get('registration')}"
        )
    if kept.registration_sha256 != registration.sha256:
        yield f"{where}: its registration does not have the stored hash"
    try:
        study = Study.from_json(kept.config)
        content = registration.content
    except ValueError as error:
        yield f"{where}: cannot be read ({error})"
        return
    if not study.sha256 == kept.sha256 == opened[0].get("sha256") == content.get("study_sha256"):
        yield f"{where}: its configuration is not the one that was registered"
    registered = {arm["name"]: arm["plan_sha256"] for arm in content.get("arms", [])}
    there = {arm.name: arm.plan for arm in studies.arms_of(connection, kept.id)}
    for name in sorted(registered.keys() | there.keys()):
        if registered.get(name) != there.get(name):
            yield f"{where}: the plan of arm {name!r} is not the one that was registered"
    for name, sha256 in there.items():
        if plans.sha256_of(plans.body_of(connection, sha256)) != sha256:
            yield f"{where}: the plan of arm {name!r} was changed"


def _study_faults(
    connection: Connection, kept: KeptStudy, events: list[tuple[str, str | None, dict[str, Any]]]
) -> Iterator[str]:
    """State, number of people and open arms must follow from events."""
    where = f"study {kept.id!r}"
    own = [(kind, said) for kind, _, said in events if _is(said, kept)]
    try:
        people = int(Registration(kept.registration).content["stopping"]["people"])
    except (ValueError, KeyError, TypeError):  # reported above
        return
    people = max([people, *(said["to"] for kind, said in own if kind == "people raised")])
    if kept.people != people:
        yield f"{where}: people is {kept.people}, but the events make it {people}"
    for field, kind, is_there in (
        ("closed", "study closed", kept.state == "closed"),
        ("unblinded", "unblinded", kept.unblinded is not None),
    ):
        happened = any(each == kind for each, _ in own)
        if happened != is_there:
            yield f"{where}: is {'' if is_there else 'not '}{field}, but the log says otherwise"
    closed = {said.get("arm") for kind, said in own if kind == "arm closed"}
    for arm in studies.arms_of(connection, kept.id):
        if arm.is_open == (arm.name in closed):
            said = "open" if arm.is_open else "closed"
            yield f"{where}: arm {arm.name!r} is {said}, but the log says otherwise"


def _is(said: Mapping[str, Any], kept: KeptStudy) -> bool:
    return said.get("study") == kept.id


def _participant_faults(who: Participant, own: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    if not own:
        if who.status != "withdrawn":  # erased participants have no events
            yield f"participant {who.id!r}: has no event of joining"
        return
    where = f"participant {who.id!r}"
    first = next((said for kind, said in own if kind == "joined"), {})
    assigned = next((said for kind, said in own if kind == "assigned"), {})
    ended = [kind for kind, _ in own if kind in _ENDINGS]
    follows = {
        "study": first.get("study"),
        "kind": first.get("kind"),
        "status": ended[-1] if ended else "active",
        "arm": assigned.get("arm"),
        "place": assigned.get("place"),
        "draw": assigned.get("draw"),
    }
    yield from checking.differences(where, vars(who), follows)


def _draw_faults(connection: Connection, kept: KeptStudy) -> Iterator[str]:
    try:
        study = Study.from_json(kept.config)
    except ValueError:  # reported above
        return
    for kind in ("real", "bot", "preview"):
        for each in assignments(connection, study, kind):
            if each.follows is False:
                yield f"assignment {each.number} ({kind}): does not follow from the seed"
