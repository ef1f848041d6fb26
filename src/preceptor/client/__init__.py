"""A client of the live service: `Client`, what it gets, and what it may be told instead.

Answers are the service's own models. It needs httpx and pydantic
(`pip install 'preceptor[client]'`), and nothing else of what the service needs.
"""

from preceptor.client.calls import Client
from preceptor.client.sending import (
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
    CasesAnswer,
    PersonAnswer,
    PlanAnswer,
    RecommendAnswer,
    RoundAnswer,
    Weight,
)

__all__ = [
    "CasesAnswer",
    "Client",
    "Conflicting",
    "Forbidden",
    "NotThere",
    "PersonAnswer",
    "PlanAnswer",
    "RecommendAnswer",
    "Refused",
    "RoundAnswer",
    "ServiceError",
    "Unavailable",
    "Unreachable",
    "Unusable",
    "Weight",
]
