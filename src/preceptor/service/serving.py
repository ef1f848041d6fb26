"""Run the service until it is told to stop: one process, or several that share a socket."""

from __future__ import annotations

import signal
import socket
from typing import Any

import uvicorn
from fastapi import FastAPI

from preceptor.service.app import make_app
from preceptor.service.lines import log_to_stderr
from preceptor.service.metrics import shared_by_processes
from preceptor.service.settings import Settings

# Seconds that calls which are under way may take once somebody says stop.
_DRAIN = 20


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
    made.set_inheritable(True)
    return made


def address_of(made: socket.socket) -> str:
    """Where it can be reached."""
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(settings: Settings, made: socket.socket, workers: int = 1) -> None:
    """Serve until SIGTERM or Ctrl-C; calls that are under way are answered first."""
    log_to_stderr()
    # uvicorn ends by raising the signal that stopped it once more; being stopped is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    options: dict[str, Any] = {
        "log_config": None,
        "access_log": False,  # it would write addresses of callers
        "server_header": False,
        "timeout_graceful_shutdown": _DRAIN,
    }
    if workers == 1:
        uvicorn.Server(uvicorn.Config(make_app(settings), **options)).run(sockets=[made])
        return
    settings.to_environment()
    worker = "preceptor.service.serving:from_environment"
    with shared_by_processes():
        uvicorn.run(worker, factory=True, workers=workers, fd=made.fileno(), **options)


def from_environment() -> FastAPI:
    """In a worker process: how the service runs is in its environment."""
    log_to_stderr()
    return make_app(Settings.from_environment())
