"""`preceptor serve check` and `backup`: is what is kept in order, and copied elsewhere?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database, existing, need_extra, serve_app


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
        from preceptor.service.guides import Book
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


@serve_app.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(help="Where nothing is yet.", metavar="FILE")],
    database: Database = DEFAULT_DATABASE,
) -> None:
    """Copy the database, as it is at this moment, while the service goes on.

    The copy is one file, read back before it gets its name, and never takes the place of another.
    To restore it, stop the service and start it with --database FILE. Postgres is backed up by its
    own pg_dump.
    """
    with readable_errors():
        need_extra()
        from preceptor.store.backup import back_up
        from preceptor.store.engines import url_of

        size = back_up(url_of(database), file)
    say(f"Wrote {file} ({size:,} bytes). Check it with: preceptor serve check --database {file}")
