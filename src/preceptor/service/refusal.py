"""A refusal by the service itself: who may call, how often, how much, and when to come back."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException


class Refusal(HTTPException):
    """An answer that is not what was asked for.

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
