"""Does a study still stand as it was registered, and does all that is kept follow from its events?

Recomputes the hash from what is in the store, compares it with what was written into the chain when
the study was opened, and rebuilds the study, its arms and its participants from events. Rounds and
people are `store.checking`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from preceptor.store import checking, participants, plans, studies
from preceptor.store.checking import Checked
from preceptor.store.participants import Participant
from preceptor.store.studies import KeptStudy
from preceptor.store.tables import event
from preceptor.study.allocated import assignments
from preceptor.study.freezing import Registration
from preceptor.study.study import Study

_ENDINGS = ("completed", "withdrawn", "screened out", "no consent")


@dataclass(frozen=True)
class Verified:
    """What was found.

    Attributes
    ----------
    registration
        The hash, recomputed.
    checked
        What the check of the whole store found.
    faults
        A sentence each; none if everything follows.
    """

    registration: str
    checked: Checked
    faults: tuple[str, ...]


def verify(connection: Connection, kept: KeptStudy, columns_of: Any) -> Verified:
    """Recompute, rebuild, compare; `columns_of` as for `store.checking.check`."""
    checked = checking.check(connection, columns_of)
    events = list(_events(connection))
    faults = [*checked.faults, *_registration_faults(connection, kept, events)]
    faults += _study_faults(connection, kept, events)
    for who in participants.everyone(connection, kept.id):
        own = [(kind, said) for kind, subject, said in events if subject == who.id]
        faults += _participant_faults(who, own)
    faults += _draw_faults(connection, kept)
    return Verified(Registration(kept.registration).sha256, checked, tuple(faults))


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
        yield f"{where}: was opened {len(opened)} times, says the log"
        return
    if registration.sha256 != opened[0].get("registration"):
        yield (
            f"{where}: the registration has the hash {registration.sha256}, but it was opened with "
            f"{opened[0].get('registration')}"
        )
    if kept.registration_sha256 != registration.sha256:
        yield f"{where}: its registration is not the text of the hash that is kept"
    try:
        study = Study.from_json(kept.config)
        content = registration.content
    except ValueError as error:
        yield f"{where}: cannot be read any more ({error})"
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
    """State, number of people and open arms must be what events made of them."""
    where = f"study {kept.id!r}"
    own = [(kind, said) for kind, _, said in events if _is(said, kept)]
    try:
        people = int(Registration(kept.registration).content["stopping"]["people"])
    except (ValueError, KeyError, TypeError):  # reported above
        return
    people = max([people, *(said["to"] for kind, said in own if kind == "people raised")])
    if kept.people != people:
        yield f"{where}: people is {kept.people}, but what happened makes it {people}"
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
        if who.status != "withdrawn":  # whoever is erased leaves no events
            yield f"participant {who.id!r}: nothing says that they joined"
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
    for field, value in follows.items():
        there = getattr(who, field)
        if there != value:
            yield f"{where}: {field} is {there!r}, but what happened makes it {value!r}"


def _draw_faults(connection: Connection, kept: KeptStudy) -> Iterator[str]:
    try:
        study = Study.from_json(kept.config)
    except ValueError:  # reported above
        return
    for kind in ("real", "bot", "preview"):
        for each in assignments(connection, study, kind):
            if each.follows is False:
                yield f"assignment {each.number} ({kind}): does not follow from the seed"
