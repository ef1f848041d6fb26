"""Studies with people: what a study file says, and all that follows from it."""

from preceptor.study.study import Study

__all__ = ["Study"]
