"""Teaching one person: follow what they know, round by round, and plan from there."""

from preceptor.tutoring.tracking import Tracker

__all__ = ["Tracker"]
