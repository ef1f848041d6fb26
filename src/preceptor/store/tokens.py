"""Tokens: 128 random bits that are shown once and kept as a hash, with a scope and an end."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, insert, select, update

from preceptor.errors import InvalidInput
from preceptor.store import chain
from preceptor.store.clock import later, now
from preceptor.store.refusals import NotThere
from preceptor.store.tables import token

# Each may do what those before it may.
SCOPES = ("read", "write", "admin")
_PREFIX = "pr_"


@dataclass(frozen=True)
class Token:
    """A row of the table; the token itself is nowhere."""

    sha256: str
    id: str
    name: str
    scope: str
    created: str
    expires: str | None
    revoked: str | None

    def may(self, scope: str) -> bool:
        """Whether that is within its scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    @property
    def is_live(self) -> bool:
        """Whether it was not revoked and has not expired."""
        return self.revoked is None and (self.expires is None or now() < self.expires)


def sha256_of(secret: str) -> str:
    """What is kept of a token: 128 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def create(
    connection: Connection, scope: str, name: str = "", days: float | None = None
) -> tuple[str, Token]:
    """Make a token; gives the secret, which is never to be had again, and its row."""
    if scope not in SCOPES:
        raise InvalidInput(f"scope: {scope!r}, must be one of {', '.join(SCOPES)}")
    if days is not None and not 0.0 < days <= 36_500.0:
        raise InvalidInput(f"days: {days!r}, must be above 0 and at most 36,500")
    secret = _PREFIX + secrets.token_urlsafe(16)
    made = Token(
        sha256=sha256_of(secret),
        id=secrets.token_hex(4),
        name=name,
        scope=scope,
        created=now(),
        expires=None if days is None else later(timedelta(days=days).total_seconds()),
        revoked=None,
    )
    connection.execute(insert(token).values(vars(made)))
    said = {"token": made.id, "scope": scope, "expires": made.expires}
    chain.append(connection, "token created", None, said)
    return secret, made


def everyone(connection: Connection) -> list[Token]:
    """All tokens, live or not, the oldest first."""
    rows = connection.execute(select(token).order_by(token.c.created))
    return [Token(**row._mapping) for row in rows]


def revoke(connection: Connection, id: str) -> Token:
    """End a token now; one that has ended stays as it is."""
    row = connection.execute(select(token).where(token.c.id == id)).first()
    if row is None:
        raise NotThere(f"token: {id!r} is not known")
    if row.revoked is None:
        at = now()
        connection.execute(update(token).where(token.c.id == id).values(revoked=at))
        chain.append(connection, "token revoked", None, {"token": id})
        return Token(**{**row._mapping, "revoked": at})
    return Token(**row._mapping)
