"""What the live part keeps: one table a noun, as SQLAlchemy sees them.

`creating.create_tables` makes them as they are defined here. Lists and objects are JSON text, in
which numbers keep their bits; times are text in ISO 8601, UTC, with microseconds.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.types import TypeDecorator

from preceptor.store.refusals import StoreFailure

# Of the tables below: raise it with every change of them, so that an older database is refused.
VERSION = 2
# Rounds that wait for the person; somebody has at most one of them.
OPEN = ("offered", "shown")
# How a round can stand.
STATUSES = (*OPEN, "predicted", "told", "untold", "abandoned")
# How a participant of a study can stand; the first two fill an arm.
STANDINGS = ("active", "completed", "withdrawn", "screened out", "no consent")


class Json(TypeDecorator[Any]):
    """Plain data as JSON text: the same in every database, and floats come back bit by bit."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        """To the database."""
        if value is None:
            return None
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: Any) -> Any:
        """From the database."""
        try:
            return None if value is None else json.loads(value)
        except ValueError:
            raise StoreFailure("database: a row is damaged; stop, and restore a backup") from None


metadata = MetaData()
# With this type, and no other, SQLite needs no second tree for the key.
_SEQ = BigInteger().with_variant(Integer(), "sqlite")
_OPEN_ROUND = text("status IN ('offered', 'shown')")
_FILLS = text("status IN ('active', 'completed') AND place IS NOT NULL AND NOT is_lapsed")

tables_version = Table(
    "tables_version",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
)

plan = Table(
    "plan",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("body", Text, nullable=False),  # the file as it came: its hash is its name
    Column("created", String(32), nullable=False),
)

case_list = Table(
    "case_list",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("plan", String(64), ForeignKey("plan.sha256"), nullable=False),  # whose tests they have
    Column("sha256", String(64), nullable=False),
    Column("size", Integer, nullable=False),
    Column("created", String(32), nullable=False),
)

held_case = Table(
    "held_case",
    metadata,
    Column("list", String(128), ForeignKey("case_list.name"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("values", Json, nullable=False),  # one a column of the world; null where it is missing
    Column("outcome", Double, nullable=False),
)

person = Table(
    "person",
    metadata,
    Column("id", String(128), primary_key=True),  # the caller's own pseudonym
    Column("plan", String(64), ForeignKey("plan.sha256"), nullable=False),
    Column("policy", String(16), nullable=False),
    Column("enrolled_with", Json, nullable=False),  # what PUT said, to know it again
    Column("case_list", String(128), ForeignKey("case_list.name")),
    Column("counts", Json, nullable=False),  # showings since the plan began; follows from rounds
    Column("position", Integer, nullable=False),  # rounds of the plan that count, likewise
    Column("answers", Integer, nullable=False),  # rounds that were answered, likewise
    Column("rounds", Integer, nullable=False),  # the number of the next round, likewise
    Column("is_bot", Boolean, nullable=False),
    Column("version", Integer, nullable=False),  # moves with every change
    Column("created", String(32), nullable=False),
    Column("seen_at", String(32), nullable=False),
)

round_ = Table(
    "round",
    metadata,
    Column("person", String(128), ForeignKey("person.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("status", String(16), nullable=False),
    Column("plan", String(64), ForeignKey("plan.sha256"), nullable=False),
    Column("policy", String(16), nullable=False),
    Column("opened_with", Json, nullable=False),  # available, case, feedback: as asked for
    Column("case_number", Integer),  # in the person's list, where the server holds the case
    Column("recommended", Json),  # columns by name
    Column("reason", Text),
    Column("propensity", Double),  # 1 where nothing is left to chance
    Column("shown", Json),
    Column("values", Json),
    Column("override_reason", Text),
    Column("prediction", Double),
    Column("outcome", Double),
    Column("feedback", Boolean, nullable=False),  # whether the person is told the truth
    Column("answered", Integer),  # which of the person's answers it is, from 1
    Column("heard", Integer),  # how many answers there had been when the truth was told
    Column("offered_at", String(32)),
    Column("shown_at", String(32)),
    Column("predicted_at", String(32)),
    Column("ended_at", String(32)),
    Column("seq", BigInteger, nullable=False),  # the event that changed it last: the log's cursor
    CheckConstraint(f"status IN {STATUSES}", name="round_status"),
    Index(
        "one_open_round",
        "person",
        unique=True,
        sqlite_where=_OPEN_ROUND,
        postgresql_where=_OPEN_ROUND,
    ),
    Index("round_seq", "seq"),
)

event = Table(
    "event",
    metadata,
    Column("seq", _SEQ, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("subject", String(128)),  # emptied with the payload when somebody is erased
    Column("salt", String(32)),
    Column("payload", Text),
    Column("payload_sha256", String(64), nullable=False),
    Column("prev_sha256", String(64), nullable=False),
    Column("sha256", String(64), nullable=False),
    Index("event_subject", "subject"),
)

token = Table(
    "token",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("id", String(16), nullable=False, unique=True),  # to speak of it without showing it
    Column("name", String(128), nullable=False),
    Column("scope", String(8), nullable=False),
    Column("created", String(32), nullable=False),
    Column("expires", String(32)),
    Column("revoked", String(32)),
    CheckConstraint("scope IN ('read', 'write', 'admin')", name="token_scope"),
)

study = Table(
    "study",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("config", Text, nullable=False),  # as it was frozen, the problem included
    Column("sha256", String(64), nullable=False),
    Column("state", String(8), nullable=False),
    Column("people", Integer, nullable=False),  # who shall finish; can be raised
    Column("key", String(64), nullable=False),  # of the hashes of recruiters' names of people
    Column("registration", Text, nullable=False),
    Column("registration_sha256", String(64), nullable=False),
    Column("opened", String(32), nullable=False),
    Column("closed", String(32)),
    Column("unblinded", String(32)),
    CheckConstraint("state IN ('open', 'closed')", name="study_state"),
)

study_arm = Table(
    "study_arm",
    metadata,
    Column("study", String(64), ForeignKey("study.id"), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("policy", String(16), nullable=False),
    Column("plan", String(64), ForeignKey("plan.sha256"), nullable=False),
    Column("cap", Integer),
    Column("is_open", Boolean, nullable=False),
)

participant = Table(
    "participant",
    metadata,
    Column("id", String(32), primary_key=True),  # also the person, once there is an arm
    Column("study", String(64), ForeignKey("study.id"), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("status", String(16), nullable=False),
    Column("stage", Integer, nullable=False),  # the step of the protocol they are at
    Column("quizzes", Integer, nullable=False),  # how often they took a quiz and failed
    Column("arm", String(64)),
    Column("place", Integer),  # whose cases they have: the same in every arm
    Column("draw", Integer),  # how many were assigned before
    Column("is_lapsed", Boolean, nullable=False),  # silent for so long that the place was free
    Column("recruiter", String(64)),  # keyed hash of the recruiter's name of them
    Column("code", String(64)),
    Column("version", Integer, nullable=False),
    Column("created", String(32), nullable=False),
    Column("seen_at", String(32), nullable=False),
    Column("ended_at", String(32)),
    CheckConstraint("kind IN ('real', 'bot', 'preview')", name="participant_kind"),
    CheckConstraint(f"status IN {STANDINGS}", name="participant_status"),
    Index("participant_recruiter", "study", "kind", "recruiter", unique=True),
    Index(
        "one_person_a_place",
        "study",
        "kind",
        "arm",
        "place",
        unique=True,
        sqlite_where=_FILLS,
        postgresql_where=_FILLS,
    ),
)

participant_link = Table(
    "participant_link",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("participant", String(32), ForeignKey("participant.id"), nullable=False),
    Column("created", String(32), nullable=False),
    Column("revoked", String(32)),
    Index("link_participant", "participant"),
)

given_answer = Table(
    "given_answer",
    metadata,
    Column("participant", String(32), ForeignKey("participant.id"), primary_key=True),
    Column("stage", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),  # of a quiz, from 0
    Column("what", String(16), nullable=False),  # the kind of step
    Column("answer", Json, nullable=False),
    Column("is_right", Boolean),  # of quizzes and checks
    Column("at", String(32), nullable=False),
)
