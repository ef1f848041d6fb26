"""Access tokens: 128 random bits, shown once and stored as a hash, with a scope and an expiry.

The session of an owner's browser is a token, too, so that it can be listed and revoked; it opens
the owner's pages and nothing else.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, insert, or_, select, update

from preceptor.errors import InvalidInput
from preceptor.live.store import chain
from preceptor.live.store.chain import later, now
from preceptor.live.store.plans import sha256_of
from preceptor.live.store.tables import NotFound, token

# Each includes the ones before it.
SCOPES = ("read", "write", "admin")
SESSION = "session"
# Days until an owner has to sign in again.
_SESSION_DAYS = 7.0
_PREFIX = "pr_"


@dataclass(frozen=True)
class Token:
    """A row of the table; the secret itself is not stored."""

    sha256: str
    id: str
    name: str
    scope: str
    created: str
    expires: str | None
    revoked: str | None

    def may(self, scope: str) -> bool:
        """Whether its scope includes this one."""
        return self.scope in SCOPES and SCOPES.index(self.scope) >= SCOPES.index(scope)

    @property
    def is_session(self) -> bool:
        """Whether it is the session of a browser."""
        return self.scope == SESSION

    @property
    def is_live(self) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now() < self.expires)


def create(
    connection: Connection, scope: str, name: str = "", days: float | None = None
) -> tuple[str, Token]:
    """Create a token; return its secret, which cannot be recovered later, and its row."""
    if scope not in SCOPES:
        raise InvalidInput(f"scope: {scope!r}, must be one of {', '.join(SCOPES)}")
    if days is not None and not 0.0 < days <= 36_500.0:
        raise InvalidInput(f"days: {days!r}, must be above 0 and at most 36,500")
    return _created(connection, scope, name, days)


def begin_session(connection: Connection, origin: str) -> tuple[str, Token]:
    """Begin the session of a browser; `origin` is the id of the token it was given for, or words.

    It ends with that token.
    """
    return _created(connection, SESSION, _session_of(origin), _SESSION_DAYS)


def _session_of(origin: str) -> str:
    return f"signed in with {origin}"


def _created(
    connection: Connection, scope: str, name: str, days: float | None
) -> tuple[str, Token]:
    secret = _PREFIX + secrets.token_urlsafe(16)
    # 128 random bits need no salt and no slow hash.
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
    """Revoke a token and its sessions; one that was revoked before stays as it is."""
    row = connection.execute(select(token).where(token.c.id == id)).first()
    if row is None:
        raise NotFound(f"token: {id!r} is not known")
    if row.revoked is None:
        own = or_(token.c.id == id, token.c.name == _session_of(id)) & token.c.revoked.is_(None)
        connection.execute(update(token).where(own).values(revoked=now()))
        row = connection.execute(select(token).where(token.c.id == id)).one()
        chain.append(connection, "token revoked", None, {"token": id})
    return Token(**row._mapping)
