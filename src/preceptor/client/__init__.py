"""A client of the live service: `Client`, what it gets, and what it may be told instead.

Answers are the service's own models. It needs httpx and pydantic
(`pip install 'preceptor[client]'`), and nothing else of what the service needs.
"""

from preceptor.client.calls import Client
from preceptor.client.refusals import (
    Conflicting,
    Forbidden,
    NotThere,
    Refused,
    ServiceError,
    Unavailable,
    Unreachable,
    Unusable,
)
from preceptor.service.answers import (
    AddedAnswer,
    CasesAnswer,
    JobAnswer,
    PersonAnswer,
    PlanAnswer,
    RecommendAnswer,
    RoundAnswer,
    TokenAnswer,
    Weight,
)

__all__ = [
    "AddedAnswer",
    "CasesAnswer",
    "Client",
    "Conflicting",
    "Forbidden",
    "JobAnswer",
    "NotThere",
    "PersonAnswer",
    "PlanAnswer",
    "RecommendAnswer",
    "Refused",
    "RoundAnswer",
    "ServiceError",
    "TokenAnswer",
    "Unavailable",
    "Unreachable",
    "Unusable",
    "Weight",
]
