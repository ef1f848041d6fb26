"""How a study stands: who is where, who left, how fast answers come, how full the arms are.

Counted from what is kept, for one kind of participant at a time: bots and previews are never added
to people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, func, select

from preceptor.store import participants, studies
from preceptor.store.clock import later, now, seconds_until
from preceptor.store.participants import Participant
from preceptor.store.studies import KeptArm, KeptStudy
from preceptor.store.tables import participant, round_
from preceptor.study.protocol import Protocol
from preceptor.study.study import Study

# How many minutes of answers are counted.
MINUTES = 60


@dataclass(frozen=True)
class ArmStanding:
    """An arm: how many people were ever assigned to it, and what became of them.

    `filled` counts those who finished or are at it, which is what assignment balances.
    """

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
        """People who count when the next one is assigned."""
        return self.active + self.completed


@dataclass(frozen=True)
class BlockStanding:
    """A block: who is in it now, by arm, how many reached it, and how many left in it."""

    number: int
    title: str
    kind: str
    now: dict[str, int]
    reached: int
    left: int

    @property
    def drop_out(self) -> float:
        """The share of those who reached it that left in it."""
        return self.left / self.reached if self.reached else 0.0


@dataclass(frozen=True)
class Standing:
    """How a study stands, for one kind of participant.

    Attributes
    ----------
    people
        Who shall finish.
    statuses
        How many are active, silent, completed, withdrawn, screened out, without consent.
    invited
        Who has a link and has not begun.
    per_minute
        Answers in each of the last minutes, the latest last.
    imbalance
        Difference between the fullest and the emptiest arm that is open and below its cap.
    a_day
        People who finish a day, since the first one came; None before there is an hour to judge by.
    days_to_go
        At this pace; None if nobody can know.
    others
        How many bots, previews or people there are besides.
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
    arms: tuple[ArmStanding, ...]
    blocks: tuple[BlockStanding, ...]
    answers: int
    per_minute: tuple[int, ...]
    last_answer: str | None
    imbalance: int
    a_day: float | None
    days_to_go: float | None
    others: dict[str, int]

    @property
    def completed(self) -> int:
        """Who finished."""
        return self.statuses["completed"]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **asdict(self),
            "arms": [{**asdict(arm), "filled": arm.filled} for arm in self.arms],
            "blocks": [{**asdict(each), "drop_out": each.drop_out} for each in self.blocks],
        }


def standing(connection: Connection, kept: KeptStudy, study: Study, kind: str = "real") -> Standing:
    """How a study stands at this moment.

    Parameters
    ----------
    connection
        Of its store.
    kept
        Its row.
    study
        What its file says.
    kind
        Of the participants that are counted: real, bot or preview.

    Returns
    -------
    Standing
        For this kind alone.
    """
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
    return Standing(
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


def has_not_begun(who: Participant) -> bool:
    """Whether somebody was sent a link and has not answered anything."""
    return who.version == 1 and who.stage == 0 and who.is_active


def is_silent(who: Participant, minutes: float) -> bool:
    """Whether somebody went away without a word."""
    return who.is_active and (who.is_lapsed or -seconds_until(who.seen_at) > 60.0 * minutes)


def block_of(protocol: Protocol, stage: int) -> int:
    """The block of a step; the end has the number after the last."""
    return protocol.steps[min(stage, protocol.end)].block


def _statuses(everyone: Sequence[Participant], silent: set[str]) -> dict[str, int]:
    found = Counter("silent" if who.id in silent else who.status for who in everyone)
    names = ("active", "silent", "completed", "withdrawn", "screened out", "no consent")
    return {name: found[name] for name in names}


def _arm(arm: KeptArm, everyone: Sequence[Participant], silent: set[str]) -> ArmStanding:
    own = [who for who in everyone if who.arm == arm.name]
    active = sum(who.is_active and who.id not in silent for who in own)
    completed = sum(who.status == "completed" for who in own)
    left = len(own) - active - completed
    return ArmStanding(
        arm.name, arm.policy, arm.is_open, arm.cap, len(own), active, completed, left
    )


def _blocks(study: Study, everyone: Sequence[Participant], silent: set[str]) -> list[BlockStanding]:
    protocol = study.protocol
    where = {who.id: block_of(protocol, who.stage) for who in everyone}
    is_here = {who.id: who.is_active and who.id not in silent for who in everyone}
    made = []
    for number, block in enumerate(study.configuration.block):
        inside = [who for who in everyone if where[who.id] == number]
        there = Counter(who.arm or "" for who in inside if is_here[who.id])
        left = sum(not is_here[who.id] and who.status != "completed" for who in inside)
        reached = sum(where[who.id] >= number for who in everyone)
        made.append(BlockStanding(number + 1, block.title, block.kind, dict(there), reached, left))
    return made


def _own(study: str, kind: str) -> Any:
    return (participant.c.study == study) & (participant.c.kind == kind)


def _answers(connection: Connection, study: str, kind: str) -> tuple[int, str | None]:
    answered = round_.join(participant, participant.c.id == round_.c.person)
    asked = select(func.count(round_.c.predicted_at), func.max(round_.c.predicted_at))
    row = connection.execute(asked.select_from(answered).where(_own(study, kind))).one()
    return int(row[0]), row[1]


def _per_minute(connection: Connection, study: str, kind: str) -> tuple[int, ...]:
    minute = func.substr(round_.c.predicted_at, 1, 16)
    asked = (
        select(minute, func.count())
        .select_from(round_.join(participant, participant.c.id == round_.c.person))
        .where(_own(study, kind), round_.c.predicted_at >= later(-60.0 * MINUTES))
        .group_by(minute)
    )
    found = {str(row[0]): int(row[1]) for row in connection.execute(asked)}
    this = datetime.now(UTC).replace(tzinfo=None)
    minutes = [this - timedelta(minutes=ago) for ago in reversed(range(MINUTES))]
    return tuple(found.get(each.isoformat(timespec="minutes"), 0) for each in minutes)


def _pace(everyone: Sequence[Participant]) -> float | None:
    """People who finish a day; None before there is an hour to judge by."""
    finished = sum(who.status == "completed" for who in everyone)
    since = -seconds_until(min((who.created for who in everyone), default=now()))
    if not finished or since < timedelta(hours=1).total_seconds():
        return None
    return finished * timedelta(days=1).total_seconds() / since


def _others(connection: Connection, study: str, kind: str) -> dict[str, int]:
    asked = select(participant.c.kind, func.count()).where(participant.c.study == study)
    rows = connection.execute(asked.group_by(participant.c.kind))
    found = {str(row[0]): int(row[1]) for row in rows}
    return {each: found.get(each, 0) for each in ("real", "bot", "preview") if each != kind}
