"""A server that is told to stop: calls that are under way are answered, then it ends well."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess

import pytest

from tests.live.service.servers import Server, said

pytestmark = pytest.mark.full

UNDER_WAY = 8


def begun(server: Server, method: str, path: str, body: object) -> socket.socket:
    """A call of which the server has said that it is at work on it (`100 Continue`)."""
    host, _, port = server.address.removeprefix("http://").partition(":")
    text = json.dumps(body).encode()
    call = socket.create_connection((host, int(port)), timeout=60)
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(text)}\r\n"
    head += "Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n"
    call.sendall(head.encode())
    assert call.recv(1000).startswith(b"HTTP/1.1 100")
    call.sendall(text)
    return call


def status_of(call: socket.socket) -> int:
    got = b""
    while more := call.recv(65_536):
        got += more
    call.close()
    return int(got.split()[1])


def test_what_is_under_way_is_answered(serve, tmp_path):
    """Another program holds the database, so every call has to wait until after the signal."""
    server: Server = serve()
    holder = sqlite3.connect(tmp_path / "live.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    calls = [begun(server, "PUT", f"/v1/people/p{i}", {}) for i in range(UNDER_WAY)]
    server.process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(timeout=0.5)
    holder.execute("COMMIT")
    holder.close()
    assert [status_of(call) for call in calls] == [201] * UNDER_WAY
    assert server.process.wait(timeout=60) == 0
    assert "Traceback" not in server.log.read_text()
    again = serve()
    for i in range(UNDER_WAY):
        said(again.http.get(f"/v1/people/p{i}"))
