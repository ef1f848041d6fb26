"""`preceptor study links`: personal links, for studies in which only those take part."""

from __future__ import annotations

from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database
from preceptor.cli._study_store import Which, existing_store, named
from preceptor.cli.study import study_app
from preceptor.errors import InvalidInput


@study_app.command("links")
def links(
    people: Annotated[int, typer.Option(help="How many links.", min=1, max=10_000)],
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    address: Annotated[
        str, typer.Option(help="Where participants reach the service.", metavar="URL")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Make personal links, one a line; each is shown this once and leads to one participant.

    For study files with entry = "links" in the table recruiting. Send each link to one person;
    whoever has it goes on where they were, on any device.
    """
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import participants
        from preceptor.study import Study

        kept = named(store, study)
        if not address.startswith(("http://", "https://")):
            raise InvalidInput(f"address: {address!r}, must begin with https:// or http://")
        if not kept.is_open:
            raise InvalidInput(f"study: {kept.id!r} is closed; nobody can begin any more")
        entry = Study.from_json(kept.config).configuration.recruiting.entry
        if entry != "links":
            raise InvalidInput(
                f"study: {kept.id!r} lets in whoever has its address ({address}/s/{kept.id}); "
                'links are for entry = "links" under [recruiting]'
            )
        made = store.write(
            lambda c: [
                participants.new_link(c, participants.join(c, kept.id, kind="real")[0])
                for _ in range(people)
            ]
        )
    for secret in made:
        typer.echo(f"{address.rstrip('/')}/s/{kept.id}/p/{secret}")
    say(f"{people} links. They are not shown again; keep them where only you can read them.")
