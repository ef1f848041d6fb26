"""Tiny instances on one thread: waiting for a second, busy core costs more than it brings."""

import pytest


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setattr("preceptor._base.parallel.os.cpu_count", lambda: 1)
