"""The round: a row with a status, moved only by calls that name it.

    offered -> shown -> predicted -> told        (or untold: a test without feedback)
    offered, shown -> abandoned

Each step is a function of a connection whose transaction has locked the person, and of the round as
that transaction found it. Repeating a step with the same arguments changes nothing and returns the
round as it is; with other arguments it is a `Conflict`, which carries the round. What was
recommended and what was shown are both kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, or_, select, update

from preceptor.live.store import chain, people
from preceptor.live.store.chain import now
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.tables import OPEN, Conflict, NotFound, person, round_, study


@dataclass(frozen=True)
class StoredRound:
    """A row of the table, in its column order; tests are named columns of the world."""

    person: str
    number: int
    status: str
    plan: str
    policy: str
    opened_with: dict[str, Any]
    case_number: int | None = None
    recommended: list[str] | None = None
    reason: str | None = None
    propensity: float | None = None
    shown: list[str] | None = None
    values: list[float] | None = None
    override_reason: str | None = None
    prediction: float | None = None
    outcome: float | None = None
    feedback: bool = True
    answered: int | None = None
    outcome_known_at: int | None = None
    offered_at: str | None = None
    shown_at: str | None = None
    predicted_at: str | None = None
    ended_at: str | None = None
    sent_with: dict[str, Any] | None = None
    seconds: float | None = None
    seq: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the person has yet to answer it."""
        return self.status in OPEN

    @property
    def counts(self) -> bool:
        """Whether its showings count: the person was told the outcome, or will be."""
        return self.status == "told" or (self.status == "predicted" and self.feedback)


@dataclass(frozen=True)
class Offer:
    """What to show in a new round, and why: fields of the round."""

    recommended: list[str]
    reason: str
    opened_with: dict[str, Any]
    feedback: bool = True
    case_number: int | None = None
    propensity: float = 1.0


# Fields of a round that the event of offering it records.
_OF_OFFERS = ("recommended", "propensity", "plan", "policy", "case_number")
_KEY = (round_.c.person == bindparam("who")) & (round_.c.number == bindparam("which"))
_FIND = select(round_).where(_KEY)
_IS_OPEN = or_(*(round_.c.status == status for status in OPEN))
_OPEN = select(round_).where(round_.c.person == bindparam("who"), _IS_OPEN)
_OF = select(round_).where(round_.c.person == bindparam("who")).order_by(round_.c.number)
_SINCE = _OF.where(round_.c.seq > bindparam("seq"))
_INSERT, _MOVE = insert(round_), update(round_).where(_KEY)
_MAY_BE_SEEN = or_(
    person.c.study.is_(None), person.c.kind != "real", study.c.unblinded.is_not(None)
)


def find(connection: Connection, who: str, number: int) -> StoredRound:
    """Return one round of a person."""
    row = connection.execute(_FIND, {"who": who, "which": number}).first()
    if row is None:
        raise NotFound(f"round: {who!r} has no round {number}; open one with POST")
    return StoredRound(*row)


def open_of(connection: Connection, who: str) -> StoredRound | None:
    """Return the round that the person has yet to answer, if there is one."""
    row = connection.execute(_OPEN, {"who": who}).first()
    return None if row is None else StoredRound(*row)


def all_of(connection: Connection, who: str) -> list[StoredRound]:
    """All rounds of a person, in order."""
    return [StoredRound(*row) for row in connection.execute(_OF, {"who": who})]


def changed_since(connection: Connection, who: str, seq: int) -> list[StoredRound]:
    """Rounds of a person that have changed since an event, in order."""
    return [StoredRound(*row) for row in connection.execute(_SINCE, {"who": who, "seq": seq})]


def changed_after(
    connection: Connection, seq: int, limit: int, who: str | None = None
) -> list[tuple[StoredRound, bool]]:
    """Return answered rounds that changed after an event, each with whether a bot played it.

    They come in the order of their last change: a round whose outcome is told days later comes
    again with a higher `seq`, and its last row holds. Rounds of people in a blinded study are left
    out, because they would reveal who is in which arm. The time of an answer is left out if an
    earlier round has a later one: their order is that of their numbers, whatever the clock said.
    """
    asked = (
        select(round_, person.c.kind)
        .join(person, person.c.id == round_.c.person)
        .outerjoin(study, study.c.id == person.c.study)
        .where(round_.c.seq > seq, round_.c.prediction.is_not(None), _MAY_BE_SEEN)
    )
    if who is not None:
        asked = asked.where(round_.c.person == who)
    rows = connection.execute(asked.order_by(round_.c.seq).limit(limit)).all()
    found = [(StoredRound(*columns), kind != "real") for *columns, kind in rows]
    wrong = _out_of_order(connection, {each.person for each, _ in found}, seq)
    return [
        (replace(each, predicted_at=None) if (each.person, each.number) in wrong else each, is_bot)
        for each, is_bot in found
    ]


def _out_of_order(connection: Connection, names: set[str], seq: int) -> set[tuple[str, int]]:
    """Rounds of these people, changed after an event, that the clock puts before an earlier one."""
    latest = func.max(round_.c.predicted_at).over(
        partition_by=round_.c.person, order_by=round_.c.number
    )
    own = select(round_.c.person, round_.c.number, round_.c.seq, round_.c.predicted_at)
    timed = own.add_columns(latest.label("latest")).where(round_.c.person.in_(names)).subquery()
    late = (timed.c.predicted_at < timed.c.latest) & (timed.c.seq > seq)
    asked = select(timed.c.person, timed.c.number).where(late)
    return {(name, number) for name, number in connection.execute(asked)}


def offer(connection: Connection, who: AdvisedPerson, what: Offer) -> StoredRound:
    """Open the next round of a person who has none open."""
    made = StoredRound(
        person=who.id,
        number=who.rounds,
        status="offered",
        plan=who.plan,
        policy=who.policy,
        offered_at=now(),
        **vars(what),
    )
    said = {name: getattr(made, name) for name in _OF_OFFERS}
    said = {"round": made.number, **said, "asked": made.opened_with}
    seq = chain.append(connection, "offered", who.id, said)
    made = replace(made, seq=seq)
    connection.execute(_INSERT, vars(made))
    people.change(connection, who.id, rounds=who.rounds + 1)
    return made


def show(
    connection: Connection,
    who: AdvisedPerson,
    there: StoredRound,
    shown: Sequence[str],
    values: Sequence[float],
    reason: str | None,
) -> StoredRound:
    """Record what the person actually saw."""
    if there.shown is not None:
        if (there.shown, there.values, there.override_reason) == ([*shown], [*values], reason):
            return there
        raise Conflict(f"round {there.number}: something else was already shown", there)
    _must_be(there, "offered")
    said = {"shown": list(shown), "values": list(values)}
    changed = {**said, "override_reason": reason, "status": "shown", "shown_at": now()}
    return _moved(connection, who, there, "shown", {**said, "reason": reason}, changed)


def predict(
    connection: Connection,
    who: AdvisedPerson,
    there: StoredRound,
    prediction: float,
    taught: Sequence[int],
    outcome: float | None,
    sent_with: dict[str, Any] | None = None,
) -> StoredRound:
    """Record what the person answered, and what came with the answer.

    `taught` is 1 for each column that was shown. `outcome` is given where the server holds the
    case: then the round ends here, told or not.
    """
    if there.prediction is not None:
        if there.prediction == prediction:
            return there
        raise Conflict(
            f"round {there.number}: was already answered, with {there.prediction:g}", there
        )
    _must_be(there, "shown")
    at, answers = now(), who.answers + 1
    # The last event of a round that is shown is its showing.
    seconds = chain.seconds_since(connection, there.seq)
    changed: dict[str, Any] = {"prediction": prediction, "predicted_at": at, "answered": answers}
    changed |= {"seconds": seconds, "sent_with": sent_with}
    changed["status"] = "predicted" if there.feedback else "untold"
    if outcome is not None:
        changed |= {"outcome": outcome, "ended_at": at}
        if there.feedback:
            changed |= {"status": "told", "outcome_known_at": answers}
    moved: dict[str, Any] = {"answers": answers}
    if there.feedback:
        moved |= {"counts": added(who.counts, taught, 1), "position": who.position + 1}
    said = {"prediction": prediction, "outcome": outcome, "status": changed["status"]}
    said |= {"seconds": seconds, "sent_with": sent_with}
    return _moved(connection, who, there, "predicted", said, changed, **moved)


def tell(
    connection: Connection,
    who: AdvisedPerson,
    there: StoredRound,
    outcome: float | None,
    taught: Sequence[int],
    *,
    told: bool,
) -> StoredRound:
    """Record the outcome, perhaps days later; one that is not `told` teaches nothing."""
    if there.status in ("told", "untold"):
        same = there.outcome == outcome and (there.status == "told") == told
        if same:
            return there
        if there.status == "told" or told or there.outcome is not None:
            raise Conflict(f"round {there.number}: has already ended, {_ended(there)}", there)
    else:
        _must_be(there, "predicted")
    changed: dict[str, Any] = {"outcome": outcome, "ended_at": now()}
    changed["status"] = "told" if told else "untold"
    moved: dict[str, Any] = {}
    if told:
        changed["outcome_known_at"] = who.answers
    elif there.counts:
        # They were expected to learn the outcome, and will not.
        moved = {"counts": added(who.counts, taught, -1), "position": who.position - 1}
    changed["feedback"] = told
    said = {"outcome": outcome, "told": told}
    return _moved(connection, who, there, changed["status"], said, changed, **moved)


def abandon(connection: Connection, who: AdvisedPerson, there: StoredRound) -> StoredRound:
    """Abandon a round that has not been answered; the row stays."""
    if there.status == "abandoned":
        return there
    _must_be(there, *OPEN)
    changed = {"status": "abandoned", "ended_at": now()}
    return _moved(connection, who, there, "abandoned", {}, changed)


def _must_be(there: StoredRound, *statuses: str) -> None:
    if there.status in statuses:
        return
    needs = {
        "offered": "it can be shown only once",
        "shown": "first record what was shown (PUT .../shown)",
        "predicted": "first record the answer (PUT .../prediction)",
    }
    late = "it is over" if there.status not in OPEN else needs[statuses[0]]
    raise Conflict(f"round {there.number}: is {there.status}; {late}", there)


def _ended(there: StoredRound) -> str:
    outcome = "without an outcome" if there.outcome is None else f"with {there.outcome:g}"
    return outcome if there.status == "told" else f"{outcome}, which the person was not told"


def _moved(
    connection: Connection,
    who: AdvisedPerson,
    there: StoredRound,
    kind: str,
    said: dict[str, Any],
    changed: dict[str, Any],
    **moved: Any,
) -> StoredRound:
    """Write one step: the event, the round, the person."""
    seq = chain.append(connection, kind, who.id, {"round": there.number, **said})
    changed = {**changed, "seq": seq}
    connection.execute(_MOVE, {"who": who.id, "which": there.number, **changed})
    people.change(connection, who.id, **moved)
    return replace(there, **changed)


def counted(
    all_rounds: Sequence[StoredRound],
    taught: Callable[[Sequence[str]], Sequence[int]],
    start: Sequence[int],
) -> tuple[list[int], int]:
    """Derive exposure counts and position from rounds.

    `taught` maps names of columns to a 1 for each column that is among them.
    """
    counts, position = list(start), 0
    for each in all_rounds:
        if each.counts:
            counts, position = added(counts, taught(each.shown or ()), 1), position + 1
    return counts, position


def added(counts: Sequence[int], taught: Sequence[int], sign: int) -> list[int]:
    """Add one showing of each taught column to the counts, or take it off with `sign` -1."""
    return [count + sign * one for count, one in zip(counts, taught, strict=True)]
