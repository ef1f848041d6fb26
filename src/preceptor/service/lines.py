"""What is logged: one JSON object a line, whoever says it."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from preceptor.store.clock import now

# Ours, and of the web server's what went wrong.
_LEVELS = {
    "preceptor.service": logging.INFO,
    "preceptor.web": logging.INFO,
    "uvicorn.error": logging.WARNING,
}


class Lines(logging.Formatter):
    """A record as a line of JSON.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": {"event": "ready"}, "levelname": "INFO"})
    >>> list(json.loads(Lines().format(record)))
    ['at', 'level', 'event']
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line; what is said as a mapping keeps its names."""
        said: dict[str, Any] = {"at": now(), "level": record.levelname.lower()}
        if isinstance(record.msg, dict):
            said |= record.msg
        else:
            said["message"] = record.getMessage()
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said)


def log_to_stderr() -> None:
    """Send all of it there; whoever runs the service decides where it goes."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name, level in _LEVELS.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
