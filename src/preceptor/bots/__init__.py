"""Simulated people who take part in a study through its own pages, as real ones do, over HTTP."""

from preceptor.bots.study_bots import Attended, StudyBots

__all__ = ["Attended", "StudyBots"]
