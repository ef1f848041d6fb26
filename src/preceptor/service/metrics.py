"""Numbers for Prometheus: calls and how long they took, rounds by what happened to them."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """The numbers of one process."""

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

    def text(self) -> str:
        """All of them as Prometheus reads them."""
        return generate_latest(self.registry).decode()
