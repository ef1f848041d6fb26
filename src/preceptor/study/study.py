"""A study: what its file says, with the problem that it is about, checked as a whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from preceptor._base.files import read_text
from preceptor._base.parsing import parse_toml
from preceptor._base.words import listed, repeated, unknown_names
from preceptor.advice.kinds import EVERYBODY
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.sets import TestSet
from preceptor.problem import Problem
from preceptor.service.faults import sentences
from preceptor.study.config import Configuration, Practice, Testing, Training
from preceptor.study.protocol import Protocol, protocol_of

# People who do not learn at a rate, or at one of their own.
WITHOUT_RATE = ("no-learning", "bayesian", "bayes", "crowd")
# What owners' addresses call something else.
_TAKEN = ("enter", "leave")
_NUMERIC, _YES_NO = ("number", "slider"), ("yes or no", "percent")


@dataclass(frozen=True, eq=False)
class Study:
    """A configuration that fits its problem.

    Parameters
    ----------
    configuration
        What the file says.
    problem
        World, person, budget and risk; its person is whom plans are made for.

    Raises
    ------
    InvalidInput
        What does not fit together, a sentence each, all at once.
    """

    configuration: Configuration
    problem: Problem

    def __post_init__(self) -> None:
        InvalidInput.raise_if(_faults(self))

    @property
    def id(self) -> str:
        """Its name in addresses."""
        return self.configuration.id

    @cached_property
    def protocol(self) -> Protocol:
        """What a participant goes through, step by step."""
        return protocol_of(self.configuration.block)

    @cached_property
    def training_rounds(self) -> int:
        """Rounds in which the arm decides."""
        return sum(trial.training is not None for trial in self.protocol.trials)

    def columns(self, names: Sequence[str]) -> TestSet:
        """Columns of tests by name."""
        return self.problem.world.columns_of(names)

    @cached_property
    def answer(self) -> str:
        """How participants answer: number, slider, yes or no, percent."""
        if self.configuration.outcome.answer is not None:
            return self.configuration.outcome.answer
        if not self.problem.is_binary:
            return "number"
        return "yes or no" if getattr(self.problem.risk, "decides", False) else "percent"

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a study file; its problem is a table in it, or a file beside it.

        Parameters
        ----------
        path
            A .toml file.

        Returns
        -------
        Study
            What the file says.

        Raises
        ------
        InvalidFile
            The file cannot be read, or something in it is wrong; all faults at once, each with
            the file's name.
        """
        try:
            return cls.from_dict(parse_toml(read_text(path)), Path(path).parent)
        except InvalidInput as error:
            raise InvalidFile([f"{path}: {fault}" for fault in error.faults]) from error

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], folder: Path | None = None) -> Study:
        """Rebuild from plain data; `folder` is where a problem file may lie."""
        given = dict(data)
        faults: list[str] = []
        problem = configuration = None
        try:
            problem = _problem(given.pop("problem", None), folder)
        except InvalidInput as error:
            faults += [f"problem: {fault}" for fault in error.faults]
        try:
            configuration = Configuration.model_validate(given)
        except ValidationError as error:
            found = [{**fault, "loc": _place(fault["loc"], given)} for fault in error.errors()]
            faults += sentences(found, [*Configuration.model_fields, "problem"])
        InvalidInput.raise_if(faults)
        assert problem is not None
        assert configuration is not None
        return cls(configuration, problem)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the problem included."""
        said = self.configuration.model_dump(mode="json", exclude_defaults=True)
        return {**said, "format": self.configuration.format, "problem": self.problem.to_dict()}

    @classmethod
    def from_json(cls, text: str) -> Study:
        """What `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def to_json(self) -> str:
        """One text for one study: keys in order, no spaces."""
        from preceptor._base.values import plain

        return json.dumps(plain(self.to_dict()), sort_keys=True, separators=(",", ":"))

    @cached_property
    def sha256(self) -> str:
        """Of `to_json`: what pre-registration fixes."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def _problem(given: Any, folder: Path | None) -> Problem:
    if isinstance(given, str) and folder is not None:
        return Problem.load(folder / given)
    if isinstance(given, Mapping):
        return Problem.from_dict(given)
    raise InvalidInput("missing; name a problem file, or write it as a table [problem]")


def _place(where: Sequence[Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    """Where a fault is, as people count: the third block is "block 3 (training)"."""
    place: list[str] = []
    parts = list(where)
    while parts:
        part = parts.pop(0)
        if isinstance(part, int) and place:
            place[-1] += f" {part + 1}"
            if place[-1].startswith("block ") and parts and isinstance(parts[0], str):
                blocks = given.get("block")
                kind = blocks[part].get("kind") if isinstance(blocks, list) else None
                if parts[0] == kind:
                    place[-1] += f" ({parts.pop(0)})"
        else:
            place.append(str(part))
    # The first part of a place is taken off where requests are meant.
    return ("body", *place)


def _faults(study: Study) -> Iterator[str]:
    said, problem = study.configuration, study.problem
    if said.id in _TAKEN:
        yield f"id: {said.id!r} is the address of another page; choose another one"
    names = [arm.name for arm in said.arm]
    yield from (f"arm: the name {name!r} is there twice" for name in repeated(names))
    tests = problem.world.tests
    yield from unknown_names("tests", said.tests, tests)
    yield from _arm_faults(study)
    yield from _block_faults(study)
    yield from _answer_faults(study)
    yield from unknown_names("analysis.compare", said.analysis.compare, names)
    if said.analysis.probe is not None:
        yield from unknown_names("analysis.probe", [said.analysis.probe], tests)
    elif said.analysis.measure == "slope change":
        yield "analysis.probe: missing; name the test whose slope is measured"
    if said.analysis.test == "mixed" and len(said.analysis.compare) < 2:
        yield "analysis.test: a mixed model needs two arms in analysis.compare"
    if said.analysis.measure == "kind" and problem.is_binary:
        yield "analysis.measure: 'kind' can be read where the outcome is a number; choose another"
    yield from _assumed_faults(study)
    if said.analysis.measure in ("test error", "slope change") and not any(
        isinstance(block, Testing) for block in said.block
    ):
        yield f"analysis.measure: {said.analysis.measure!r}, but there is no block of kind test"


def _assumed_faults(study: Study) -> Iterator[str]:
    for number, kind in enumerate(study.configuration.assumed.kind, start=1):
        where = f"assumed.kind {number}"
        if kind.human not in EVERYBODY:
            yield f"{where}: {kind.human!r}, must be one of {', '.join(EVERYBODY)}"
        elif kind.rate is not None and kind.human in WITHOUT_RATE:
            yield f"{where}: {kind.human} learns at no rate that could be given; leave it out"


def _arm_faults(study: Study) -> Iterator[str]:
    for arm in study.configuration.arm:
        where = f"arm {arm.name!r}"
        if arm.policy == "sets":
            if not arm.sets:
                yield f"{where}: policy is sets, but none is named; add [[arm.sets]]"
            total = sum(each.rounds for each in arm.sets)
            if arm.sets and total != study.training_rounds:
                yield (
                    f"{where}: its sets are for {total} rounds, but training has "
                    f"{study.training_rounds}; make them equal"
                )
        elif arm.sets:
            yield f"{where}: has sets, but policy is {arm.policy!r}; leave them out"
        for each in arm.sets:
            yield from _set_faults(study, f"{where}: sets", each.show, within_budget=True)


def _block_faults(study: Study) -> Iterator[str]:
    blocks = study.configuration.block
    if not any(isinstance(block, (Training, Testing)) for block in blocks):
        yield "block: none is of kind training or test, so nobody would ever answer"
    for number, block in enumerate(blocks, start=1):
        where = f"block {number} ({block.kind})"
        if block.kind == "consent" and number > 1:
            yield f"{where}: consent comes first, before anything else"
        if block.kind == "debrief" and number < len(blocks):
            yield f"{where}: comes last, after everything else"
        if block.kind == "instructions":
            for each in block.question:
                if each.right > len(each.choices):
                    yield (
                        f"{where}: {each.right} is right, but there are {len(each.choices)} choices"
                    )
        if isinstance(block, (Practice, Testing)):
            for shown in block.show:
                yield from _set_faults(study, f"{where}: show", shown)
        if isinstance(block, Testing):
            yield from _test_faults(study, where, block)
        if isinstance(block, (Training, Testing)):
            length = study.protocol.length_of(number - 1)
            for check in block.check:
                if check.after >= length:
                    yield (
                        f"{where}: a check after {check.after} rounds, but there are {length}; it "
                        "must come between two rounds"
                    )


def _test_faults(study: Study, where: str, block: Testing) -> Iterator[str]:
    if bool(block.show) == bool(block.probe):
        yield f"{where}: needs either `show` (sets, in turn) or [[block.probe]]"
    for probe in block.probe:
        yield from _set_faults(study, f"{where}: probe", probe.show)
        if probe.values is not None and len(probe.values) != len(probe.show):
            yield f"{where}: {len(probe.values)} values for {len(probe.show)} tests of a probe"


def _set_faults(
    study: Study, where: str, shown: Sequence[str], *, within_budget: bool = False
) -> Iterator[str]:
    world = study.problem.world
    unknown = unknown_names(where, shown, world.tests)
    yield from unknown
    if len(set(shown)) < len(shown):
        yield f"{where}: {listed(list(shown))} names a test twice"
    elif not unknown and within_budget:
        columns = tuple(sorted(world.columns_of(shown)))
        if not study.problem.budget.allows(columns):
            yield f"{where}: {listed(list(shown))} is more than the budget allows"


def _answer_faults(study: Study) -> Iterator[str]:
    look, wanted = study.configuration.outcome, study.answer
    if study.problem.is_binary != (wanted in _YES_NO):
        fits = _YES_NO if study.problem.is_binary else _NUMERIC
        yield f"outcome.answer: {wanted!r}, but the problem's outcome needs {' or '.join(fits)}"
    if wanted == "slider" and (look.low is None or look.high is None):
        yield "outcome: a slider needs low and high"
    if look.low is not None and look.high is not None and look.low >= look.high:
        yield f"outcome: low is {look.low:g} and high {look.high:g}; low must be less"
