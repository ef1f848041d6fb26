"""A client of the live service: `Client`, what it gets, and what it may be told instead.

It needs httpx (`pip install 'preceptor[client]'`), and nothing of what the service needs.
"""

from preceptor.client.answers import (
    Added,
    CaseList,
    Enrolled,
    Job,
    PlanKept,
    Recommendation,
    Round,
    Token,
    Weight,
)
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

__all__ = [
    "Added",
    "CaseList",
    "Client",
    "Conflicting",
    "Enrolled",
    "Forbidden",
    "Job",
    "NotThere",
    "PlanKept",
    "Recommendation",
    "Refused",
    "Round",
    "ServiceError",
    "Token",
    "Unavailable",
    "Unreachable",
    "Unusable",
    "Weight",
]
