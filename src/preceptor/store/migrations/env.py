"""Alembic's door: runs the steps on the connection that `migrating` hands over."""

from __future__ import annotations

from alembic import context

from preceptor.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=False,  # the caller's transaction holds all of it
)
context.run_migrations()
