"""Learner files: people estimated from a log, as `preceptor fit` writes and `plan` reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.files import read_json
from preceptor._base.gathering import Gathered
from preceptor._base.values import FloatArray
from preceptor._base.words import first_few
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.world import World
from preceptor.people.crowd import Crowd
from preceptor.people.person import Person, size_faults

FORMAT = "preceptor-learner/2"
# Had people by showings only.
_BEFORE = "preceptor-learner/1"
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
    if data.get("format") not in (FORMAT, _BEFORE):
        raise InvalidFile(
            f"{path}: format {data.get('format')!r}, must be {FORMAT!r}; "
            "`preceptor fit` writes such files"
        )
    whom, who = ("person", "people") if data["format"] == FORMAT else ("learner", "learners")
    missing = [key for key in ("tests", "scales", whom) if key not in data]
    if missing:
        raise InvalidFile(f"{path}: {', '.join(missing)} missing; fit the log again")
    gathered = Gathered()
    gathered.fault(*(f"{path}: {fault}; fit the log again" for fault in _head_faults(data, who)))
    chosen, place, name = data[whom], whom, None
    if participant is not None:
        people = data[who] if isinstance(data.get(who), Mapping) else {}
        if participant in people:
            chosen, place, name = people[participant], f"{who}, {participant!r}", participant
        elif not pooled:
            gathered.raise_all()
            there = ", ".join(people) or "no people of their own"
            raise InvalidInput(f"participant: {participant!r} is not in {path}; there are {there}")
    if chosen is None:
        gathered.raise_all()
        raise InvalidFile(
            f"{path}: nobody can be named ({data.get('refusal', 'no reason given')}); leave out "
            "`learner` to plan for a crowd of all kinds"
        )
    if not gathered.errors and tuple(data["tests"]) != world.labels:
        raise InvalidFile(
            f"{path}: about the tests {', '.join(data['tests'])}, but the table has "
            f"{', '.join(world.labels)}; fit the log with the same table"
        )
    # Where scales are wrong, the weights are still looked at as they stand.
    scales = np.array(data["scales"], dtype=float) if not gathered.errors else _scales(world)
    person = gathered.read(_person_in, path, place, chosen, _scales(world) / scales)
    if person is not None:
        gathered.fault(*(f"{path}, {place}: {fault}" for fault in size_faults(person, world)))
    gathered.raise_all()
    assert person is not None
    return Known(person, str(path), name, _shares(data.get("shares"), name))


def _shares(data: Any, name: str | None) -> dict[str, float]:
    """Shares of kinds for one participant or for everybody; nothing in files without them."""
    found: Any = data if isinstance(data, Mapping) else {}
    for key in ("everybody",) if name is None else ("people", name):
        found = found.get(key, {}) if isinstance(found, Mapping) else {}
    if not isinstance(found, Mapping):
        return {}
    return {str(kind): float(share) for kind, share in found.items() if is_number(share)}


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


def _person_in(path: str | Path, place: str, data: Any, ratio: FloatArray) -> Person:
    """Whoever stands at this place of the file; every fault names both."""
    faults = list(_weight_faults(place, data, ratio.size))
    InvalidFile.raise_if(f"{path}, {fault}" for fault in faults)
    try:
        person: Person = Person.from_dict(_rescaled(data, ratio))
    except InvalidInput as error:
        raise InvalidFile([f"{path}, {place}: {fault}" for fault in error.faults]) from None
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # Nobody can foresee what people make of a file.
        raise InvalidFile(
            f"{path}, {place}: is no person ({type(error).__name__}, {error}); fit the log again"
        ) from None
    return person


def _head_faults(data: Mapping[str, Any], who: str) -> list[str]:
    """What is wrong with the file besides the people in it."""
    faults = []
    tests, scales, people = data["tests"], data["scales"], data.get(who, {})
    if not _is_list(tests) or not all(isinstance(test, str) for test in tests):
        faults.append(f"tests: {_short(tests)}, must be a list of names")
    elif not _is_list(scales) or len(scales) != len(tests):
        faults.append(f"scales: {_short(scales)}, must be a number for each of {len(tests)} tests")
    else:
        faults += [
            f"scales, {test!r}: {scale!r}, must be a positive number"
            for test, scale in zip(tests, scales, strict=True)
            if not (is_number(scale) and scale > 0)
        ]
    if not isinstance(people, Mapping):
        faults.append(f"{who}: {_short(people)}, must be people by name")
    return faults


def _weight_faults(place: str, data: Any, size: int) -> list[str]:
    """Weights that are not one finite number for each test, by where they stand."""
    if not isinstance(data, Mapping):
        return [f"{place}: {_short(data)}, must be a table with a person's fields"]
    if isinstance(data.get("members"), list):
        return [
            fault
            for i, member in enumerate(data["members"], start=1)
            for fault in _member_faults(f"{place}, member {i}", member, size)
        ]
    faults = []
    for name in ("initial", "home"):
        given = data.get(name)
        if given is None:
            continue
        if not _is_list(given) or len(given) != size:
            faults.append(f"{place}, {name}: {_short(given)}, must be {size} weights, one a test")
        elif not all(map(is_number, given)):
            wrong = next(i for i, weight in enumerate(given) if not is_number(weight))
            faults.append(f"{place}, {name}: weight {given[wrong]!r}, must be a finite number")
    return faults


def _member_faults(place: str, member: Any, size: int) -> list[str]:
    if not isinstance(member, Mapping):
        return [f"{place}: {_short(member)}, must be a table of name, person and weight"]
    place = f"{place} ({member.get('name', 'no name')})"
    weight = member.get("weight", 1.0)
    faults = _weight_faults(place, member.get("person"), size)
    if not (is_number(weight) and weight > 0):
        faults.append(f"{place}: weight {weight!r}, must be a positive number")
    return faults


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


def _is_list(data: Any) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, str)


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."
