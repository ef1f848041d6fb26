"""Questions that validation asks of any object, and one that several estimates ask alike."""

from __future__ import annotations

import math

import numpy as np

from preceptor.errors import InvalidInput


def is_number(value: object) -> bool:
    """Whether this is a finite real number (and not a truth value)."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no double can hold
        return False


def is_count(value: object, least: int) -> bool:
    """Whether this is a whole number of at least `least`."""
    return (
        isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= least
    )


def check_level(level: object) -> None:
    """Raise `InvalidInput` unless this is the probability of an interval."""
    if not (is_number(level) and 0.0 < float(level) < 1.0):  # type: ignore[arg-type]
        raise InvalidInput(f"level: {level!r}, must be between 0 and 1")
