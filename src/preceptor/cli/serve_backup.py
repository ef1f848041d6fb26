"""`preceptor serve backup`: copy the database while the service goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database, need_extra, serve_app


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
