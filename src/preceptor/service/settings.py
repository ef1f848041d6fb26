"""How a service runs: read from options once, and handed to worker processes as they are."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

VARIABLE = "PRECEPTOR_SERVE"


@dataclass(frozen=True)
class Settings:
    """What one service is told.

    Attributes
    ----------
    database
        A path, or the address of a Postgres database.
    plan
        Hash of the plan for people who are enrolled without one; None if each must name it.
    rate
        Calls a second that a token may make for long; 0 for any number.
    burst
        Calls that a token may make at once.
    body_limit
        Bytes of an ordinary body; plans and lists of cases may be `upload_limit`.
    upload_limit
        Bytes of a plan or a list of cases.
    expire_after
        Seconds after which a round that nobody answers expires; None for never.
    loopback
        Whether it can only be reached from this machine: then it answers without tokens while
        there are none.
    most_jobs
        Jobs that may wait.
    job_workers
        Jobs that run at once, for each process that answers. There is one process more to plan
        in, so that tutors need not wait for jobs.
    job_seconds
        The longest time limit that a job may ask for.
    job_grace
        Seconds beyond its time limit after which a job is ended: some methods know no limit, and
        kernels may have to be compiled.
    patience
        Seconds that somebody who opens a round waits for a tutor.
    explorer
        Who gets the page on which plans are explored without a token: "everybody", those who call
        this machine by its own name ("here"), or "nobody".
    """

    database: str
    plan: str | None = None
    rate: float = 200.0
    burst: int = 400
    body_limit: int = 65_536
    upload_limit: int = 16_777_216
    expire_after: float | None = None
    loopback: bool = True
    most_jobs: int = 32
    job_workers: int = 1
    job_seconds: float = 60.0
    job_grace: float = 60.0
    patience: float = 10.0
    explorer: str = "here"

    def to_environment(self) -> None:
        """For processes that are started from here."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> Settings:
        """In such a process."""
        return cls(**json.loads(os.environ[VARIABLE]))
