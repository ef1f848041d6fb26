"""Numbers for Prometheus: calls and how long they took, rounds, and jobs by their state.

Where several processes answer, each scrape reaches one of them; so they count in files that they
share, and any of them tells the sum. Jobs are counted in the store, which all of them share anyway.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

_SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@contextmanager
def shared_by_processes() -> Iterator[None]:
    """Processes that are started within count together."""
    with tempfile.TemporaryDirectory(prefix="preceptor-metrics-") as folder:
        os.environ[_SHARED] = folder
        try:
            yield
        finally:
            del os.environ[_SHARED]


class Metrics:
    """The numbers of a service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = Counter(
            "preceptor_requests",
            "Calls by route, method and status.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "preceptor_request_seconds",
            "How long calls took.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.rounds = Counter(
            "preceptor_rounds",
            "Rounds by what happened to them.",
            ("step",),
            registry=self.registry,
        )

    def text(self, jobs: Mapping[str, int] | None) -> str:
        """All of them as Prometheus reads them; jobs by state, where the store answers."""
        counted = self.registry
        if _SHARED in os.environ:
            counted = CollectorRegistry()
            MultiProcessCollector(counted)
        return generate_latest(counted).decode() + ("" if jobs is None else _of_jobs(jobs))


class _Jobs(Collector):
    """Jobs as the store counts them."""

    def __init__(self, by_state: Mapping[str, int]) -> None:
        self._by_state = by_state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Their numbers now."""
        jobs = GaugeMetricFamily("preceptor_jobs", "Jobs by state.", labels=["state"])
        for state, count in self._by_state.items():
            jobs.add_metric([state], count)
        yield jobs
        waiting = self._by_state["queued"]
        said = "Jobs that wait for a worker."
        yield GaugeMetricFamily("preceptor_job_queue_length", said, waiting)


def _of_jobs(by_state: Mapping[str, int]) -> str:
    counted = CollectorRegistry()
    counted.register(_Jobs(by_state))
    return generate_latest(counted).decode()
