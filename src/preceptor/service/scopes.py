"""What a call needs: a token that may read, write, or do everything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Depends, Request

from preceptor.service.problems import Refusal
from preceptor.store.tokens import Token

# For the OpenAPI document: the gate looks at the token itself, before anything is routed.
SECURITY = {
    "HTTPBearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "Made by `preceptor serve token create`.",
    }
}


def needs(scope: str) -> Any:
    """A dependency that refuses tokens of a lesser scope."""
    return Depends(_CHECKS[scope])


def _check(scope: str) -> Callable[..., Awaitable[None]]:
    async def check(request: Request) -> None:
        token: Token = request.scope["state"]["token"]
        if not token.may(scope):
            raise Refusal(403, f"token: may only {token.scope}, this needs {scope}")

    return check


_CHECKS = {scope: _check(scope) for scope in ("read", "write", "admin")}
