"""The round: a row with a state, moved only by calls that name it.

    offered -> shown -> predicted -> told        (or untold: a test without feedback)
    offered, shown -> abandoned

Each step is a function of a connection whose transaction holds the person, and of the round as that
transaction found it. Said again with the same
words, a step changes nothing and gives the round as it is; with other words it is a `Conflict`,
which carries the round. What was recommended and what was shown are both kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from preceptor.store import chain, people
from preceptor.store.clock import now
from preceptor.store.people import Person
from preceptor.store.refusals import Conflict, NotThere
from preceptor.store.tables import OPEN, participant, person, round_, study


@dataclass(frozen=True)
class Round:
    """A row of the table, in its order; tests are columns of the world, by name."""

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
    heard: int | None = None
    offered_at: str | None = None
    shown_at: str | None = None
    predicted_at: str | None = None
    ended_at: str | None = None
    seq: int = 0

    @property
    def is_open(self) -> bool:
        """Whether it waits for the person."""
        return self.status in OPEN

    @property
    def counts(self) -> bool:
        """Whether its showings count: the person was told the truth, or is going to be."""
        return self.status == "told" or (self.status == "predicted" and self.feedback)


@dataclass(frozen=True)
class Offer:
    """What the service decided to show, and why."""

    recommended: Sequence[str]
    reason: str
    opened_with: dict[str, Any]
    feedback: bool = True
    case_number: int | None = None
    propensity: float = 1.0


_KEY = (round_.c.person == bindparam("who")) & (round_.c.number == bindparam("which"))
_FIND = select(round_).where(_KEY)
_IS_OPEN = or_(*(round_.c.status == status for status in OPEN))
_OPEN = select(round_).where(round_.c.person == bindparam("who"), _IS_OPEN)
_OF = select(round_).where(round_.c.person == bindparam("who")).order_by(round_.c.number)
_INSERT, _MOVE = insert(round_), update(round_).where(_KEY)


_BLINDED = (
    select(participant.c.id)
    .join(study, study.c.id == participant.c.study)
    .where(participant.c.kind == "real", study.c.unblinded.is_(None))
)


def find(connection: Connection, who: str, number: int) -> Round:
    """One round of somebody's."""
    row = connection.execute(_FIND, {"who": who, "which": number}).first()
    if row is None:
        raise NotThere(f"round: {who!r} has no round {number}; open one with POST")
    return Round(*row)


def open_of(connection: Connection, who: str) -> Round | None:
    """The round that waits for somebody, if there is one."""
    row = connection.execute(_OPEN, {"who": who}).first()
    return None if row is None else Round(*row)


def all_of(connection: Connection, who: str) -> list[Round]:
    """Everything that somebody has been through, in order."""
    return [Round(**row._mapping) for row in connection.execute(_OF, {"who": who})]


def changed_after(
    connection: Connection, seq: int, limit: int, who: str | None = None
) -> list[tuple[Round, bool]]:
    """Answered rounds that changed after that event, and whether a bot played them.

    In the order of their last change: a round that is told days later comes again with a higher
    `seq`, and its last row holds. Without those of people in a study that is blinded, since they
    would say who is in which arm.
    """
    asked = select(round_, person.c.is_bot).join(person, person.c.id == round_.c.person)
    asked = asked.where(round_.c.seq > seq, round_.c.prediction.is_not(None))
    asked = asked.where(round_.c.person.not_in(_BLINDED))
    if who is not None:
        asked = asked.where(round_.c.person == who)
    rows = connection.execute(asked.order_by(round_.c.seq).limit(limit))
    found = []
    for row in rows:
        fields = dict(row._mapping)
        is_bot = bool(fields.pop("is_bot"))
        found.append((Round(**fields), is_bot))
    return found


def offer(connection: Connection, who: Person, what: Offer) -> Round:
    """Open the next round of somebody who has none open."""
    made = Round(
        person=who.id,
        number=who.rounds,
        status="offered",
        plan=who.plan,
        policy=who.policy,
        opened_with=what.opened_with,
        case_number=what.case_number,
        recommended=list(what.recommended),
        reason=what.reason,
        propensity=what.propensity,
        feedback=what.feedback,
        offered_at=now(),
    )
    said = {
        "recommended": made.recommended,
        "propensity": made.propensity,
        "plan": made.plan,
        "policy": made.policy,
        "asked": made.opened_with,
        "case_number": made.case_number,
    }
    seq = chain.append(connection, "offered", who.id, {"round": made.number, **said})
    made = replace(made, seq=seq)
    connection.execute(_INSERT, vars(made))
    people.change(connection, who, rounds=who.rounds + 1)
    return made


def show(
    connection: Connection,
    who: Person,
    there: Round,
    shown: Sequence[str],
    values: Sequence[float],
    reason: str | None,
) -> Round:
    """What the person really saw."""
    if there.shown is not None:
        if (there.shown, there.values, there.override_reason) == ([*shown], [*values], reason):
            return there
        raise Conflict(f"round {there.number}: something else was shown already", there)
    _must_be(there, "offered")
    said = {"shown": list(shown), "values": list(values)}
    changed = {**said, "override_reason": reason, "status": "shown", "shown_at": now()}
    return _moved(connection, who, there, "shown", {**said, "reason": reason}, changed)


def predict(
    connection: Connection,
    who: Person,
    there: Round,
    prediction: float,
    taught: Sequence[int],
    outcome: float | None,
) -> Round:
    """What the person said.

    `taught` is 1 for each column that was shown. `outcome` is the truth where the server holds it:
    then the round ends here, told or not.
    """
    if there.prediction is not None:
        if there.prediction == prediction:
            return there
        raise Conflict(
            f"round {there.number}: was answered already, with {there.prediction:g}", there
        )
    _must_be(there, "shown")
    at, answers = now(), who.answers + 1
    changed: dict[str, Any] = {"prediction": prediction, "predicted_at": at, "answered": answers}
    changed["status"] = "predicted" if there.feedback else "untold"
    if outcome is not None:
        changed |= {"outcome": outcome, "ended_at": at}
        if there.feedback:
            changed |= {"status": "told", "heard": answers}
    moved: dict[str, Any] = {"answers": answers}
    if there.feedback:
        moved |= {"counts": added(who.counts, taught, 1), "position": who.position + 1}
    said = {"prediction": prediction, "outcome": outcome, "status": changed["status"]}
    return _moved(connection, who, there, "predicted", said, changed, **moved)


def tell(
    connection: Connection,
    who: Person,
    there: Round,
    outcome: float | None,
    taught: Sequence[int],
    *,
    told: bool,
) -> Round:
    """The truth, perhaps days later; not `told` is written down but teaches nothing."""
    if there.status in ("told", "untold"):
        same = there.outcome == outcome and (there.status == "told") == told
        if same:
            return there
        if there.status == "told" or told or there.outcome is not None:
            raise Conflict(f"round {there.number}: ended already, {_ended(there)}", there)
    else:
        _must_be(there, "predicted")
    changed: dict[str, Any] = {"outcome": outcome, "ended_at": now()}
    changed["status"] = "told" if told else "untold"
    moved: dict[str, Any] = {}
    if told:
        changed["heard"] = who.answers
    elif there.counts:
        # They were expected to hear, and are not going to.
        moved = {"counts": added(who.counts, taught, -1), "position": who.position - 1}
    changed["feedback"] = told
    said = {"outcome": outcome, "told": told}
    return _moved(connection, who, there, changed["status"], said, changed, **moved)


def abandon(connection: Connection, who: Person, there: Round) -> Round:
    """Leave a round that waits for the person; the row stays."""
    if there.status == "abandoned":
        return there
    _must_be(there, *OPEN)
    changed = {"status": "abandoned", "ended_at": now()}
    return _moved(connection, who, there, "abandoned", {}, changed)


def _must_be(there: Round, *statuses: str) -> None:
    if there.status in statuses:
        return
    needs = {
        "offered": "it can be shown only once",
        "shown": "say first what was shown (PUT .../shown)",
        "predicted": "say first what was answered (PUT .../prediction)",
    }
    late = "it is over" if there.status not in OPEN else needs[statuses[0]]
    raise Conflict(f"round {there.number}: is {there.status}; {late}", there)


def _ended(there: Round) -> str:
    truth = "without a truth" if there.outcome is None else f"with {there.outcome:g}"
    return truth if there.status == "told" else f"{truth}, which the person was not told"


def _moved(
    connection: Connection,
    who: Person,
    there: Round,
    kind: str,
    said: dict[str, Any],
    changed: dict[str, Any],
    **moved: Any,
) -> Round:
    """Write one step: the event, the round, the person."""
    seq = chain.append(connection, kind, who.id, {"round": there.number, **said})
    changed = {**changed, "seq": seq}
    connection.execute(_MOVE, {"who": who.id, "which": there.number, **changed})
    people.change(connection, who, **moved)
    return replace(there, **changed)


def counted(
    all_rounds: Sequence[Round],
    taught: Callable[[Sequence[str]], Sequence[int]],
    start: Sequence[int],
) -> tuple[list[int], int]:
    """Counts and position, as they follow from rounds.

    `taught` gives 1 for each column that was shown, from their names.
    """
    counts, position = list(start), 0
    for each in all_rounds:
        if each.counts:
            counts, position = added(counts, taught(each.shown or ()), 1), position + 1
    return counts, position


def added(counts: Sequence[int], taught: Sequence[int], sign: int) -> list[int]:
    """Counts with one showing more of each column that is taught; with -1, one less."""
    return [count + sign * one for count, one in zip(counts, taught, strict=True)]
