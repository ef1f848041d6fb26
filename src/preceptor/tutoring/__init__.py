"""Teaching one person while finding out who they are: `Tutor`."""

from preceptor.tutoring.tutor import Tutor

__all__ = ["Tutor"]
