"""`preceptor study serve` and `preview`: the pages of studies, and a study tried by oneself."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._own_site import open_draft
from preceptor.cli._serving import (
    DEFAULT_DATABASE,
    Database,
    is_loopback,
    listening,
    must_be_locked,
    need_extra,
    opened,
    shown,
)
from preceptor.cli.study import existing_store, study_app

if TYPE_CHECKING:
    from preceptor.store.studies import KeptStudy

Host = Annotated[
    str, typer.Option(help="Where to listen; beyond this machine only once there is a token.")
]
Port = Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)]


@study_app.command("serve")
def serve(
    database: Database = DEFAULT_DATABASE,
    host: Host = "127.0.0.1",
    port: Port = 8000,
) -> None:
    """Let people take part, and watch how it goes, in any browser.

    Participants' pages need nobody's token; the owner's pages ask for an admin token, except on
    this machine as long as there is none. For others to reach it, put a web server with HTTPS in
    front: docs/operating.md shows how.
    """
    with readable_errors():
        with existing_store(database) as store:
            from preceptor.service.settings import Settings
            from preceptor.store import studies, tokens

            settings = Settings(database, loopback=is_loopback(host))
            must_be_locked(store, settings, host)
            found = store.read(studies.everyone)
            has_tokens = bool(store.read(tokens.everyone))
        made = listening(host, port)
        from preceptor.service.serving import address_of, run
        from preceptor.web.site import make_site

        announce(address_of(made), found, database, has_tokens=has_tokens)
        run(make_site(settings), made)


def announce(address: str, found: list[KeptStudy], database: str, *, has_tokens: bool) -> None:
    """Say where everybody finds what is theirs."""
    say(f"Listening at {address} (Ctrl-C stops); kept in {shown(database)}")
    for each in found:
        closed = "" if each.is_open else " (closed: nobody can begin)"
        say(f"Participants: {address}/s/{each.id}{closed}")
    if not found:
        say("No study is open; open one with: preceptor study open FILE")
    say(f"Owner: {address}/studies")
    token = f"preceptor serve token create --scope admin --database {shown(database)}"
    if has_tokens:
        say(f"Sign in with an admin token; another one is made by: {token}")
    else:
        say(f"Nobody else can reach it while there is no token; to sign in, make one: {token}")


@study_app.command("preview")
def preview(
    file: Annotated[Path, typer.Argument(help="The study.", metavar="FILE")],
    port: Port = 0,
    browser: Annotated[bool, typer.Option(help="Open the first page in a browser.")] = True,
) -> None:
    """See a study as participants will, before it is open; nothing is kept, nothing counts.

    The database is in a temporary folder, which is removed at the end. Words that are still to be
    written may be in the file.
    """
    with readable_errors():
        need_extra("study")
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
