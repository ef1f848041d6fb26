"""`preceptor study preview`: go through a study oneself, in a database that is thrown away."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._own_site import open_draft
from preceptor.cli._serving import listening, opened
from preceptor.cli.study import need_extra, study_app


@study_app.command("preview")
def preview(
    file: Annotated[Path, typer.Argument(help="The study.", metavar="FILE")],
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option(help="Open the first page in a browser.")] = True,
) -> None:
    """See a study as participants will, before it is open; nothing is kept, nothing counts.

    The database is in a temporary folder, which is removed at the end. Words that are still to be
    written may be in the file.
    """
    with readable_errors():
        need_extra()
        from preceptor.service.serving import address_of, run
        from preceptor.service.settings import Settings
        from preceptor.store import participants
        from preceptor.study import Study
        from preceptor.web.site import make_site

        study = Study.load(file)
        with tempfile.TemporaryDirectory(prefix="preceptor-") as folder:
            database = str(Path(folder) / "preview.db")
            with opened(database) as store:
                open_draft(store, study)
                secret = store.write(
                    lambda c: participants.new_link(
                        c, participants.join(c, study.id, kind="preview")[0]
                    )
                )
            made = listening("127.0.0.1", port)
            address = address_of(made)
            link = f"{address}/s/{study.id}/p/{secret}"
            say(f"Listening at {address} (Ctrl-C stops and forgets everything)")
            say(f"Owner: {address}/studies")
            typer.echo(link)
            if browser:
                webbrowser.open(link)
            run(make_site(Settings(database)), made)
