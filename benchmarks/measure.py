"""Timing that copes with noisy machines, and the row that every benchmark returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One comparison: how many times better than `against`, and what was wanted."""

    work: str
    against: str
    ratio: float
    wanted: float
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        return self.ratio >= self.wanted


def best_time(function: Callable[[], Any], seconds: float = 1.0, least: int = 3) -> float:
    """Shortest of several runs: noise only ever adds."""
    function()  # compile, fill caches
    best, spent, runs = float("inf"), 0.0, 0
    while runs < least or spent < seconds:
        started = time.perf_counter()
        function()
        took = time.perf_counter() - started
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best


def one_time(function: Callable[[], Any]) -> tuple[float, Any]:
    """A single run, for peers that take long."""
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result
