"""Plans, stored under the hash of their file, and lists of cases, stored under a name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from preceptor.live.store import chain
from preceptor.live.store.chain import now
from preceptor.live.store.tables import Conflict, NotFound, case_list, held_case, plan

_BODY = select(plan.c.body)


def sha256_of(text: str) -> str:
    """Hash of a text, as `sha256sum` prints it; that of a plan file is the name of the plan."""
    return hashlib.sha256(text.encode()).hexdigest()


def keep(connection: Connection, body: str) -> tuple[str, bool]:
    """Store a plan file that has been checked; return its hash, and whether it is new."""
    name = sha256_of(body)
    if connection.execute(select(plan.c.sha256).where(plan.c.sha256 == name)).first() is not None:
        return name, False
    connection.execute(insert(plan).values(sha256=name, body=body, created=now()))
    chain.append(connection, "plan kept", None, {"plan": name})
    return name, True


def body_of(connection: Connection, name: str) -> str:
    """Return the plan file with that hash."""
    body = connection.execute(_BODY.where(plan.c.sha256 == name)).scalar()
    if body is None:
        raise NotFound(f"plan: {name!r} is not here; upload it with PUT /v1/plans/{name} first")
    return str(body)


def everyone(connection: Connection) -> list[str]:
    """The hashes of all plans, the oldest first."""
    return list(connection.execute(select(plan.c.sha256).order_by(plan.c.created)).scalars())


@dataclass(frozen=True)
class HeldCase:
    """A case that the server holds: its results, None where one is missing, and its outcome."""

    values: Sequence[float | None]
    outcome: float


@dataclass(frozen=True)
class CaseList:
    """A list of cases that people work through in order."""

    name: str
    plan: str
    sha256: str
    size: int


def keep_cases(
    connection: Connection, name: str, plan_sha: str, sha256: str, cases: Sequence[HeldCase]
) -> tuple[CaseList, bool]:
    """Store a list of cases; return it, and whether it is new."""
    found = connection.execute(select(case_list).where(case_list.c.name == name)).first()
    if found is not None:
        if (found.sha256, found.plan) != (sha256, plan_sha):
            raise Conflict(f"cases: {name!r} holds other cases; choose another name")
        return CaseList(name, plan_sha, sha256, found.size), False
    row = {"name": name, "plan": plan_sha, "sha256": sha256, "size": len(cases), "created": now()}
    connection.execute(insert(case_list).values(row))
    rows = [
        {"list": name, "number": i, "values": list(each.values), "outcome": each.outcome}
        for i, each in enumerate(cases)
    ]
    connection.execute(insert(held_case), rows)
    chain.append(connection, "cases kept", None, {"list": name, "sha256": sha256})
    return CaseList(name, plan_sha, sha256, len(cases)), True


def case_list_of(connection: Connection, name: str) -> CaseList:
    """Return the list of that name."""
    found = connection.execute(select(case_list).where(case_list.c.name == name)).first()
    if found is None:
        raise NotFound(f"cases: {name!r} is not here; upload it with PUT /v1/cases/{name} first")
    return CaseList(name, found.plan, found.sha256, found.size)


def case_of(connection: Connection, name: str, number: int) -> HeldCase:
    """Return one case of a list."""
    where = (held_case.c.list == name) & (held_case.c.number == number)
    found = connection.execute(select(held_case).where(where)).first()
    if found is None:
        raise NotFound(f"cases: {name!r} has no case {number}")
    return HeldCase(found._mapping["values"], found.outcome)


def cases_of(connection: Connection, name: str) -> list[HeldCase]:
    """All cases of a list, in order."""
    asked = select(held_case).where(held_case.c.list == name).order_by(held_case.c.number)
    return [HeldCase(row._mapping["values"], row.outcome) for row in connection.execute(asked)]
