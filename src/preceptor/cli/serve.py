"""`preceptor serve`: recommend to real people, round by round, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preceptor._base.files import read_text
from preceptor.cli._console import know_options, readable_errors, say
from preceptor.cli._serving import (
    DEFAULT_DATABASE,
    EXAMPLES,
    Database,
    is_loopback,
    listening,
    must_be_locked,
    need_extra,
    serve_app,
    shown,
)

if TYPE_CHECKING:
    from preceptor.service.settings import Settings


@serve_app.callback(epilog=EXAMPLES)
def serve(
    context: typer.Context,
    plan: Annotated[
        Path | None,
        typer.Option(help="The plan for people who are enrolled without one.", metavar="PLAN"),
    ] = None,
    database: Database = DEFAULT_DATABASE,
    host: Annotated[
        str,
        typer.Option(help="Where to listen; beyond this machine only once there is a token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 8000,
    rate: Annotated[
        float, typer.Option(help="Calls a second that a token may make; 0 for any number.", min=0)
    ] = 200.0,
    planners: Annotated[
        int,
        typer.Option(help="Processes in which tutors plan.", min=1, max=64),
    ] = 2,
    patience: Annotated[
        float,
        typer.Option(
            help="Seconds that opening a round waits for a tutor who plans; then it is 503.", min=0
        ),
    ] = 10.0,
    explorer: Annotated[
        bool | None,
        typer.Option(
            "--explorer/--no-explorer",
            help="A page on which anybody can explore plans (default: on this machine only).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Say over HTTP what each person should see now, and keep what happened.

    Everything is kept in one file, or in Postgres. The service answers this machine only; make a
    token to let others in.
    """
    if context.invoked_subcommand is not None:
        know_options(context)
        return
    with readable_errors():
        need_extra()
        from preceptor.service.serving import address_of, run
        from preceptor.service.settings import Settings
        from preceptor.web.site import make_site

        settings = Settings(
            database,
            rate=rate,
            burst=max(int(2 * rate), 1),
            loopback=is_loopback(host),
            explorer=_explorer(explorer, host),
            planners=planners,
            patience=patience,
        )
        settings = _prepared(settings, plan, host)
        made = listening(host, port)
        say(f"Listening at {address_of(made)} (Ctrl-C stops); kept in {shown(database)}")
        if settings.plan is not None:
            say(f"Plan: {settings.plan}")
        run(make_site(settings), made)


def _prepared(settings: Settings, plan: Path | None, host: str) -> Settings:
    """Open the database once, so that whatever is wrong is said before anything listens."""
    from dataclasses import replace

    from preceptor.store import Store, plans

    with Store(settings.database) as store:
        must_be_locked(store, settings, host)
        if plan is None:
            return settings
        from preceptor.plan import Plan

        Plan.load(plan)
        body = read_text(plan)
        name, _ = store.write(lambda connection: plans.keep(connection, body))
        return replace(settings, plan=name)


def _explorer(wanted: bool | None, host: str) -> str:
    """Who may explore plans, unless somebody says: this machine, if it alone can call."""
    if wanted is None:
        return "here" if is_loopback(host) else "nobody"
    return "everybody" if wanted else "nobody"
