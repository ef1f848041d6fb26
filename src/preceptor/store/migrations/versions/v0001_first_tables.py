"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "event",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=128), nullable=True),
        sa.Column("salt", sa.String(length=32), nullable=True),
        sa.Column("payload", sa.Text(), nullable=True),
        sa.Column("payload_sha256", sa.String(length=64), nullable=False),
        sa.Column("prev_sha256", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("event_subject", "event", ["subject"], unique=False)
    op.create_table(
        "plan",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("person", sa.String(length=128), nullable=True),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index("plan_person", "plan", ["person"], unique=False)
    op.create_table(
        "token",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("expires", sa.String(length=32), nullable=True),
        sa.Column("revoked", sa.String(length=32), nullable=True),
        sa.CheckConstraint("scope IN ('read', 'write', 'admin')", name="token_scope"),
        sa.PrimaryKeyConstraint("sha256"),
        sa.UniqueConstraint("id"),
    )
    op.create_table(
        "case_list",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("plan", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["plan"],
            ["plan.sha256"],
        ),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "held_case",
        sa.Column("list", sa.String(length=128), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("values", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["list"],
            ["case_list.name"],
        ),
        sa.PrimaryKeyConstraint("list", "number"),
    )
    op.create_table(
        "person",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("plan", sa.String(length=64), nullable=False),
        sa.Column("plan_since", sa.Integer(), nullable=False),
        sa.Column("policy", sa.String(length=16), nullable=False),
        sa.Column("enrolled_with", sa.Text(), nullable=False),
        sa.Column("case_list", sa.String(length=128), nullable=True),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("seen_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["case_list"],
            ["case_list.name"],
        ),
        sa.ForeignKeyConstraint(
            ["plan"],
            ["plan.sha256"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("person", sa.String(length=128), nullable=True),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=64), nullable=True),
        sa.Column("lease_until", sa.String(length=32), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("finished", sa.String(length=32), nullable=True),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed')", name="job_state"),
        sa.ForeignKeyConstraint(
            ["person"],
            ["person.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("job_state_created", "job", ["state", "created"], unique=False)
    op.create_index(
        "one_live_job_a_person",
        "job",
        ["person"],
        unique=True,
        sqlite_where=sa.text("state IN ('queued', 'running')"),
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "round",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("plan", sa.String(length=64), nullable=False),
        sa.Column("policy", sa.String(length=16), nullable=False),
        sa.Column("opened_with", sa.Text(), nullable=False),
        sa.Column("case_number", sa.Integer(), nullable=True),
        sa.Column("recommended", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("propensity", sa.Double(), nullable=True),
        sa.Column("shown", sa.Text(), nullable=True),
        sa.Column("values", sa.Text(), nullable=True),
        sa.Column("override_reason", sa.Text(), nullable=True),
        sa.Column("prediction", sa.Double(), nullable=True),
        sa.Column("outcome", sa.Double(), nullable=True),
        sa.Column("feedback", sa.Boolean(), nullable=False),
        sa.Column("answered", sa.Integer(), nullable=True),
        sa.Column("heard", sa.Integer(), nullable=True),
        sa.Column("is_check", sa.Boolean(), nullable=False),
        sa.Column("offered_at", sa.String(length=32), nullable=True),
        sa.Column("shown_at", sa.String(length=32), nullable=True),
        sa.Column("predicted_at", sa.String(length=32), nullable=True),
        sa.Column("ended_at", sa.String(length=32), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "status IN ('offered', 'shown', 'predicted', 'told', 'untold', 'abandoned', 'expired')",
            name="round_status",
        ),
        sa.ForeignKeyConstraint(
            ["person"],
            ["person.id"],
        ),
        sa.ForeignKeyConstraint(
            ["plan"],
            ["plan.sha256"],
        ),
        sa.PrimaryKeyConstraint("person", "number"),
    )
    op.create_index(
        "one_open_round",
        "round",
        ["person"],
        unique=True,
        sqlite_where=sa.text("status IN ('offered', 'shown')"),
        postgresql_where=sa.text("status IN ('offered', 'shown')"),
    )
    op.create_index("round_seq", "round", ["seq"], unique=False)
