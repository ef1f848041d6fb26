"""Teaching one person: following them (`Tracker`), and finding out who they are (`Tutor`)."""

from preceptor.tutoring.tracking import Tracker
from preceptor.tutoring.tutor import Tutor

__all__ = ["Tracker", "Tutor"]
