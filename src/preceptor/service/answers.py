"""What callers get, as the OpenAPI document describes it and as the client reads it.

Nothing but pydantic is needed here, so that the client needs no more of the service.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["offered", "shown", "predicted", "told", "untold", "abandoned"]


class Answer(BaseModel):
    """A value that callers get; a field that a newer service adds is left out."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class RoundAnswer(Answer):
    """A round as it stands."""

    person: str
    """Whose it is."""
    round: int
    """Its number, from 0."""
    status: Status
    recommended: list[str] | None
    """What to show."""
    reason: str | None
    """Why, in words."""
    policy: str
    """Who recommended it: plan or tutor."""
    plan: str
    """SHA-256 of the plan file."""
    gap: float | None
    """How far above the best possible the plan can be."""
    propensity: float | None
    """1 where nothing is left to chance."""
    case: str | None = None
    """The caller's name of the case."""
    available: list[str] | None = None
    """Tests that the caller has."""
    shown: list[str] | None = None
    """What the person really saw."""
    values: dict[str, float | str] | None = None
    """Results of what they saw, by test."""
    override_reason: str | None = None
    """Why something else was shown than recommended."""
    prediction: float | None = None
    """What they said."""
    feedback: bool
    """Whether they hear the truth."""
    outcome: float | None = None
    """The truth, only once the person may hear it."""
    offered_at: str | None = None
    """When, in UTC, like those that follow."""
    shown_at: str | None = None
    predicted_at: str | None = None
    ended_at: str | None = None


class Weight(Answer):
    """What a person seems to believe about one column, with an interval of 95%."""

    name: str
    mean: float
    low: float
    high: float


class PersonAnswer(Answer):
    """A person who is enrolled, as they stand."""

    person: str
    """The caller's pseudonym."""
    plan: str
    """SHA-256 of the plan by which they are advised."""
    policy: str
    """Who advises them: plan or tutor."""
    cases: str | None
    """The list of cases that they go through, if the service holds one."""
    is_bot: bool
    """Whether they are simulated."""
    counts: dict[str, int]
    """How often each test has taught them something."""
    rounds: int
    """Rounds opened."""
    answers: int
    """Rounds answered."""
    open_round: RoundAnswer | None
    """The round that waits for them, if there is one."""
    created: str
    seen_at: str
    weights: list[Weight] | None = None
    """What they seem to believe; only where one person is asked for, once there is an answer."""
    kinds: dict[str, float] | None = None
    """How likely each kind of person is, likewise."""


class RecommendAnswer(Answer):
    """What to show somebody about whom nothing is kept."""

    show: list[str]
    reason: str
    plan: str
    gap: float | None
    on_plan: bool


class PlanAnswer(Answer):
    """A plan that is kept: its SHA-256, what is proven of it, and what it is about."""

    plan: str
    gap: float | None
    sure: str
    tests: list[str]
    outcome: str


class CasesAnswer(Answer):
    """A list of cases that is kept."""

    cases: str
    plan: str
    sha256: str
    size: int


class Problem(BaseModel):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[str]
    round: RoundAnswer | None = None


REFUSALS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A refusal: `status` says of which kind, `errors` what is wrong.",
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        },
    }
}
