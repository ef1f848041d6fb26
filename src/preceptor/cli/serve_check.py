"""`preceptor serve check`: does what is kept follow from what happened?"""

from __future__ import annotations

from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database, existing, serve_app


@serve_app.command("check")
def check(
    database: Database = DEFAULT_DATABASE,
    after: Annotated[
        str | None,
        typer.Option(help="The hash that an earlier check ended with.", metavar="HASH"),
    ] = None,
) -> None:
    """Rebuild everybody's state from their rounds and events, and compare.

    The service may go on meanwhile. Ends with 1 if something does not follow, and says what. Keep
    the hash elsewhere: with --after, a later check shows whether events were cut off since.
    """
    with readable_errors(), existing(database) as store:
        from preceptor.service.book import Book
        from preceptor.store import chain
        from preceptor.store.checking import check as check_all

        columns_of = Book().columns_of
        found = store.read(lambda connection: check_all(connection, columns_of))
        known = after is None or store.read(lambda c: chain.has(c, after))
    faults = [*found.faults]
    if not known:
        faults.append(f"event: none has the hash {after}; events were cut off or rewritten")
    for fault in faults:
        typer.echo(fault)
    size = f"{found.people:,} people, {found.rounds:,} rounds, {found.events:,} events"
    if faults:
        say(f"{size}: {len(faults):,} faults.")
        raise typer.Exit(1)
    say(f"{size}: everything follows. The chain ends with:")
    typer.echo(found.head)
