"""Response bodies, as the OpenAPI document describes them and as the client reads them.

This module needs nothing but pydantic, so that the client needs no more of the service.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["offered", "shown", "predicted", "told", "untold", "abandoned"]


class ResponseBody(BaseModel):
    """A response body; fields that a newer service adds are ignored."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class RoundAnswer(ResponseBody):
    """The current state of a round."""

    person: str
    """The person's pseudonym."""
    round: int
    """Its number, from 0."""
    status: Status
    recommended: list[str] | None
    """What to show."""
    reason: str | None
    """Why, in words."""
    policy: str
    """What recommended it: plan or tutor."""
    plan: str
    """SHA-256 of the plan file."""
    gap: float | None
    """Largest relative excess of the plan's cost over the optimum."""
    propensity: float | None
    """Probability of this recommendation; 1 unless chance decides."""
    case: str | None = None
    """The caller's name for the case."""
    available: list[str] | None = None
    """Tests that were available."""
    shown: list[str] | None = None
    """What the person actually saw."""
    values: dict[str, float | str] | None = None
    """Results that they saw, by test."""
    override_reason: str | None = None
    """Why something other than the recommendation was shown."""
    prediction: float | None = None
    """Their answer."""
    feedback: bool
    """Whether they are told the outcome."""
    outcome: float | None = None
    """The outcome, once the person may know it."""
    offered_at: str | None = None
    """Time in UTC, like the fields below."""
    shown_at: str | None = None
    predicted_at: str | None = None
    ended_at: str | None = None


class Weight(ResponseBody):
    """Posterior mean of a person's weight of one column, with a 95% interval."""

    name: str
    mean: float
    low: float
    high: float


class PersonAnswer(ResponseBody):
    """The current state of an enrolled person."""

    person: str
    """The caller's pseudonym."""
    plan: str
    """SHA-256 of the plan they follow."""
    policy: str
    """What advises them: plan or tutor."""
    cases: str | None
    """Name of their list of cases, if the service holds one."""
    is_bot: bool
    """Whether they are simulated."""
    counts: dict[str, int]
    """Exposure count of each test."""
    rounds: int
    """Rounds opened."""
    answers: int
    """Rounds answered."""
    open_round: RoundAnswer | None
    """The round they have not answered yet, if there is one."""
    created: str
    seen_at: str
    weights: list[Weight] | None = None
    """Estimated weights; only when a single person is requested, after their first answer."""
    kinds: dict[str, float] | None = None
    """Posterior probability of each kind of person, likewise."""


class RecommendAnswer(ResponseBody):
    """What to show, without a stored person."""

    show: list[str]
    reason: str
    plan: str
    gap: float | None
    on_plan: bool


class PlanAnswer(ResponseBody):
    """A stored plan: its SHA-256, what is proven about it, its tests and its outcome."""

    plan: str
    gap: float | None
    sure: str
    tests: list[str]
    outcome: str


class CasesAnswer(ResponseBody):
    """A stored list of cases."""

    cases: str
    plan: str
    sha256: str
    size: int


class ErrorBody(BaseModel):
    """An error response (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[str]
    round: RoundAnswer | None = None


_ERROR = {"schema": {"$ref": "#/components/schemas/ErrorBody"}}
REFUSALS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "An error: `status` is its kind, `errors` has a sentence for each fault.",
        "model": ErrorBody,
        "content": {"application/problem+json": _ERROR},
    }
}
