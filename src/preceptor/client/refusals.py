"""What may come instead of an answer, with the service's own sentences.

ServiceError
├── Unreachable        nobody answered; says where and why
└── Refused            the service answered, but not as wished
    ├── Forbidden      401, 403: no valid token, or one that may not do this
    ├── NotThere       404: nobody and nothing of that name
    ├── Conflicting    409: it is there already and says something else; has the current round
    ├── Unusable       413, 422: values that make no sense, all of them in one message
    └── Unavailable    429, 503, 507: not now; nothing was written
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from preceptor.errors import MissingExtra, PreceptorError

try:
    from preceptor.service.answers import RoundAnswer
except ImportError:
    raise MissingExtra("pydantic", "client", "The client of the service") from None

if TYPE_CHECKING:
    import httpx


class ServiceError(PreceptorError):
    """A call of the live service that did not succeed."""


class Unreachable(ServiceError):
    """Nobody answered."""


class Refused(ServiceError):
    """The service refused a call.

    Attributes
    ----------
    status
        Of HTTP.
    errors
        One sentence for each thing that is wrong.
    round
        On 409, the round as it stands, where there is one.
    retry_after
        Seconds after which to come back, where the service says so.
    """

    def __init__(
        self,
        status: int,
        errors: list[str],
        round: RoundAnswer | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__("\n".join(errors))
        self.status, self.errors = status, tuple(errors)
        self.round, self.retry_after = round, retry_after


class Forbidden(Refused):
    """No valid token, or one that may not do this."""


class NotThere(Refused):
    """Nobody and nothing of that name."""


class Conflicting(Refused):
    """It is there already and says something else; `round` is what stands."""


class Unusable(Refused):
    """Values that make no sense."""


class Unavailable(Refused):
    """Not now; nothing was written."""


_KINDS: dict[int, type[Refused]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotThere,
    409: Conflicting,
    413: Unusable,
    422: Unusable,
    429: Unavailable,
    503: Unavailable,
    507: Unavailable,
}


def refusal(response: httpx.Response) -> Refused:
    """What a response says that is no success; a proxy's page, too, which is no problem+json."""
    said = _problem(response)
    errors = said.get("errors") or [
        f"{response.request.url.path}: {response.status_code} {response.reason_phrase}"
    ]
    there = said.get("round")
    after = response.headers.get("retry-after", "")
    return _KINDS.get(response.status_code, Refused)(
        response.status_code,
        [str(each) for each in errors],
        RoundAnswer.model_validate(there) if isinstance(there, dict) else None,
        float(after) if after.isdigit() else None,
    )


def _problem(response: httpx.Response) -> dict[str, Any]:
    if "json" not in response.headers.get("content-type", ""):
        return {}
    try:
        said = response.json()
    except json.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}
