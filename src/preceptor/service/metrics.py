"""Numbers for Prometheus: calls and how long they took, and steps of rounds."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


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
