"""Benchmarks keep their last results and say what became slower."""

from __future__ import annotations

import json

from benchmarks import kept
from benchmarks.measure import Row


def row(work: str, ratio: float) -> Row:
    return Row(work, "a peer", ratio, 1.0)


def test_rows_are_replaced_one_by_one(tmp_path):
    path = tmp_path / "results.json"
    assert kept.read(path) == {}
    kept.write([row("a", 2.0), row("b", 3.14159)], path)
    kept.write([row("b", 5.0)], path)
    assert kept.read(path) == {"a": 2.0, "b": 5.0}


def test_only_changes_beyond_noise_are_told():
    before = {"slow": 10.0, "fast": 1.0, "same": 4.0, "proven": 1e6}
    rows = [row("slow", 7.0), row("fast", 2.0), row("same", 3.5), row("proven", 1e4)]
    slower, faster = kept.changes([*rows, row("new", 1.0)], before)
    assert slower == ["slow: 10 x, now 7 x"]
    assert faster == ["fast: 1 x, now 2 x"]


def test_what_is_in_the_repository_can_be_read():
    if kept.KEPT.exists():
        assert all(ratio > 0.0 for ratio in kept.read().values())
        assert json.loads(kept.KEPT.read_text())["last machine"]
