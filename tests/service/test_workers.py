"""Several workers behind one socket: they come back when killed, and end when they are orphans."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import httpx
import psutil
import pytest

from tests.service.load import players
from tests.service.servers import said

_PATIENCE = 60.0


def workers_of(pid: int) -> list[psutil.Process]:
    """Processes that serve; Python starts others to keep track of resources."""
    found = []
    for each in psutil.Process(pid).children():
        with contextlib.suppress(psutil.Error):  # it has just ended
            if "spawn_main" in " ".join(each.cmdline()):
                found.append(each)
    return found


def wait_until(true, log):
    end = time.monotonic() + _PATIENCE
    while not true():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)


@pytest.mark.slow  # four processes import everything
def test_killed_workers_come_back_and_orphans_end(serve):
    server = serve("--workers", 2, "--rate", 0)
    names = [f"p{i}" for i in range(4)]
    for name in names:
        said(server.http.put(f"/v1/people/{name}", json={}))
    with players(names, lambda: [server.address]) as playing:
        first = workers_of(server.process.pid)
        assert len(first) == 2
        first[0].kill()
        known = {each.pid for each in first}
        wait_until(
            lambda: {each.pid for each in workers_of(server.process.pid)} - known, server.log
        )
        wait_until(lambda: all(len(each.acknowledged) > 4 for each in playing), server.log)
    for each in playing:
        log = server.http.get("/v1/log", params={"person": each.who})
        assert len(log.text.splitlines()) == len(each.acknowledged)
    left = workers_of(server.process.pid)
    server.kill()  # the one that looks after them, so nobody tells them to stop
    _, alive = psutil.wait_procs(left, timeout=_PATIENCE)
    for each in alive:
        os.kill(each.pid, signal.SIGKILL)
    assert not alive
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.address}/livez")
