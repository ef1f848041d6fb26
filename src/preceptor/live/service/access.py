"""Who may call, and how often: tokens with their scopes, and a rate limit for each caller."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from preceptor.live.service.settings import Recent
from preceptor.live.store import tokens
from preceptor.live.store.database import Store
from preceptor.live.store.plans import sha256_of
from preceptor.live.store.tokens import Token

# Paths that need a token.
GUARDED = "/v1/"
# The gate checks tokens; this only marks in the OpenAPI document which calls need one.
_BEARER = HTTPBearer(auto_error=False, description="Created by `preceptor serve token create`.")
# Seconds until a token that another process created or revoked is known here, at most.
_SECONDS = 2.0


class Refusal(HTTPException):
    """A refusal by the service itself: no access, too many calls, a body that is too large.

    Parameters
    ----------
    status
        HTTP status code.
    sentence
        What is wrong, and what to do.
    headers
        Of the response, such as Retry-After.
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
        To read them from.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_hash: dict[str, Token] = {}
        self._read_at = -float("inf")

    async def refresh(self, *, now: bool = False) -> None:
        """Read them again if they are out of date."""
        if now or time.monotonic() - self._read_at > _SECONDS:
            self._read_at = time.monotonic()
            found = await self._store.reading(tokens.everyone)
            self._by_hash = {each.sha256: each for each in found}

    def find(self, secret: str) -> Token | None:
        """Return the token with this secret, if it is live.

        The look-up is by hash, so its duration reveals nothing about the secret.
        """
        found = self._by_hash.get(sha256_of(secret))
        return found if found is not None and found.is_live and not found.is_session else None

    def session(self, secret: str) -> Token | None:
        """Return the session of an owner's browser with this secret, if it is live."""
        found = self._by_hash.get(sha256_of(secret))
        return found if found is not None and found.is_live and found.is_session else None

    @property
    def are_there(self) -> bool:
        """Whether any token was ever created: from then on, calls without one are refused."""
        return any(not each.is_session for each in self._by_hash.values())


class Buckets:
    """Rate limits: one token bucket for each caller.

    Parameters
    ----------
    rate
        Sustained calls per second; 0 for no limit.
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
        """Count one call; return whole seconds to wait, 0 if it may be made now."""
        if self._rate <= 0.0:
            return 0
        now = time.monotonic() if now is None else now
        left, then = self._left.get(caller) or (self._burst, now)
        left = min(self._burst, left + (now - then) * self._rate)
        allowed = left >= 1.0
        self._left.put(caller, (left - 1.0 if allowed else left, now))
        return 0 if allowed else max(1, math.ceil((1.0 - left) / self._rate))

    def must_not_wait(self, caller: str, sentence: str) -> None:
        """Count one call, or raise a `Refusal` that says when to try again."""
        wait = self.wait(caller)
        if wait:
            raise Refusal(429, sentence, {"Retry-After": str(wait)})


def needs(scope: str) -> Any:
    """Return a dependency that refuses tokens of a lesser scope."""

    async def check(request: Request, _: Annotated[Any, Depends(_BEARER)]) -> None:
        token: Token = request.scope["state"]["token"]
        if not token.may(scope):
            raise Refusal(403, f"token: may only {token.scope}, this needs {scope}")

    return Depends(check)


def creating(model: type[Any], again: str, scope: str) -> dict[str, Any]:
    """Options of an endpoint that answers 201, or 200 if the call is repeated."""
    return {
        "status_code": 201,
        "response_model": model,
        "responses": {200: {"model": model, "description": again}},
        "dependencies": [needs(scope)],
    }
