"""How a session with a person begins, and how it goes on: only with the same table and options."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preceptor._base.files import read_text
from preceptor.advice.charging import reading_as, risk_for
from preceptor.advice.choices import budget_for, time_from
from preceptor.advice.whom import problem_for
from preceptor.cli._cases import Cases
from preceptor.cli._console import note_all, spinner
from preceptor.cli._reading import from_options
from preceptor.cli._session import Session
from preceptor.cli._worlds import source_of
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.tutoring import Tutor


def begun(
    name: str,
    seed: int,
    choices: Mapping[str, Any],
    table: tuple[Path | None, str | None],
    learner: Path | None,
) -> tuple[Session, Cases]:
    """A session before its first case, and the cases."""
    found = _read(*table, choices, seed)
    world = found.estimate.world
    shown = {key: choices.get(key) for key in ("tests", "costs", "prices", "limit")}
    time = time_from(choices.get("cases"), choices.get("about"), choices.get("discount"))
    with spinner("beginning") as tell:
        problem = problem_for(
            world,
            budget_for(world, **shown),
            time,
            risk_for(
                world,
                as_number="as_number" in choices,
                **{
                    key: choices.get(key)
                    for key in ("risk", "miss_cost", "false_alarm_cost", "link")
                },
            ),
            learner=learner,
            standardised="standardised" in choices,
            progress=tell,
            **{
                key: choices.get(key)
                for key in ("person", "participant", "beliefs", "half_life", "alpha")
            },
        )
    path, example = table
    identity = {
        "source": found.source,
        "path": None if path is None else str(path),
        "example": example,
        "cases": int(found.outcome.size),
        "fingerprint": found.fingerprint,
    }
    return Session(name, seed, identity, choices, Tutor(problem)), found


def resumed(
    kept: Path,
    name: str,
    seed: int | None,
    choices: Mapping[str, Any],
    table: tuple[Path | None, str | None],
) -> tuple[Session, Cases]:
    """The session in a file, if it is of the same person, options and table; and the cases."""
    session = Session.load(kept)
    _check_same(session, kept, name, seed, choices)
    found = _read(*_table_of(session, *table), session.choices, session.seed)
    _check_table(session, found, kept)
    return session, found


def _read(data: Path | None, example: str | None, choices: Mapping[str, Any], seed: int) -> Cases:
    """The cases of a table and their world."""
    found = Cases.read(
        source_of(data, example),
        choices.get("outcome"),
        unit=choices.get("unit"),
        drop=choices.get("drop", ()),
        reading=from_options(choices),
        seed=seed,
        read_as=reading_as(choices.get("link"), "as_number" in choices),
    )
    note_all(*found.estimate.warnings)
    return found


def _check_same(
    session: Session, kept: Path, name: str, seed: int | None, choices: Mapping[str, Any]
) -> None:
    """Options that are given again must be those with which the session was begun."""
    if session.name != name:
        raise InvalidInput(
            f"--name: {name!r}, but {kept} is the session of {session.name!r}; give that name, or "
            "another --state"
        )
    faults = []
    asked = dict(choices) | ({} if seed is None else {"seed": seed})
    begun = dict(session.choices) | {"seed": session.seed}
    for option, value in asked.items():
        if begun.get(option) == value:
            continue
        if option in ("costs", "prices", "learner") or isinstance(value, dict):
            how = "the session was begun with another file, or with none"
        elif option in begun:
            how = f"the session was begun with {begun[option]!r}, not with {value!r}"
        else:
            how = f"{value!r}, but the session was begun without it"
        shown = "costs" if option == "prices" else option
        faults.append(f"{shown}: {how} ({kept}); leave it out to go on, or give another --state")
    InvalidInput.raise_if(faults)


def _table_of(
    session: Session, data: Path | None, example: str | None
) -> tuple[Path | None, str | None]:
    """The table that is given, else that with which the session was begun."""
    if data is not None or example is not None:
        return data, example
    path = session.table.get("path")
    return (None if path is None else Path(path)), session.table.get("example")


def _check_table(session: Session, found: Cases, kept: Path) -> None:
    begun = session.table
    if begun.get("fingerprint") != found.fingerprint:
        raise InvalidFile(
            f"{kept}: this session was begun with another table ({begun.get('source')}, "
            f"{begun.get('cases')} cases), not with {found.source} as it is now "
            f"({found.outcome.size} cases); give that table, or another --state to begin anew"
        )
    ours, theirs = session.tutor.problem.world.labels, found.estimate.world.labels
    if ours != theirs:
        raise InvalidFile(
            f"{kept}: the tests of its tutor ({', '.join(map(str, ours))}) are not those of the "
            f"table ({', '.join(theirs)}); mend it, or give another --state to begin anew"
        )


def file_for(name: str, suffix: str) -> Path:
    """Where the session of this person is kept, if nobody says it."""
    if not re.fullmatch(r"[\w-][\w .-]*", name):
        raise InvalidInput(
            f"--name: {name!r} cannot be the name of a file; give --state and --log too"
        )
    return Path(f"{name}{suffix}")


def content(path: Path) -> str:
    """The same for the same file, wherever it lies."""
    return hashlib.sha256(read_text(path).encode()).hexdigest()
