"""`preceptor serve`: recommend to real people, round by round, over HTTP."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preceptor._base.files import read_text
from preceptor.cli._app import app
from preceptor.cli._console import readable_errors, say
from preceptor.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from preceptor.service.settings import Settings
    from preceptor.store import Store

DEFAULT_DATABASE = "preceptor.db"

_EXAMPLES = """[bold]Examples[/bold]

  preceptor serve --plan plan.json

  preceptor serve token create --scope write --name "training tool"

  preceptor serve --host 0.0.0.0 --port 8000 --database postgresql://preceptor@localhost/preceptor
"""

Database = Annotated[
    str,
    typer.Option(
        help="A file, made if it is not there, or postgresql://user@host/name.",
        metavar="FILE|URL",
        envvar="PRECEPTOR_DATABASE",
    ),
]

serve_app = typer.Typer(name="serve", rich_markup_mode="rich", invoke_without_command=True)
token_app = typer.Typer(name="token", help="Make, list and revoke tokens.", no_args_is_help=True)
serve_app.add_typer(token_app)
app.add_typer(serve_app, epilog=_EXAMPLES)


@serve_app.callback(epilog=_EXAMPLES)
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
    workers: Annotated[int, typer.Option(help="Processes that answer.", min=1, max=64)] = 1,
    rate: Annotated[
        float, typer.Option(help="Calls a second that a token may make; 0 for any number.", min=0)
    ] = 200.0,
    expire_after: Annotated[
        float | None,
        typer.Option(help="Hours after which a round that nobody answers expires.", min=0.001),
    ] = None,
) -> None:
    """Say over HTTP what each person should see now, and keep what happened.

    Everything is kept in one file, or in Postgres. The service answers this machine only; make a
    token to let others in.
    """
    if context.invoked_subcommand is not None:
        return
    with readable_errors():
        _need_extra()
        from preceptor.service.serving import address_of, listen, run
        from preceptor.service.settings import Settings

        seconds = None if expire_after is None else 3600.0 * expire_after
        settings = Settings(
            database,
            rate=rate,
            burst=max(int(2 * rate), 1),
            expire_after=seconds,
            loopback=_is_loopback(host),
        )
        settings = _prepared(settings, plan, host)
        try:
            made = listen(host, port)
        except OSError as error:
            raise InvalidInput(
                f"--port: cannot listen at {host}:{port} ({error.strerror}); choose another"
            ) from None
        say(f"Listening at {address_of(made)} (Ctrl-C stops); kept in {_shown(database)}")
        if settings.plan is not None:
            say(f"Plan: {settings.plan}")
        run(settings, made, workers)


def _prepared(settings: Settings, plan: Path | None, host: str) -> Settings:
    """Open the database once, so that whatever is wrong is said before anything listens."""
    from dataclasses import replace

    from preceptor.store import Store, plans, tokens

    with Store(settings.database) as store:
        live = [each for each in store.read(tokens.everyone) if each.is_live]
        if not settings.loopback and not any(each.scope == "admin" for each in live):
            raise InvalidInput(
                f"--host: {host} can be reached from other machines, but there is no admin token; "
                f"make one first: preceptor serve token create --scope admin --database "
                f"{_shown(settings.database)}"
            )
        if plan is None:
            return settings
        from preceptor.cli._plans import load_plan

        load_plan(plan)
        body = read_text(plan)
        name, _ = store.write(lambda connection: plans.keep(connection, body))
        return replace(settings, plan=name)


@token_app.command("create")
def create(
    scope: Annotated[
        str,
        typer.Option(
            help="What it may do; each may do what those before it may.", metavar="read|write|admin"
        ),
    ],
    database: Database = DEFAULT_DATABASE,
    name: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[
        float | None, typer.Option(help="After how many days it ends; never if left out.")
    ] = None,
) -> None:
    """Make a token and print it: it is shown this once and kept as a hash."""
    with readable_errors():
        from preceptor.store import tokens

        with _opened(database) as store:
            secret, made = store.write(lambda c: tokens.create(c, scope, name, days))
    until = "" if made.expires is None else f", until {made.expires[:10]}"
    say(f"Token {made.id} may {made.scope}{until}. Keep it; it is not shown again:")
    typer.echo(secret)


@token_app.command("list")
def list_tokens(database: Database = DEFAULT_DATABASE) -> None:
    """List tokens, without their secrets."""
    with readable_errors():
        from preceptor.store import tokens

        with _opened(database) as store:
            found = store.read(tokens.everyone)
    for each in found:
        state = "live" if each.is_live else ("revoked" if each.revoked else "expired")
        typer.echo(f"{each.id}  {each.scope:<5}  {state:<7}  {each.created[:10]}  {each.name}")


@token_app.command("revoke")
def revoke(
    id: Annotated[str, typer.Argument(help="As `preceptor serve token list` shows it.")],
    database: Database = DEFAULT_DATABASE,
) -> None:
    """End a token; running services know within two seconds."""
    with readable_errors():
        from preceptor.store import tokens

        with _opened(database) as store:
            store.write(lambda connection: tokens.revoke(connection, id))
    say(f"Token {id} is revoked.")


def _opened(database: str) -> Store:
    _need_extra()
    from preceptor.store import Store

    return Store(database)


def _need_extra() -> None:
    try:
        import alembic  # noqa: F401
        import fastapi  # noqa: F401
        import sqlalchemy  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise MissingExtra(str(missing.name), "serve", "The service") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _shown(database: str) -> str:
    """A database without its password."""
    return database if "@" not in database else f"...@{database.rsplit('@', 1)[1]}"
