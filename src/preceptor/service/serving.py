"""Run the service until it is told to stop: one process, or several that share a socket."""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from preceptor.service.app import make_app
from preceptor.service.lines import log_to_stderr
from preceptor.service.metrics import shared_by_processes
from preceptor.service.settings import Settings

# Seconds that calls which are under way may take once somebody says stop.
_DRAIN = 20
# Seconds that a worker may be too busy to say that it is alive before it is replaced.
_SILENCE = 30
# Callers that may wait until they are answered, as many as uvicorn lets.
_WAITING = 2048
# Where worker processes find the name of what makes their application.
_VARIABLE = "PRECEPTOR_APP"


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
    made.listen(_WAITING)
    made.set_inheritable(True)
    return made


def address_of(made: socket.socket) -> str:
    """Where it can be reached."""
    host, port = made.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(
    settings: Settings,
    made: socket.socket,
    workers: int = 1,
    make: Callable[[Settings], FastAPI] = make_app,
) -> None:
    """Serve until SIGTERM or Ctrl-C; calls that are under way are answered first.

    `make` makes the application, in every process that answers: a function of a module, since
    those processes get its name.
    """
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
        uvicorn.Server(uvicorn.Config(make(settings), **options)).run(sockets=[made])
        return
    settings.to_environment()
    os.environ[_VARIABLE] = f"{make.__module__}:{make.__qualname__}"
    worker = "preceptor.service.serving:from_environment"
    options["timeout_worker_healthcheck"] = _SILENCE
    with shared_by_processes():
        uvicorn.run(worker, factory=True, workers=workers, fd=made.fileno(), **options)


def from_environment() -> FastAPI:
    """In a worker process: how the service runs is in its environment."""
    log_to_stderr()
    threading.Thread(target=_end_with_parent, name="preceptor-orphan", daemon=True).start()
    make: Callable[[Settings], FastAPI] = pkgutil.resolve_name(os.environ[_VARIABLE])
    return make(Settings.from_environment())


def _end_with_parent() -> None:
    """A worker whose parent was killed would hold the port for ever, and nobody could stop it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
