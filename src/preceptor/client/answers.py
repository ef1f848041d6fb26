"""What the service answers, as frozen values; names are those of the protocol.

A field that a newer service adds is left out, so that an older client goes on working.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self


class Answer:
    """A value that is read from JSON by the names of its fields."""

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Self:
        """Take the fields that are known; what is not there is None."""
        names = [each.name for each in fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: said.get(name) for name in names})


@dataclass(frozen=True)
class Round(Answer):
    """A round as it stands.

    Attributes
    ----------
    person, round
        Whose it is, and its number, from 0.
    status
        offered, shown, predicted, told, untold, abandoned or expired.
    recommended, reason
        What to show, and why in words.
    policy, plan, gap, propensity
        Who recommended it: a plan (its SHA-256) or a tutor; how far above the best possible the
        plan can be; 1 where nothing was left to chance.
    case, available
        The caller's name of the case, and the tests that the caller has.
    shown, values, override_reason
        What the person really saw, and why it was something else than recommended.
    prediction, feedback, outcome
        What they said, whether they hear the truth, and the truth once they may hear it.
    offered_at, shown_at, predicted_at, ended_at
        When, in UTC.
    """

    person: str
    round: int
    status: str
    recommended: list[str] | None
    reason: str | None
    policy: str
    plan: str
    gap: float | None
    propensity: float | None
    case: str | None
    available: list[str] | None
    shown: list[str] | None
    values: dict[str, float | str] | None
    override_reason: str | None
    prediction: float | None
    feedback: bool
    outcome: float | None
    offered_at: str | None
    shown_at: str | None
    predicted_at: str | None
    ended_at: str | None


@dataclass(frozen=True)
class Weight(Answer):
    """What a person seems to believe about one column, with an interval of 95%."""

    name: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Enrolled(Answer):
    """A person who is enrolled, as they stand.

    Attributes
    ----------
    person
        The caller's pseudonym.
    plan, plan_since, policy
        By what they are advised, and from which round on.
    cases
        The list of cases that they go through, if the service holds one.
    is_bot
        Whether they are simulated.
    counts, rounds, answers
        How often each test has taught them something; rounds opened; rounds answered.
    open_round
        The round that waits for them, if there is one.
    created, seen_at
        When, in UTC.
    weights, kinds
        What they seem to believe and who they may be, once there is an answer to go by; only
        `Client.person` works them out.
    """

    person: str
    plan: str
    plan_since: int
    policy: str
    cases: str | None
    is_bot: bool
    counts: dict[str, int]
    rounds: int
    answers: int
    open_round: Round | None
    created: str
    seen_at: str
    weights: list[Weight] | None
    kinds: dict[str, float] | None

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Self:
        """With the open round and weights as values, too."""
        there, weights = said.get("open_round"), said.get("weights")
        return super().read(
            {
                **said,
                "open_round": None if there is None else Round.read(there),
                "weights": None if weights is None else [Weight.read(each) for each in weights],
            }
        )


@dataclass(frozen=True)
class Recommendation(Answer):
    """What to show somebody about whom nothing is kept."""

    show: list[str]
    reason: str
    plan: str
    gap: float | None
    on_plan: bool


@dataclass(frozen=True)
class PlanKept(Answer):
    """A plan that the service keeps: its SHA-256, what is proven of it, and what it is about."""

    plan: str
    gap: float | None
    sure: str
    tests: list[str]
    outcome: str


@dataclass(frozen=True)
class CaseList(Answer):
    """A list of cases that the service holds."""

    cases: str
    plan: str
    sha256: str
    size: int


@dataclass(frozen=True)
class Added(Answer):
    """What became of rounds that were done elsewhere; `rounds` is the number of the next one."""

    person: str
    added: int
    rounds: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Job(Answer):
    """Work that takes longer than a request: queued, running, done or failed."""

    job: str
    kind: str
    state: str
    created: str
    finished: str | None
    result: dict[str, Any] | None
    error: str | None


@dataclass(frozen=True)
class Token(Answer):
    """A token; its secret (`token`) only when it is made."""

    id: str
    name: str
    scope: str
    created: str
    expires: str | None
    revoked: str | None
    token: str | None
