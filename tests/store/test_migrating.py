"""From older tables to newer ones: everything stays, or nothing has happened."""

from __future__ import annotations

import shutil

import pytest
from sqlalchemy import inspect

from preceptor.store import Store, chain, migrating, people
from tests.store.test_store import enrolled, played

STEP = '''
"""A later step."""
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0003", "0002", None, None


def upgrade() -> None:
    op.create_table("later", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("person", sa.Column("mood", sa.String(8), nullable=True))
    {then}
'''


@pytest.fixture
def later(tmp_path, monkeypatch):
    """Gives the next version of the program, whose tables need one step more."""

    def update(then: str) -> None:
        steps = tmp_path / "migrations"
        if not steps.exists():
            shutil.copytree(migrating._STEPS, steps)
        (steps / "versions" / "v9999_later.py").write_text(STEP.replace("{then}", then))
        monkeypatch.setattr(migrating, "_STEPS", steps)

    return update


def test_older_tables_are_brought_up_to_date_and_keep_everything(store, database, later):
    played(store, enrolled(store))
    before = store.read(lambda c: people.find(c, "ann")), store.read(chain.verify)
    later("pass")
    with Store(database) as newer:
        assert newer.read(lambda c: inspect(c).has_table("later"))
        assert newer.read(migrating.current) == "0003"
        after = newer.read(lambda c: c.exec_driver_sql("SELECT * FROM person").one())
        assert (after.id, after.answers, after.mood) == ("ann", 1, None)
        assert newer.read(chain.verify) == before[1]


def test_a_step_that_fails_leaves_nothing_behind(store, database, later):
    played(store, enrolled(store))
    later('op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(Exception, match="database"):
        Store(database)
    assert not store.read(lambda c: inspect(c).has_table("later"))
    assert store.read(migrating.current) == "0002"
    played(store, "ann")  # the program of before goes on
    later("pass")
    with Store(database) as newer:
        assert newer.read(lambda c: c.exec_driver_sql("SELECT answers FROM person").scalar()) == 2
