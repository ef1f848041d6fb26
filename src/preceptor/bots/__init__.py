"""Simulated people who go through the live service, as real ones do, over HTTP."""

from preceptor.bots.comparing import differences, log_of
from preceptor.bots.crowd import Bots, Played

__all__ = ["Bots", "Played", "differences", "log_of"]
