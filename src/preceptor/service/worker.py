"""The process at a desk (`python -m preceptor.service.worker`): reads tasks, writes answers."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from preceptor.errors import InvalidInput, PreceptorError
from preceptor.service.tasks import TASKS

# Requests come first where there are few cores.
_NICE = 5


Tasks = Mapping[str, Callable[..., dict[str, Any]]]


def main(known: Tasks = TASKS, nice: int = _NICE) -> None:
    """Work until the service is gone; `known` are tasks by name, among them `ready`."""
    for each in (signal.SIGINT, signal.SIGTERM):  # the service ends this process itself
        signal.signal(each, signal.SIG_IGN)
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(nice)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    while True:
        answers.write(json.dumps(_done(known, tasks.get())).encode() + b"\n")
        answers.flush()


def _listen(tasks: queue.SimpleQueue[bytes]) -> None:
    """Tasks as they come; with the service gone nobody waits for the present one either."""
    for line in sys.stdin.buffer:
        tasks.put(line)
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
    main()
