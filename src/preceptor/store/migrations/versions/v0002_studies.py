"""Studies, their arms and participants."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_FILLS = sa.text("status IN ('active', 'completed') AND place IS NOT NULL AND NOT is_lapsed")


def upgrade() -> None:
    """Make their tables."""
    op.create_table(
        "study",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("people", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("registration", sa.Text(), nullable=False),
        sa.Column("registration_sha256", sa.String(length=64), nullable=False),
        sa.Column("opened", sa.String(length=32), nullable=False),
        sa.Column("closed", sa.String(length=32), nullable=True),
        sa.Column("unblinded", sa.String(length=32), nullable=True),
        sa.CheckConstraint("state IN ('open', 'closed')", name="study_state"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "participant",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.Integer(), nullable=False),
        sa.Column("quizzes", sa.Integer(), nullable=False),
        sa.Column("arm", sa.String(length=64), nullable=True),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.Column("draw", sa.Integer(), nullable=True),
        sa.Column("is_lapsed", sa.Boolean(), nullable=False),
        sa.Column("recruiter", sa.String(length=64), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("seen_at", sa.String(length=32), nullable=False),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.CheckConstraint("kind IN ('real', 'bot', 'preview')", name="participant_kind"),
        sa.CheckConstraint(
            "status IN ('active', 'completed', 'withdrawn', 'screened out', 'no consent')",
            name="participant_status",
        ),
        sa.ForeignKeyConstraint(
            ["study"],
            ["study.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "one_person_a_place",
        "participant",
        ["study", "kind", "arm", "place"],
        unique=True,
        sqlite_where=_FILLS,
        postgresql_where=_FILLS,
    )
    op.create_index(
        "participant_recruiter", "participant", ["study", "kind", "recruiter"], unique=True
    )
    op.create_table(
        "study_arm",
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("policy", sa.String(length=16), nullable=False),
        sa.Column("plan", sa.String(length=64), nullable=False),
        sa.Column("cap", sa.Integer(), nullable=True),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["plan"],
            ["plan.sha256"],
        ),
        sa.ForeignKeyConstraint(
            ["study"],
            ["study.id"],
        ),
        sa.PrimaryKeyConstraint("study", "name"),
    )
    op.create_table(
        "given_answer",
        sa.Column("participant", sa.String(length=32), nullable=False),
        sa.Column("stage", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("is_right", sa.Boolean(), nullable=True),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"],
            ["participant.id"],
        ),
        sa.PrimaryKeyConstraint("participant", "stage", "attempt"),
    )
    op.create_table(
        "participant_link",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("participant", sa.String(length=32), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("revoked", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["participant"],
            ["participant.id"],
        ),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("link_participant", "participant_link", ["participant"], unique=False)
