"""Learner files: people estimated from a log, as `preceptor fit` writes and `plan` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.files import read_json
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.world import World
from preceptor.people.person import Person, size_faults

FORMAT = "preceptor-learner/2"
# Had people by showings only.
_BEFORE = "preceptor-learner/1"


def learner_to_dict(fitted: Mapping[str, Any], world: World) -> dict[str, Any]:
    """What `fit` writes: the estimate, and what is needed to read its weights elsewhere."""
    head = {"format": FORMAT, "tests": list(world.labels), "scales": _scales(world).tolist()}
    return head | dict(fitted)


def read_learner(path: str | Path, world: World, participant: str | None = None) -> Person:
    """The person in a file, everybody together or one participant, for this world.

    Weights in the file are for one standard deviation of the table that the log was fitted with;
    they are translated to the units of `world`.
    """
    data = read_json(path)
    if data.get("format") not in (FORMAT, _BEFORE):
        raise InvalidFile(
            f"{path}: format {data.get('format')!r}, must be {FORMAT!r}; "
            "`preceptor fit` writes such files"
        )
    whom, who = ("person", "people") if data["format"] == FORMAT else ("learner", "learners")
    missing = [key for key in ("tests", "scales", whom) if key not in data]
    if missing:
        raise InvalidFile(f"{path}: {', '.join(missing)} missing; fit the log again")
    chosen = data[whom]
    if participant is not None:
        people = data.get(who, {})
        if not isinstance(people, Mapping):
            raise InvalidFile(f"{path}: {who} is {people!r}, must be a table of people by name")
        if participant not in people:
            raise InvalidInput(
                f"participant: {participant!r} is not in {path}; there are {', '.join(people)}"
            )
        chosen = people[participant]
    if chosen is None:
        raise InvalidFile(
            f"{path}: nobody can be named ({data.get('refusal', 'no reason given')}); leave out "
            "`learner` to plan for a crowd of all kinds"
        )
    if not isinstance(data["tests"], list):
        raise InvalidFile(f"{path}: tests are {data['tests']!r}, must be a list of names")
    if tuple(data["tests"]) != world.labels:
        raise InvalidFile(
            f"{path}: about the tests {', '.join(map(str, data['tests']))}, but the table has "
            f"{', '.join(world.labels)}; fit the log with the same table"
        )
    try:
        scales = np.asarray(data["scales"], dtype=np.float64)
        if scales.shape != (world.size,) or not np.all(scales > 0) or not np.isfinite(scales).all():
            raise InvalidFile(
                f"scales: {data['scales']!r}, must be {world.size} positive numbers, one for each "
                "test"
            )
        person: Person = Person.from_dict(_rescaled(chosen, _scales(world) / scales))
        InvalidFile.raise_if(size_faults(person, world))
    except InvalidInput as error:
        raise InvalidFile([f"{path}: {fault}" for fault in error.faults]) from None
    except (TypeError, ValueError, OverflowError) as error:
        # Of numbers that are no numbers, or not as many as there are tests.
        raise InvalidFile(f"{path}: {error}; fit the log again") from None
    return person


def _rescaled(data: Any, ratio: FloatArray) -> Any:
    """Weights, and how unsure of them somebody is, for other units of the tests."""
    if not isinstance(data, Mapping):
        return data
    changed = dict(data)
    if isinstance(data.get("members"), list):
        changed["members"] = [
            {**member, "person": _rescaled(member.get("person"), ratio)}
            if isinstance(member, Mapping)
            else member
            for member in data["members"]
        ]
        return changed
    for name in ("initial", "home"):
        # Of another length they are left as they are, and refused for that.
        if isinstance(data.get(name), list) and len(data[name]) == ratio.size:
            changed[name] = (np.asarray(data[name], dtype=np.float64) * ratio).tolist()
    unsure = data.get("prior_variance")
    if unsure is not None and np.shape(unsure) in ((), ratio.shape, 2 * ratio.shape):
        spread = np.asarray(unsure, dtype=np.float64)
        scale = ratio**2 if spread.ndim < 2 else np.outer(ratio, ratio)
        changed["prior_variance"] = (spread * scale).tolist()
    return changed


def _scales(world: World) -> Any:
    return np.ones(world.size) if world.units is None else world.units.scales
