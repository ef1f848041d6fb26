"""How a service runs: read from options once."""

from __future__ import annotations

from dataclasses import dataclass


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
    loopback
        Whether it can only be reached from this machine: then it answers without tokens while
        there are none.
    planners
        Processes in which tutors plan.
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
    loopback: bool = True
    planners: int = 2
    patience: float = 10.0
    explorer: str = "here"
