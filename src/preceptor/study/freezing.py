"""Freezing a study: all that is decided before anybody takes part, as one text with one hash.

The text is `preregistration.json` as it is written to a disk, so `sha256sum preregistration.json`
gives the hash. Nothing in it depends on when or where it was made: the same file, frozen by the
same version, gives the same hash.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from preceptor._base.values import plain
from preceptor._base.version import VERSION
from preceptor.errors import InvalidInput
from preceptor.study.arms import Arm
from preceptor.study.beginning import placeholders
from preceptor.study.study import Study

FORMAT = "preceptor-preregistration/1"
# What must not be known before the end.
_CODES = ("code", "screened_out", "no_consent")
# Numbers of the analysis come from these.
_PACKAGES = ("numpy", "scipy", "pandas", "statsmodels")


@dataclass(frozen=True)
class Registration:
    """What is fixed when a study is opened.

    Attributes
    ----------
    text
        The file, byte by byte; the hash is taken of it.
    """

    text: str

    @cached_property
    def sha256(self) -> str:
        """Of the file, as `sha256sum` gives it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def content(self) -> dict[str, Any]:
        """The file as plain data."""
        content: dict[str, Any] = json.loads(self.text)
        return content


def freeze(
    study: Study,
    arms: Sequence[Arm],
    power: Mapping[str, Any] | None = None,
    *,
    is_draft: bool = False,
) -> Registration:
    """All that is decided before anybody takes part.

    Parameters
    ----------
    study
        What is going to be done.
    arms
        Its arms, made ready (`make_arms`).
    power
        What `preceptor study power` found, if it was asked.
    is_draft
        For previews: something may still be left for later.

    Returns
    -------
    Registration
        The same for the same arguments, on any day.

    Raises
    ------
    InvalidInput
        Something was left for later in the study file.
    """
    if not is_draft:
        InvalidInput.raise_if(unwritten(study))
    if power is not None and not {"cells", "simulations", "level"} <= power.keys():
        raise InvalidInput("power: is not what `preceptor study power FILE --json` prints")
    said = study.configuration
    content = {
        "format": FORMAT,
        "id": said.id,
        "title": said.title,
        "description": said.description,
        "contact": said.contact,
        "study_sha256": study.sha256,
        "study": public(study),
        "seed": said.seed,
        "arms": [_arm(arm, study) for arm in arms],
        "analysis": said.analysis.model_dump(mode="json"),
        "exclusions": said.exclusions.model_dump(mode="json"),
        "stopping": {
            "people": said.people,
            "caps": {arm.name: arm.cap for arm in said.arm},
            "drop_after_minutes": said.recruiting.drop_after,
        },
        "power": None if power is None else dict(power),
        "versions": versions(),
    }
    return Registration(canonical(content))


def canonical(content: Mapping[str, Any]) -> str:
    """One text for one content: keys in order, two blanks a level, a line break at the end."""
    text = json.dumps(plain(content), ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    return f"{text}\n"


def versions() -> dict[str, str]:
    """Of this package, and of those that the analysis computes with."""
    found = {"preceptor": VERSION}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def plan_sha256(arm: Arm) -> str:
    """The name under which an arm's plan is kept."""
    return hashlib.sha256(arm.plan.encode()).hexdigest()


def _arm(arm: Arm, study: Study) -> dict[str, Any]:
    shown = arm.schedule(study.training_rounds, study.configuration.seed, 0)
    # Where chance decides, everybody has an order of their own, which follows from the seed.
    is_one_for_all = shown is not None and arm.policy != "random order"
    return {
        "name": arm.name,
        "policy": arm.policy,
        "plan_sha256": plan_sha256(arm),
        "value": arm.value,
        "gap": arm.gap,
        "shows": _runs(shown, study) if is_one_for_all and shown is not None else None,
    }


def _runs(shown: Sequence[Sequence[int]], study: Study) -> list[dict[str, Any]]:
    """Sets in turn, each with the rounds for which it is shown."""
    runs: list[dict[str, Any]] = []
    for columns in shown:
        names = list(study.problem.world.name_of(tuple(columns)))
        if runs and runs[-1]["show"] == names:
            runs[-1]["rounds"] += 1
        else:
            runs.append({"show": names, "rounds": 1})
    return runs


def public(study: Study) -> dict[str, Any]:
    """A study as plain data, without the codes by which recruiters know who has finished.

    Whoever could read them before the end could be paid without having taken part.
    """
    said = study.to_dict()
    kept = {k: v for k, v in said.get("completion", {}).items() if k not in _CODES}
    shown = {key: value for key, value in said.items() if key != "completion"}
    return {**shown, "completion": kept} if kept else shown


def unwritten(study: Study) -> list[str]:
    """What a study file leaves to fill in, a sentence each."""
    return [f"[[{each}]]: is still to be written" for each in placeholders(study)]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What differs between two studies as plain data: lines of a diff."""
    opened, now = canonical(before).splitlines(), canonical(after).splitlines()
    found = difflib.unified_diff(opened, now, "when opened", "now", lineterm="", n=0)
    return [line for line in found if not line.startswith("@@")]
