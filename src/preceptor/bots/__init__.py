"""Simulated people who go through the live service, as real ones do, over HTTP."""

from preceptor.bots.comparing import differences, log_of
from preceptor.bots.crowd import Bots, Played
from preceptor.bots.study_bots import Attended, StudyBots

__all__ = ["Attended", "Bots", "Played", "StudyBots", "differences", "log_of"]
