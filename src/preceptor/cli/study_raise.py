"""`preceptor study raise`: more people than were registered, with a reason."""

from __future__ import annotations

from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database
from preceptor.cli._study_store import Reason, Which, existing_store, named, with_reason
from preceptor.cli.study import study_app
from preceptor.errors import InvalidInput


@study_app.command("raise")
def raise_people(
    people: Annotated[
        int, typer.Option(help="How many shall finish from now on.", min=1, max=1_000_000)
    ],
    reason: Reason,
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
) -> None:
    """Let more people in than were registered, with a reason that is kept and exported."""
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import studies

        kept, why = named(store, study), with_reason(reason)
        if not kept.is_open:
            raise InvalidInput(f"study: {kept.id!r} is closed; nobody can begin any more")
        store.write(lambda connection: studies.raise_people(connection, kept.id, people, why))
    say(f"Study {kept.id}: {people} people may finish, {kept.people} were registered before.")
