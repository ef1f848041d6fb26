"""`preceptor serve token`: make, list and revoke tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from preceptor.cli._console import know_options, readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database, opened, serve_app

token_app = typer.Typer(name="token", no_args_is_help=True)
serve_app.add_typer(token_app)


@token_app.callback()
def _token(context: typer.Context) -> None:
    """Make, list and revoke tokens."""
    know_options(context)


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

        with opened(database) as store:
            secret, made = store.write(lambda c: tokens.create(c, scope, name, days))
    until = "" if made.expires is None else f", until {made.expires[:10]}"
    say(f"Token {made.id} may {made.scope}{until}. Keep it; it is not shown again:")
    typer.echo(secret)


@token_app.command("list")
def list_tokens(database: Database = DEFAULT_DATABASE) -> None:
    """List tokens, without their secrets."""
    with readable_errors():
        from preceptor.store import tokens

        with opened(database) as store:
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

        with opened(database) as store:
            store.write(lambda connection: tokens.revoke(connection, id))
    say(f"Token {id} is revoked.")
