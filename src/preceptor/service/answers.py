"""What callers get, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Status = Literal["offered", "shown", "predicted", "told", "untold", "abandoned", "expired"]


class RoundAnswer(BaseModel):
    """A round as it stands."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "person": "ann",
                    "round": 0,
                    "status": "offered",
                    "recommended": ["BMI", "HDL"],
                    "reason": "Case 1, before the plan settles at case 12: show BMI and HDL.",
                    "policy": "plan",
                    "plan": "0" * 64,
                    "gap": 0.0,
                    "propensity": 1.0,
                    "feedback": True,
                }
            ]
        }
    )

    person: str
    round: int
    status: Status
    recommended: list[str] | None
    reason: str | None = Field(description="Why, in words.")
    policy: str
    plan: str = Field(description="SHA-256 of the plan file.")
    gap: float | None = Field(description="How far above the best possible the plan can be.")
    propensity: float | None = Field(description="1 where nothing is left to chance.")
    case: str | None = None
    available: list[str] | None = None
    shown: list[str] | None = None
    values: dict[str, float | str] | None = None
    override_reason: str | None = None
    prediction: float | None = None
    feedback: bool
    outcome: float | None = Field(default=None, description="Only once the person may hear it.")
    offered_at: str | None = None
    shown_at: str | None = None
    predicted_at: str | None = None
    ended_at: str | None = None


class Weight(BaseModel):
    """What a person seems to believe about one column."""

    name: str
    mean: float
    low: float
    high: float


class PersonAnswer(BaseModel):
    """A person as they stand."""

    person: str
    plan: str
    plan_since: int
    policy: str
    cases: str | None
    is_bot: bool
    counts: dict[str, int]
    rounds: int
    answers: int
    open_round: RoundAnswer | None
    created: str
    seen_at: str
    weights: list[Weight] | None = Field(default=None, description="With intervals of 95%.")
    kinds: dict[str, float] | None = Field(
        default=None, description="How likely each kind of person is."
    )


class RecommendAnswer(BaseModel):
    """What to show."""

    show: list[str]
    reason: str
    plan: str
    gap: float | None
    on_plan: bool


class PlanAnswer(BaseModel):
    """A plan that is kept."""

    plan: str
    gap: float | None
    sure: str
    tests: list[str]
    outcome: str


class CasesAnswer(BaseModel):
    """A list of cases that is kept."""

    cases: str
    plan: str
    sha256: str
    size: int


class TokenAnswer(BaseModel):
    """A token; the secret only when it is made."""

    id: str
    name: str
    scope: str
    created: str
    expires: str | None
    revoked: str | None
    token: str | None = None


class AddedAnswer(BaseModel):
    """What became of rounds that were done elsewhere."""

    person: str
    added: int
    rounds: int = Field(description="The number of the next round.")
    counts: dict[str, int]


class JobAnswer(BaseModel):
    """Work that takes longer than a request."""

    job: str
    kind: str
    state: Literal["queued", "running", "done", "failed"]
    created: str
    finished: str | None
    result: dict[str, Any] | None
    error: str | None


class Problem(BaseModel):
    """A refusal (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[str]
    round: RoundAnswer | None = None


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": said,
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        },
    }
    for status, said in {
        401: "No valid token.",
        403: "The token may not do this.",
        404: "Nobody and nothing of that name.",
        409: "It is there already and says something else; the current round comes along.",
        413: "The body is too large.",
        422: "Values that make no sense; each has a sentence in `errors`.",
        429: "Too many calls; Retry-After says when to come back.",
        503: "The database cannot do it now; nothing was written.",
        507: "The disk is full; nothing was written.",
    }.items()
}
