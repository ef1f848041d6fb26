"""Send a call, and again where that cannot do anything twice.

Three things go wrong on the way. The service says "not now" (429, 503): it has written nothing, so
any call may be made again. Nobody listens: nothing has arrived, so any call may be made again. The
answer is lost: then the call may have been done, and only one that gives the same answer when it
is repeated is made again. What is refused is raised:

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
import ssl
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from preceptor.errors import InvalidInput, MissingExtra, PreceptorError

try:
    import httpx

    from preceptor.service.answers import RoundAnswer
except ImportError as missing:
    raise MissingExtra(str(missing.name), "client", "The client of the service") from None

# Seconds before the second attempt, and at most before any other, where the service names none.
_FIRST, _LONGEST = 0.05, 2.0


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


def _refusal(response: httpx.Response) -> Refused:
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


@cache
def authorities() -> ssl.SSLContext:
    """Whose certificates are believed; read once, since that takes longer than many calls."""
    return httpx.create_ssl_context(trust_env=False)


class Sender:
    """Calls one service.

    Parameters
    ----------
    url
        Where it is.
    token
        Sent with every call; None on the machine itself, while there are no tokens.
    timeout
        Seconds that one attempt may take.
    patience
        Seconds during which a call is repeated; 0 for a single attempt.
    connections
        Most that are open at once.
    """

    def __init__(
        self, url: str, token: str | None, timeout: float, patience: float, connections: int
    ) -> None:
        if not _is_address(url):
            raise InvalidInput(f"url: {url!r}, must be an address such as http://127.0.0.1:8000")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InvalidInput("token: must be as `preceptor serve token create` printed it")
        self.url, self._patience = url.rstrip("/"), patience
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # Only where the address says so: a proxy of the environment has no business in between.
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=timeout,
            limits=limits,
            trust_env=False,
            verify=authorities(),
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        repeatable: bool = True,
    ) -> httpx.Response:
        """A good answer; `repeatable` says that a repeated call does nothing twice.

        `body` is text that is sent as it is, or plain data that becomes JSON.
        """
        content = _written(body)
        headers = None if content is None else {"Content-Type": "application/json"}

        def attempt() -> httpx.Response:
            response = self._http.request(
                method, path, content=content, headers=headers, params=query
            )
            if not response.is_success:
                raise _refusal(response)
            return response

        return self._persist(attempt, repeatable)

    def _persist(self, attempt: Callable[[], httpx.Response], repeatable: bool) -> httpx.Response:
        end = time.monotonic() + self._patience
        pause = _FIRST
        while True:
            wait = pause
            try:
                return attempt()
            except Unavailable as refused:
                if refused.status == 507 or time.monotonic() + (refused.retry_after or wait) > end:
                    raise
                wait = refused.retry_after or wait
            except httpx.TransportError as error:
                never_arrived = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
                if not (repeatable or never_arrived) or time.monotonic() + wait > end:
                    said = str(error) or type(error).__name__
                    raise Unreachable(f"{self.url}: no answer ({said})") from error
            time.sleep(wait)
            pause = min(2.0 * pause, _LONGEST)


def _is_address(url: str) -> bool:
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return read.scheme in ("http", "https") and bool(read.host)


def _written(body: Any) -> str | None:
    if body is None or isinstance(body, str):
        return body
    try:
        return json.dumps(body, allow_nan=False, default=_plain)
    except InvalidInput:
        raise
    except ValueError:
        raise InvalidInput("body: holds a number that is not finite") from None


def _plain(value: Any) -> Any:
    """Numbers of NumPy."""
    if hasattr(value, "item"):
        return value.item()
    raise InvalidInput(f"body: {value!r}, cannot be written as JSON")
