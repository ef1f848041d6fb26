"""Two processes compile what one alone would take twice as long for."""

import os
import subprocess
import sys

import pytest

from preceptor.planning import warm_up


def test_a_process_of_its_own_leaves_what_it_compiled_on_disk(tmp_path):
    """A small function stands for the large ones: those take half a minute."""
    program = (
        "from preceptor._base._array_kernels import largest_of; import numpy;"
        "print(largest_of(numpy.ones(2)))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"1.0"]
    assert list(tmp_path.rglob("*largest_of*.nbi"))


def test_what_is_on_disk_is_not_cold():
    warm_up.compile_proof()
    assert not warm_up._is_cold()


@pytest.mark.parametrize("refuse", [OSError("no more processes"), None])
def test_without_another_process_everything_is_compiled_here(monkeypatch, refuse):
    called = []
    monkeypatch.setattr(warm_up, "_is_cold", lambda: True)
    for name in ("compile_search", "compile_proof"):
        monkeypatch.setattr(warm_up, name, lambda name=name: called.append(name))

    def popen(*arguments, **options):
        if refuse is not None:
            raise refuse
        raise AssertionError("one core is not enough for two processes")

    monkeypatch.setattr(warm_up.subprocess, "Popen", popen)
    monkeypatch.setattr(warm_up.os, "cpu_count", lambda: 1 if refuse is None else 2)
    warm_up.compile_search_and_proof.__wrapped__()
    assert called == ["compile_search", "compile_proof"]
