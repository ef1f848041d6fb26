"""Logs: what people were shown, what they predicted, and what was true; one row per round."""

from preceptor.logs.log import Log

__all__ = ["Log"]
