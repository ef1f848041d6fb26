"""Learner files: people estimated from a log, as `preceptor fit` writes and `plan` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.files import read_json
from preceptor._base.values import FloatArray
from preceptor._base.words import first_few
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.world import World
from preceptor.people.crowd import Crowd
from preceptor.people.person import Person, size_faults

FORMAT = "preceptor-learner/2"
# So many kinds are named in a sentence.
_NAMED = 4
_NOT_LEARNING = "none"


@dataclass(frozen=True, eq=False)
class Known:
    """Somebody in a learner file.

    Attributes
    ----------
    person
        Whom to plan for.
    path
        The file.
    who
        Their name there; None for somebody like all who are in it.
    shares
        How likely each kind is by the log, those included that are not planned for; empty where
        the file does not say.
    """

    person: Person
    path: str
    who: str | None = None
    shares: Mapping[str, float] = field(default_factory=dict)

    def in_words(self) -> str:
        """What is known about how they learn, and which kinds were left out; a sentence."""
        if isinstance(self.person, Crowd):
            kinds = {each.name: each.weight for each in self.person.members}
            what = _in_percent(kinds)
        else:
            kinds = dict.fromkeys(list(self.shares)[:1], 1.0)
            what = self.person.learning_in_words()
        left = {name: share for name, share in self.shares.items() if name not in kinds}
        gone = f"; left out as less likely: {_in_percent(left)}" if left else ""
        who = "this one" if self.who is None else self.who
        return f"How {who} learns is known from {self.path}: {what}{gone}"


def learner_to_dict(fitted: Mapping[str, Any], world: World) -> dict[str, Any]:
    """What `fit` writes: the estimate, and what is needed to read its weights elsewhere."""
    head = {"format": FORMAT, "tests": list(world.labels), "scales": _scales(world).tolist()}
    return head | dict(fitted)


def read_known(
    path: str | Path, world: World, participant: str | None = None, *, pooled: bool = False
) -> Known:
    """The person in a file, everybody together or one participant, for this world.

    Weights in the file are for one standard deviation of the table that the log was fitted with;
    they are translated to the units of `world`. With `pooled`, a participant who is not in the
    file is taken for one of those who are.
    """
    data = read_json(path)
    if data.get("format") != FORMAT:
        raise InvalidFile(
            f"{path}: format {data.get('format')!r}, must be {FORMAT!r}; "
            "`preceptor fit` writes such files"
        )
    InvalidFile.raise_if(f"{path}: {fault}; fit the log again" for fault in _head_faults(data))
    if tuple(data["tests"]) != world.labels:
        raise InvalidFile(
            f"{path}: about the tests {', '.join(data['tests'])}, but the table has "
            f"{', '.join(world.labels)}; fit the log with the same table"
        )
    people, shares = data.get("people", {}), data.get("shares") or {}
    chosen, place, likely = data["person"], "person", shares.get("everybody", {})
    name = participant if participant in people else None
    if name is not None:
        chosen, place = people[name], f"people, {name!r}"
        likely = shares.get("people", {}).get(name, {})
    elif participant is not None and not pooled:
        there = ", ".join(people) or "no people of their own"
        raise InvalidInput(f"participant: {participant!r} is not in {path}; there are {there}")
    if chosen is None:
        raise InvalidFile(
            f"{path}: nobody can be named ({data.get('refusal', 'no reason given')}); leave out "
            "`learner` to plan for a crowd of all kinds"
        )
    try:
        person = Person.from_dict(chosen)
        InvalidInput.raise_if(size_faults(person.size, world.size))
    except InvalidInput as error:
        raise InvalidFile([f"{path}, {place}: {fault}" for fault in error.faults]) from None
    ratio = _scales(world) / np.array(data["scales"], dtype=np.float64)
    return Known(Person.from_dict(_rescaled(person.to_dict(), ratio)), str(path), name, likely)


def _head_faults(data: Mapping[str, Any]) -> list[str]:
    """What is wrong with the file besides the people in it."""
    missing = [key for key in ("tests", "scales", "person") if key not in data]
    if missing:
        return [f"{', '.join(missing)} missing"]
    tests, scales, faults = data["tests"], data["scales"], []
    if not isinstance(tests, list) or not all(isinstance(test, str) for test in tests):
        faults.append("tests: must be a list of names")
    elif not isinstance(scales, list) or len(scales) != len(tests):
        faults.append(f"scales: must be a number for each of {len(tests)} tests")
    elif not all(is_number(scale) and scale > 0 for scale in scales):
        faults.append(f"scales: {scales}, must be positive numbers")
    faults += [
        f"{key}: must be a table of people by name"
        for key in ("people", "shares")
        if not isinstance(data.get(key) or {}, Mapping)
    ]
    return faults


def _in_percent(shares: Mapping[str, float]) -> str:
    """Kinds with their shares, the likeliest first; their names have commas of their own."""
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    names = [
        f"{'not learning' + kind.removeprefix(_NOT_LEARNING)} {share:.0%}"
        if kind.startswith(_NOT_LEARNING)
        else f"{kind} {share:.0%}"
        for kind, share in ordered
    ]
    return first_few(names, 2 * _NAMED, separator="; ")


def _rescaled(data: dict[str, Any], ratio: FloatArray) -> dict[str, Any]:
    """Weights, and how unsure of them somebody is, for other units of the tests."""
    changed = dict(data)
    for member in changed.get("members", ()):
        member["person"] = _rescaled(member["person"], ratio)
    for name in ("initial", "home"):
        if changed.get(name) is not None:
            changed[name] = (np.array(changed[name]) * ratio).tolist()
    if changed.get("prior_variance") is not None:
        spread = np.array(changed["prior_variance"])
        scale = ratio**2 if spread.ndim < 2 else np.outer(ratio, ratio)
        changed["prior_variance"] = (spread * scale).tolist()
    return changed


def _scales(world: World) -> FloatArray:
    return np.ones(world.size) if world.units is None else world.units.scales
