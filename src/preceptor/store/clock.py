"""Now, as it is written into the store: ISO 8601 in UTC, to the microsecond, sortable as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def now() -> str:
    """This moment.

    >>> len(now()), now()[-1]
    (27, 'Z')
    """
    return written(datetime.now(UTC))


def later(seconds: float) -> str:
    """So many seconds from now; before now if negative."""
    return written(datetime.now(UTC) + timedelta(seconds=seconds))


def written(moment: datetime) -> str:
    """A moment that knows its zone, as text."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def seconds_until(moment: str) -> float:
    """Seconds from now until a moment of the store; negative if it is over."""
    return (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()
