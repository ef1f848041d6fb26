"""/v1/tokens: make, list and revoke tokens; the command line does the same without a service."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from preceptor.service.answers import REFUSALS, TokenAnswer
from preceptor.service.live import live_of
from preceptor.service.schemas import NewToken
from preceptor.service.scopes import needs
from preceptor.service.views import answer
from preceptor.store import tokens
from preceptor.store.tokens import Token

router = APIRouter(prefix="/v1/tokens", tags=["tokens"], responses=REFUSALS)


@router.post("", status_code=201, response_model=TokenAnswer, dependencies=[needs("admin")])
async def create(request: Request, said: NewToken) -> Response:
    """Make a token; its secret is shown this once."""
    live = live_of(request)
    secret, made = await live.store.writing(
        lambda connection: tokens.create(connection, said.scope, said.name, said.days)
    )
    await live.tokens.refresh(now=True)
    return answer({**token_view(made), "token": secret}, 201)


@router.get("", response_model=list[TokenAnswer], dependencies=[needs("admin")])
async def everyone(request: Request) -> Response:
    """All tokens, without their secrets."""
    found = await live_of(request).store.reading(tokens.everyone)
    return answer([token_view(each) for each in found])


@router.delete("/{id}", response_model=TokenAnswer, dependencies=[needs("admin")])
async def revoke(request: Request, id: Annotated[str, Path(pattern="^[0-9a-f]{8}$")]) -> Response:
    """End a token now."""
    live = live_of(request)
    ended = await live.store.writing(lambda connection: tokens.revoke(connection, id))
    await live.tokens.refresh(now=True)
    return answer(token_view(ended))


def token_view(token: Token) -> dict[str, Any]:
    """A token without its hash."""
    return {key: value for key, value in vars(token).items() if key != "sha256"}
