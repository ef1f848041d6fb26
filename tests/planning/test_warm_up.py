"""Two processes compile what one alone would take twice as long for."""

import os
import subprocess
import sys

import pytest

from preceptor.engine._dual_kernels import smooth_rounds
from preceptor.planning import warm_up


def test_a_process_of_its_own_leaves_what_it_compiled_on_disk(tmp_path):
    """A small function stands for the large ones: those take half a minute."""
    program = (
        "from preceptor.engine._count_round_kernels import tangent; import numpy;"
        "print(tangent(0, 0.0, numpy.zeros((0, 3)), 1.0))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"(1.0,", b"2.0,", b"2.0)"]
    assert list(tmp_path.rglob("*tangent*.nbi"))


def test_what_is_on_disk_is_not_cold():
    warm_up.compile_proof()
    assert not warm_up._is_cold(smooth_rounds)


def test_what_was_never_compiled_is_cold(tmp_path, monkeypatch):
    monkeypatch.setattr(type(smooth_rounds._cache), "cache_path", str(tmp_path))
    assert warm_up._is_cold(smooth_rounds)


@pytest.mark.parametrize("refuse", [OSError("no more processes"), None])
def test_without_another_process_everything_is_compiled_here(monkeypatch, refuse):
    called = []
    monkeypatch.setattr(warm_up, "_is_cold", lambda kernel: True)

    def first():
        called.append("first")

    def second():
        called.append("second")

    def popen(*arguments, **options):
        if refuse is not None:
            raise refuse
        raise AssertionError("one core is not enough for two processes")

    monkeypatch.setattr(warm_up.subprocess, "Popen", popen)
    monkeypatch.setattr(warm_up.os, "cpu_count", lambda: 1 if refuse is None else 2)
    warm_up._both(first, second, None)
    assert called == ["first", "second"]
