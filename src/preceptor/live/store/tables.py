"""The tables of the store, as SQLAlchemy defines them, and its errors.

Lists and objects are stored as JSON text, which preserves floats exactly; times are text in ISO
8601, UTC, with microseconds. The service turns each error into an HTTP response:

PreceptorError
├── NotFound                       nothing has that name
├── Conflict                       it exists already and differs
└── StoreFailure                   the database cannot do it now; nothing was written
    ├── StoreBusy                  another process is writing; try again
    └── StoreFull                  the disk is full
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
    TextClause,
    text,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.types import TypeDecorator

from preceptor.errors import PreceptorError


class NotFound(PreceptorError):
    """Nothing has that name."""


class Conflict(PreceptorError):
    """It exists already and differs.

    Parameters
    ----------
    message
        What is there, and what to do.
    current
        What exists, such as a round that a second tab can draw.
    """

    def __init__(self, message: str, current: Any = None) -> None:
        super().__init__(message)
        self.current = current


class StoreFailure(PreceptorError):
    """The database cannot do it now; nothing was written."""


class StoreBusy(StoreFailure):
    """Another process is writing."""


class StoreFull(StoreFailure):
    """The disk is full."""


# By the start of SQLite's error name.
_SQLITE: dict[str, tuple[type[StoreFailure], str]] = {
    "SQLITE_BUSY": (StoreBusy, "another process is writing to it; try again"),
    "SQLITE_LOCKED": (StoreBusy, "another process is writing to it; try again"),
    "SQLITE_FULL": (StoreFull, "the disk is full; free some space and send this again"),
    "SQLITE_READONLY": (StoreFailure, "it is read-only; give this process write permission"),
    "SQLITE_CORRUPT": (StoreFailure, "its file is damaged; stop, and restore a backup"),
    "SQLITE_NOTADB": (StoreFailure, "its file is not a SQLite database"),
    "SQLITE_CANTOPEN": (StoreFailure, "its file cannot be opened"),
    "SQLITE_IOERR": (StoreFailure, "its file cannot be read or written"),
}
# By the start of the Postgres error code (SQLSTATE).
_POSTGRES: dict[str, tuple[type[StoreFailure], str]] = {
    "53100": (StoreFull, "the disk is full; free some space and send this again"),
    "40": (StoreBusy, "two transactions were in each other's way; try again"),
    "55P03": (StoreBusy, "another process is writing to it; try again"),
    "25006": (StoreFailure, "it is read-only; connect to the primary server"),
    "57P": (StoreFailure, "it is being shut down"),
    "08": (StoreFailure, "it does not answer"),
}


def explain_failure(error: SQLAlchemyError) -> StoreFailure:
    """Explain a database error; nothing was written."""
    original = getattr(error, "orig", None) if isinstance(error, DBAPIError) else None
    name = str(getattr(original, "sqlite_errorname", "") or "")
    code = str(getattr(original, "sqlstate", "") or "")
    for table, key in ((_SQLITE, name), (_POSTGRES, code)):
        for begins, (kind, sentence) in table.items():
            if key.startswith(begins):
                return kind(f"database: {sentence}")
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return StoreFailure("database: it does not answer")
    return StoreFailure(f"database: {type(original or error).__name__}; nothing was written")


# Raise this with every change of the tables, so that older databases are refused.
VERSION = 9
# Rounds that are not answered yet; a person has at most one.
OPEN = ("offered", "shown")
STATUSES = (*OPEN, "predicted", "told", "untold", "abandoned")
# Participants with one of the first two fill a place of their arm.
STANDINGS = ("active", "completed", "withdrawn", "screened out", "no consent")


class Json(TypeDecorator[Any]):
    """Plain data as JSON text: the same in every database, with floats preserved exactly."""

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
# Only with this type does SQLite use the key as the row id, without a second index.
_SEQ = BigInteger().with_variant(Integer(), "sqlite")
_OPEN_ROUND = text("status IN ('offered', 'shown')")
_FILLS = text("status IN ('active', 'completed') AND place IS NOT NULL AND NOT is_lapsed")


def _unique(name: str, *columns: str, where: TextClause) -> Index:
    """A unique index of the rows that fulfil a condition."""
    return Index(name, *columns, unique=True, sqlite_where=where, postgresql_where=where)


tables_version = Table(
    "tables_version", metadata, Column("version", Integer, primary_key=True, autoincrement=False)
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
    Column("id", String(128), primary_key=True),  # the caller's pseudonym, or a random name
    Column("kind", String(8), nullable=False),
    Column("created", String(32), nullable=False),
    Column("seen_at", String(32), nullable=False),
    # How they are advised; null while a participant of a study has no arm.
    Column("plan", String(64), ForeignKey("plan.sha256")),
    Column("policy", String(16)),
    Column("enrolled_with", Json),  # the enrolment as sent, so that a repeated one is recognised
    Column("case_list", String(128), ForeignKey("case_list.name")),
    Column("counts", Json),  # exposure counts since the plan began; follow from the rounds
    Column("position", Integer),  # rounds of the plan that count; follows from the rounds
    Column("answers", Integer),  # answered rounds; follows from the rounds
    Column("rounds", Integer),  # number of the next round; follows from the rounds
    Column("version", Integer, nullable=False),  # incremented with every change of their rounds
    # Where they are in a study; null for people who are in none.
    Column("study", String(64), ForeignKey("study.id")),
    Column("status", String(16)),
    Column("stage", Integer),  # the step of the protocol they are at
    Column("quizzes", Integer),  # failed attempts at a quiz
    Column("arm", String(64)),
    Column("place", Integer),  # which list of cases they have: the same in every arm
    Column("draw", Integer),  # participants assigned before them
    Column("is_lapsed", Boolean),  # inactive for so long that their place was given away
    Column("recruiter", String(64)),  # keyed hash of the recruiter's name for them
    Column("code", String(64)),
    Column("ended_at", String(32)),
    CheckConstraint("kind IN ('real', 'bot', 'preview')", name="person_kind"),
    CheckConstraint(f"status IN {STANDINGS}", name="person_status"),
    Index("person_recruiter", "study", "kind", "recruiter", unique=True),
    _unique("one_person_a_place", "study", "kind", "arm", "place", where=_FILLS),
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
    Column("case_number", Integer),  # in the person's case list, if the server holds the cases
    Column("recommended", Json),  # columns by name
    Column("reason", Text),
    Column("propensity", Double),  # 1 unless chance decides
    Column("shown", Json),
    Column("values", Json),
    Column("override_reason", Text),
    Column("prediction", Double),
    Column("outcome", Double),
    Column("feedback", Boolean, nullable=False),  # whether the person is told the outcome
    Column("answered", Integer),  # ordinal among the person's answers, from 1
    Column("outcome_known_at", Integer),  # number of answers given when the outcome was told
    Column("offered_at", String(32)),
    Column("shown_at", String(32)),
    Column("predicted_at", String(32)),
    Column("ended_at", String(32)),
    Column("sent_with", Json),  # what came with the answer: confidence, time by the browser
    Column("seconds", Double),  # from showing to the answer; null if no clock ran all the time
    Column("seq", BigInteger, nullable=False),  # last event that changed it: the log's cursor
    CheckConstraint(f"status IN {STATUSES}", name="round_status"),
    _unique("one_open_round", "person", where=_OPEN_ROUND),
    Index("round_seq", "seq"),
    Index("round_person_seq", "person", "seq"),
)

event = Table(
    "event",
    metadata,
    Column("seq", _SEQ, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("tick", String(48), nullable=False),  # the same moment by a clock that cannot be set
    Column("kind", String(32), nullable=False),
    Column("subject", String(128)),  # emptied, with the payload, when the person is erased
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
    Column("id", String(16), nullable=False, unique=True),  # names the token without revealing it
    Column("name", String(128), nullable=False),
    Column("scope", String(8), nullable=False),
    Column("created", String(32), nullable=False),
    Column("expires", String(32)),
    Column("revoked", String(32)),
    CheckConstraint("scope IN ('read', 'write', 'admin', 'session')", name="token_scope"),
)

study = Table(
    "study",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("config", Text, nullable=False),  # as frozen, including the problem
    Column("sha256", String(64), nullable=False),
    Column("state", String(8), nullable=False),
    Column("people", Integer, nullable=False),  # planned number of participants; can be raised
    Column("key", String(64), nullable=False),  # of the hashes of recruiters' names
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

participant_link = Table(
    "participant_link",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("participant", String(128), ForeignKey("person.id"), nullable=False),
    Column("created", String(32), nullable=False),
    Column("revoked", String(32)),
    Index("link_participant", "participant"),
)

# Recruiters' names of participants who withdrew, as keyed hashes: they cannot join again. Nothing
# leads from here to an answer.
withdrawn = Table(
    "withdrawn",
    metadata,
    Column("study", String(64), ForeignKey("study.id"), primary_key=True),
    Column("recruiter", String(64), primary_key=True),
)

given_answer = Table(
    "given_answer",
    metadata,
    Column("participant", String(128), ForeignKey("person.id"), primary_key=True),
    Column("stage", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),  # of a quiz, from 0
    Column("what", String(16), nullable=False),  # the kind of step
    Column("answer", Json, nullable=False),
    Column("is_right", Boolean),  # of quizzes and checks
    Column("at", String(32), nullable=False),
)

course = Table(
    "course",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("config", Json, nullable=False),  # what pages look like; may change from start to start
    Column("frozen", Json, nullable=False),  # what must stay the same: cases, tests, plan
    Column("plan", String(64), ForeignKey("plan.sha256"), nullable=False),
    Column("state", String(8), nullable=False),
    Column("picks", String(8), nullable=False),  # what the tutor chooses
    Column("last_case", Integer),  # trainees stop here until the teacher lets them go on
    Column("created", String(32), nullable=False),
    CheckConstraint("state IN ('open', 'paused', 'ended')", name="course_state"),
    CheckConstraint("picks IN ('cases', 'tests', 'plan')", name="course_picks"),
)

trainee = Table(
    "trainee",
    metadata,
    Column("person", String(128), ForeignKey("person.id"), primary_key=True),
    Column("course", String(64), ForeignKey("course.id"), nullable=False),
    Column("name", String(64), nullable=False),
    Column("same_name", String(256), nullable=False),  # equal for names that read alike
    Column("is_removed", Boolean, nullable=False),
    Index("trainee_name", "course", "same_name", unique=True),
)
