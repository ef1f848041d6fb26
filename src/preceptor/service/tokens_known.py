"""Tokens in memory: looked up on every call, read from the store every few seconds."""

from __future__ import annotations

import time

from preceptor.store import Store, tokens
from preceptor.store.tokens import Token

# A token that was made or revoked elsewhere is known here after so many seconds at most.
_SECONDS = 2.0


class KnownTokens:
    """All tokens that are kept.

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
