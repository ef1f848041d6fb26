"""Learner files: people estimated from a log, as `preceptor fit` writes and `plan` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.files import read_json
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.world import World
from preceptor.people.by_showings import Learner

FORMAT = "preceptor-learner/1"


def learner_to_dict(fitted: Mapping[str, Any], world: World) -> dict[str, Any]:
    """What `fit` writes: the estimate, and what is needed to read its weights elsewhere."""
    head = {"format": FORMAT, "tests": list(world.labels), "scales": _scales(world).tolist()}
    return head | dict(fitted)


def read_learner(path: str | Path, world: World, participant: str | None = None) -> Learner:
    """The learner in a file, everybody pooled or one participant, for this world.

    Weights in the file are for one standard deviation of the table that the log was fitted with;
    they are translated to the units of `world`.
    """
    data = read_json(path)
    if data.get("format") != FORMAT:
        raise InvalidFile(
            f"{path}: format {data.get('format')!r}, must be {FORMAT!r}; "
            "`preceptor fit` writes such files"
        )
    missing = [key for key in ("tests", "scales", "learner") if key not in data]
    if missing:
        raise InvalidFile(f"{path}: {', '.join(missing)} missing; fit the log again")
    chosen = data["learner"]
    if participant is not None:
        people = data.get("learners", {})
        if participant not in people:
            raise InvalidInput(
                f"participant: {participant!r} is not in {path}; there are {', '.join(people)}"
            )
        chosen = people[participant]
    learner = Learner.from_dict(chosen)
    if tuple(data["tests"]) != world.labels:
        raise InvalidFile(
            f"{path}: about the tests {', '.join(data['tests'])}, but the table has "
            f"{', '.join(world.labels)}; fit the log with the same table"
        )
    initial = learner.initial * _scales(world) / np.asarray(data["scales"], dtype=np.float64)
    return Learner(initial, learner.curves, learner.imputation)


def _scales(world: World) -> Any:
    return np.ones(world.size) if world.units is None else world.units.scales
