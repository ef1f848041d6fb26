"""Run an application until it is told to stop; what it logs is one JSON object a line."""

from __future__ import annotations

import json
import logging
import signal
import socket
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI

from preceptor.store.clock import now

# Seconds that calls which are under way may take once somebody says stop.
_DRAIN = 20
# Ours, and of the web server's what went wrong.
_LEVELS = {
    "preceptor.service": logging.INFO,
    "preceptor.web": logging.INFO,
    "uvicorn.error": logging.WARNING,
}


def listen(host: str, port: int) -> socket.socket:
    """A socket that waits for callers; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError:
        made.close()
        raise
    # Whoever calls while the service is starting waits, and is not refused.
    made.listen(socket.SOMAXCONN)
    made.set_inheritable(True)
    return made


def address_of(made: socket.socket) -> str:
    """Where it can be reached."""
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: FastAPI, made: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; calls that are under way are answered first."""
    log_to_stderr()
    # uvicorn ends by raising the signal that stopped it once more; being stopped is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # it would write addresses of callers
        server_header=False,
        timeout_graceful_shutdown=_DRAIN,
    )
    uvicorn.Server(config).run(sockets=[made])


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
