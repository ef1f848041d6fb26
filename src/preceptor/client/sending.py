"""Send a call, and again where that cannot do anything twice.

Three things go wrong on the way. The service says "not now" (429, 503): it has written nothing, so
any call may be made again. Nobody listens: nothing has arrived, so any call may be made again. The
answer is lost: then the call may have been done, and only one that gives the same answer when it
is repeated is made again.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from preceptor.client.refusals import Unavailable, Unreachable, refusal
from preceptor.errors import InvalidInput, MissingExtra

try:
    import httpx
except ImportError:
    raise MissingExtra("httpx", "client", "The client of the service") from None

# Seconds before the second attempt, and at most before any other, where the service names none.
_FIRST, _LONGEST = 0.05, 2.0


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
        self.repeated, self._lock = 0, threading.Lock()
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
                raise refusal(response)
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
            with self._lock:
                self.repeated += 1
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
