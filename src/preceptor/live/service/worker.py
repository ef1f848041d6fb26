"""A worker process of a pool (`python -m preceptor.live.service.worker MODULE NICE`).

It reads tasks from stdin and writes results to stdout; the `TASKS` of the module include `ready`.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from preceptor.errors import InvalidInput, PreceptorError

Tasks = Mapping[str, Callable[..., dict[str, Any]]]


def main(module: str, nice: int) -> None:
    """Do tasks until the service has gone."""
    for each in (signal.SIGINT, signal.SIGTERM):  # the service kills this process
        signal.signal(each, signal.SIG_IGN)
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(nice)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with results
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    known: Tasks = importlib.import_module(module).TASKS
    while True:
        answers.write(json.dumps(_done(known, waiting.get())).encode() + b"\n")
        answers.flush()


def _listen(waiting: queue.SimpleQueue[bytes]) -> None:
    """Queue tasks as they arrive; exit at once when the service has gone."""
    for line in sys.stdin.buffer:
        waiting.put(line)
    os._exit(0)


def _done(known: Tasks, line: bytes) -> dict[str, Any]:
    said = json.loads(line)
    try:
        return {"answer": known[said["task"]](**said["args"])}
    except InvalidInput as error:
        return {"refused": list(error.faults)}
    except PreceptorError as error:
        return {"refused": [str(error)]}
    except MemoryError:
        return {"refused": ["memory: not enough for this; ask for another method"]}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
