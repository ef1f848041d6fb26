"""Who may call, and how often: tokens, what each may do, and a bucket of calls for everybody."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from preceptor.service.recent import Recent
from preceptor.store import Store, tokens
from preceptor.store.tokens import SCOPES, Token

# Paths that need a token.
GUARDED = "/v1/"
# Tokens are looked at by the gate; this only says in the OpenAPI document which calls need one.
_BEARER = HTTPBearer(auto_error=False, description="Made by `preceptor serve token create`.")
# A token that was made or revoked elsewhere is known here after so many seconds at most.
_SECONDS = 2.0


class Refusal(HTTPException):
    """A refusal by the service itself: who may call, how often, how much, when to come back.

    Parameters
    ----------
    status
        Of HTTP.
    sentence
        What is wrong, and what to do.
    headers
        Say when to come back, for example.
    """

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, sentence, dict(headers or {}))


class KnownTokens:
    """Tokens in memory: looked up on every call, read from the store every few seconds.

    Parameters
    ----------
    store
        Where they are kept.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_hash: dict[str, Token] = {}
        self._read_at = -float("inf")

    async def refresh(self, *, now: bool = False) -> None:
        """Read them again if that was long ago."""
        if now or time.monotonic() - self._read_at > _SECONDS:
            self._read_at = time.monotonic()
            found = await self._store.reading(tokens.everyone)
            self._by_hash = {each.sha256: each for each in found}

    def find(self, secret: str) -> Token | None:
        """The token with this secret, if it is live.

        It is found by its hash: how long that takes says nothing about the secret.
        """
        found = self._by_hash.get(tokens.sha256_of(secret))
        return found if found is not None and found.is_live else None

    @property
    def are_there(self) -> bool:
        """Whether anybody ever made one: from then on calls without one are refused."""
        return bool(self._by_hash)


class Buckets:
    """How often a caller may call: one bucket each, which fills at a rate and holds a burst.

    Parameters
    ----------
    rate
        Calls a second for long; 0 for any number.
    burst
        Calls at once.

    Examples
    --------
    >>> buckets = Buckets(1.0, 2)
    >>> [buckets.wait("ann", now=0.0) for _ in range(3)]
    [0, 0, 1]
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(max(burst, 1))
        self._left: Recent[str, tuple[float, float]] = Recent()

    def wait(self, caller: str, now: float | None = None) -> int:
        """Take one call; gives whole seconds to wait, 0 if it may be made now."""
        if self._rate <= 0.0:
            return 0
        now = time.monotonic() if now is None else now
        left, then = self._left.get(caller) or (self._burst, now)
        left = min(self._burst, left + (now - then) * self._rate)
        allowed = left >= 1.0
        self._left.put(caller, (left - 1.0 if allowed else left, now))
        return 0 if allowed else max(1, math.ceil((1.0 - left) / self._rate))

    def must_not_wait(self, caller: str, sentence: str) -> None:
        """Take one call, or raise a `Refusal` that says when to come back."""
        wait = self.wait(caller)
        if wait:
            raise Refusal(429, sentence, {"Retry-After": str(wait)})


def needs(scope: str) -> Any:
    """A dependency that refuses tokens of a lesser scope."""
    return Depends(_CHECKS[scope])


def _check(scope: str) -> Callable[..., Awaitable[None]]:
    async def check(request: Request, _: Annotated[Any, Depends(_BEARER)]) -> None:
        token: Token = request.scope["state"]["token"]
        if not token.may(scope):
            raise Refusal(403, f"token: may only {token.scope}, this needs {scope}")

    return check


_CHECKS = {scope: _check(scope) for scope in SCOPES}
