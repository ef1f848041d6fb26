"""Opening a study: solve its arms, freeze it, keep it; from then on it is what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from preceptor._base.progress import Progress
from preceptor.errors import InvalidInput
from preceptor.store import Store, plans, studies
from preceptor.store.refusals import Conflict
from preceptor.store.studies import KeptArm, KeptStudy
from preceptor.study.arms import Arm, make_arms
from preceptor.study.freezing import (
    Registration,
    differences,
    freeze,
    plan_sha256,
    unwritten,
)
from preceptor.study.study import Study


@dataclass(frozen=True)
class Opened:
    """A study that is kept, what was registered, and whether that happened just now."""

    study: KeptStudy
    registration: Registration
    is_new: bool


def open_study(
    store: Store,
    study: Study,
    power: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Opened:
    """Solve, freeze and keep a study; one that is kept already is given as it is.

    Parameters
    ----------
    store
        Where it is kept.
    study
        What the file says.
    power
        What `preceptor study power` found.
    progress
        Told how far solving is.

    Returns
    -------
    Opened
        The study as it is kept.

    Raises
    ------
    InvalidInput
        Something was left for later in the study file, or a study of that name says something
        else; then what differs, a line each.
    """
    there = store.read(lambda connection: studies.look_up(connection, study.id))
    if there is not None:
        return _same(there, study)
    # Before anything is solved: that may take minutes.
    InvalidInput.raise_if(unwritten(study))
    arms = make_arms(study, progress)
    registration = freeze(study, arms, power)
    try:
        kept, is_new = store.write(lambda connection: keep(connection, study, arms, registration))
    except Conflict:  # somebody else was faster, with another file
        return _same(store.read(lambda connection: studies.find(connection, study.id)), study)
    return Opened(kept, Registration(kept.registration), is_new)


def keep(
    connection: Connection, study: Study, arms: tuple[Arm, ...], registration: Registration
) -> tuple[KeptStudy, bool]:
    """Keep a study with its plans, in one transaction; gives it, and whether it is new."""
    said = study.configuration
    for arm in arms:
        plans.keep(connection, arm.plan)
    kept = [
        KeptArm(study.id, arm.name, position, arm.policy, plan_sha256(arm), written.cap, True)
        for position, (arm, written) in enumerate(zip(arms, said.arm, strict=True))
    ]
    return studies.open_study(
        connection,
        study.id,
        config=study.to_json(),
        sha256=study.sha256,
        people=said.people,
        registration=registration.text,
        registration_sha256=registration.sha256,
        arms=kept,
    )


def _same(there: KeptStudy, study: Study) -> Opened:
    if there.sha256 == study.sha256:
        return Opened(there, Registration(there.registration), False)
    changed = differences(json.loads(there.config), json.loads(study.to_json()))
    raise InvalidInput(
        [
            f"study: {study.id!r} was opened on {there.opened[:10]}, and a study does not change "
            "once it is open; put back what differs, or give this one another id",
            *changed,
        ]
    )
