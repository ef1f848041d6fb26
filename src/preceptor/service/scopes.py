"""What a call needs: a token that may read, write, or do everything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Depends, Request

from preceptor.service.problems import Refusal
from preceptor.store.tokens import Token

# Paths that need a token.
GUARDED = "/v1/"
# For the OpenAPI document alone: the gate has looked at the token already, and FastAPI's own
# dependency would look at it once more in every call.
_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "Made by `preceptor serve token create`.",
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


def describe_tokens(document: dict[str, Any]) -> None:
    """Say in the OpenAPI document which calls need a token: all that the gate guards."""
    document["components"]["securitySchemes"] = {"HTTPBearer": _SCHEME}
    for path, calls in document["paths"].items():
        if path.startswith(GUARDED):
            for call in calls.values():
                call["security"] = [{"HTTPBearer": []}]
