"""`preceptor study serve`: the pages of open studies, for participants and for their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import (
    DEFAULT_DATABASE,
    Database,
    is_loopback,
    listening,
    must_be_locked,
    shown,
)
from preceptor.cli._study_store import existing_store
from preceptor.cli.study import study_app

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
    rate: Annotated[
        float, typer.Option(help="Calls a second that a token may make; 0 for any number.", min=0)
    ] = 200.0,
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

            settings = Settings(
                database, rate=rate, burst=max(int(2 * rate), 1), loopback=is_loopback(host)
            )
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
