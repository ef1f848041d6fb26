"""A person's rounds and plan once more, from nothing but what was written down as it happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Payload = dict[str, Any]


@dataclass
class Rebuilt:
    """Somebody as their events make them: fields of rounds by number, and the plan."""

    plan: str | None = None
    plan_since: int = 0
    enrolled_with: dict[str, Any] = field(default_factory=dict)
    answers: int = 0
    rounds: dict[int, dict[str, Any]] = field(default_factory=dict)


def rebuilt(who: str, events: Iterable[tuple[int, str, Payload]]) -> Rebuilt:
    """Somebody after these events, each a number, a kind and what was said.

    Raises
    ------
    KeyError
        An event that does not say what its kind says, or about a round that was never offered.
    """
    person = Rebuilt()
    for seq, kind, said in events:
        step = _STEPS.get(kind)
        if step is None:
            continue
        step(person, said)
        if "round" in said:
            person.rounds[said["round"]]["seq"] = seq
    return person


def _enrolled(person: Rebuilt, said: Payload) -> None:
    person.enrolled_with, person.plan = said, said.get("plan")


def _planned_anew(person: Rebuilt, said: Payload) -> None:
    person.plan, person.plan_since = said["plan"], said["since"]


def _offered(person: Rebuilt, said: Payload) -> None:
    person.rounds[said["round"]] = {
        "status": "offered",
        "plan": said["plan"],
        "policy": said["policy"],
        "opened_with": said["asked"],
        "case_number": said["case_number"],
        "recommended": said["recommended"],
        "propensity": said["propensity"],
        "feedback": said["asked"].get("feedback", True),
        **dict.fromkeys(("shown", "values", "override_reason", "prediction", "outcome")),
        "answered": None,
        "heard": None,
    }


def _shown(person: Rebuilt, said: Payload) -> None:
    person.rounds[said["round"]] |= {
        "status": "shown",
        "shown": said["shown"],
        "values": said["values"],
        "override_reason": said["reason"],
    }


def _predicted(person: Rebuilt, said: Payload) -> None:
    person.answers += 1
    person.rounds[said["round"]] |= {
        "status": said["status"],
        "prediction": said["prediction"],
        "outcome": said["outcome"],
        "answered": person.answers,
        "heard": person.answers if said["status"] == "told" else None,
    }


def _truth(person: Rebuilt, said: Payload) -> None:
    told = said["told"]
    there = person.rounds[said["round"]]
    there |= {
        "status": "told" if told else "untold",
        "outcome": said["outcome"],
        "feedback": told,
        "heard": person.answers if told else there["heard"],
    }


def _left(status: str) -> Callable[[Rebuilt, Payload], None]:
    def left(person: Rebuilt, said: Payload) -> None:
        person.rounds[said["round"]]["status"] = status

    return left


def _done_elsewhere(person: Rebuilt, said: Payload) -> None:
    person.answers += 1
    told = said["told"]
    person.rounds[said["round"]] = {
        "status": "told" if told else "untold",
        "plan": said["plan"],
        "policy": "elsewhere",
        "opened_with": {"feedback": told},
        "case_number": None,
        "recommended": None,
        "propensity": None,
        "feedback": told,
        **{name: said[name] for name in ("shown", "values", "prediction", "outcome")},
        "override_reason": None,
        "answered": person.answers,
        "heard": person.answers if told else None,
    }


_STEPS: dict[str, Callable[[Rebuilt, Payload], None]] = {
    "enrolled": _enrolled,
    "planned anew": _planned_anew,
    "offered": _offered,
    "shown": _shown,
    "predicted": _predicted,
    "told": _truth,
    "untold": _truth,
    "abandoned": _left("abandoned"),
    "expired": _left("expired"),
    "done elsewhere": _done_elsewhere,
}
