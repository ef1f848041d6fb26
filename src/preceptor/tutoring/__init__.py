"""Teaching one person: a `Tutor` works out who they may be and says what to show next."""

from preceptor.tutoring.tutor import Tutor

__all__ = ["Tutor"]
