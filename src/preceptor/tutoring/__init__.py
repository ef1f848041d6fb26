"""Teaching one person: following them (`Tracker`), and working out who they may be (`Tutor`)."""

from preceptor.tutoring.tracking import Tracker
from preceptor.tutoring.tutor import Tutor

__all__ = ["Tracker", "Tutor"]
