"""Two questions that validation asks of any object."""

from __future__ import annotations

import math

import numpy as np


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
