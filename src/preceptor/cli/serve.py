"""`preceptor serve`: the HTTP service, checks and backups of its database, and access tokens."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from preceptor._base.files import read_text
from preceptor.cli import _serving
from preceptor.cli._console import Commands, argument, option, say


@_serving.serve_app.callback(epilog=_serving.EXAMPLES)
def serve(
    context: typer.Context,
    plan: Annotated[
        Path | None, option("Default plan for newly enrolled people.", metavar="PLAN")
    ] = None,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    host: _serving.Host = "127.0.0.1",
    port: _serving.Port = 8000,
    public_url: Annotated[
        str | None,
        option("Address of the proxy in front, such as https://study.example.org.", metavar="URL"),
    ] = None,
    trust_this_machine: _serving.TrustThisMachine = False,
    rate: Annotated[
        float, option("Requests per second allowed per token; 0 for no limit.", min=0)
    ] = 200.0,
    planners: Annotated[int, option("Worker processes for tutors.", min=1, max=64)] = 2,
    patience: Annotated[
        float, option("Seconds to wait for a tutor before answering 503.", min=0)
    ] = 10.0,
    explorer: Annotated[
        bool | None,
        option(
            "Serve the public plan explorer (default: on loopback only).",
            "--explorer/--no-explorer",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve recommendations over HTTP, and the pages of studies for participants and owner.

    Data is kept in one SQLite file or in Postgres. By default it listens on this machine only.
    The owner signs in with the printed link; programs need a token, participants need nothing.
    For public use put a web server with HTTPS in front: see docs/operating.md.
    """
    if context.invoked_subcommand is not None:
        return
    _serving.need_extra()
    from preceptor.live.service.app import address_of, run
    from preceptor.live.service.settings import Settings
    from preceptor.live.store import plans, studies
    from preceptor.live.web.site import make_site
    from preceptor.model.plan import Plan

    public = _serving.public_url(public_url)
    is_local = _serving.is_loopback(host) and public is None
    _serving.check_trust(trust_this_machine, is_local=is_local)
    settings = Settings(
        database,
        rate=rate,
        burst=max(int(2 * rate), 1),
        loopback=_serving.is_loopback(host),
        trusts_loopback=trust_this_machine,
        public_url=public,
        owner_secret=secrets.token_urlsafe(16),
        explorer=_explorer(explorer, is_local),
        planners=planners,
        patience=patience,
    )
    # The database is opened first, so that problems are reported before the server listens.
    with _serving.opened(database) as store:
        if plan is not None:
            Plan.load(plan)
            body = read_text(plan)
            settings = replace(settings, plan=store.write(lambda c: plans.keep(c, body))[0])
        found = store.read(studies.everyone)
    made = _serving.listening(host, port)
    address = address_of(made)
    say(f"Listening at {address} (Ctrl-C stops); kept in {_serving.shown(database)}")
    address = public or address
    if settings.plan is not None:
        say(f"Plan: {settings.plan}")
    for each in found:
        closed = "" if each.is_open else " (closed to new participants)"
        say(f"Participants: {address}/s/{each.id}{closed}")
    say(f"Owner, to sign in once: {_serving.owner_link(settings, address)}")
    run(make_site(settings), made)


def _explorer(wanted: bool | None, is_local: bool) -> str:
    """Who may use the explorer: by default only this machine, and no one behind a proxy."""
    if wanted is None:
        return "here" if is_local else "nobody"
    return "everybody" if wanted else "nobody"


@_serving.serve_app.command("check")
def check(
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    after: Annotated[
        str | None, option("Hash reported by an earlier check.", metavar="HASH")
    ] = None,
) -> None:
    """Rebuild all state from rounds and events, and compare it with the stored state.

    The service may keep running. Exits with 1 and lists inconsistencies if there are any. Store
    the hash elsewhere: with --after, a later check detects whether events were removed since.
    """
    with _serving.existing(database) as store:
        from preceptor.live.service.guides import PlanCache
        from preceptor.live.store import chain
        from preceptor.live.store.checking import check as check_all

        columns_of = PlanCache().columns_of
        found = store.read(lambda connection: check_all(connection, columns_of))
        known = after is None or store.read(lambda c: chain.has(c, after))
    faults = [*found.faults]
    if not known:
        faults.append(f"event: none has the hash {after}; events were removed or rewritten")
    for fault in faults:
        typer.echo(fault)
    size = f"{found.people:,} people, {found.rounds:,} rounds, {found.events:,} events"
    if faults:
        say(f"{size}: {len(faults):,} inconsistencies.")
        raise typer.Exit(1)
    say(f"{size}: consistent. The chain ends with:")
    typer.echo(found.head)


@_serving.serve_app.command("backup")
def backup(
    file: Annotated[Path, argument("New file.", "FILE")],
    database: _serving.Database = _serving.DEFAULT_DATABASE,
) -> None:
    """Copy the database while the service keeps running.

    The copy is one file, verified before it gets its name; it never overwrites another file. To
    restore it, stop the service and start it with --database FILE. For Postgres use pg_dump.
    """
    _serving.need_extra()
    from preceptor.live.store.database import back_up, url_of

    size = back_up(url_of(database), file)
    say(f"Wrote {file} ({size:,} bytes). Check it with: preceptor serve check --database {file}")


_ABOUT_TOKENS = "Create, list and revoke access tokens."
token_app = typer.Typer(name="token", cls=Commands, no_args_is_help=True, help=_ABOUT_TOKENS)
_serving.serve_app.add_typer(token_app)


@token_app.command("create")
def create(
    scope: Annotated[
        str, option("Permissions; each scope includes those before it.", metavar="read|write|admin")
    ],
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    name: Annotated[str, option("Purpose of the token.")] = "",
    days: Annotated[float | None, option("Days until it expires (default: never).")] = None,
) -> None:
    """Create a token and print it; it is shown once and stored as a hash."""
    from preceptor.live.store import tokens

    with _serving.opened(database) as store:
        secret, made = store.write(lambda c: tokens.create(c, scope, name, days))
    until = "" if made.expires is None else f", until {made.expires[:10]}"
    say(f"Token {made.id} with scope {made.scope}{until}. Store it; it is not shown again:")
    typer.echo(secret)


@token_app.command("list")
def list_tokens(database: _serving.Database = _serving.DEFAULT_DATABASE) -> None:
    """List tokens and the owner's sessions, without their secrets."""
    from preceptor.live.store import tokens

    with _serving.opened(database) as store:
        found = store.read(tokens.everyone)
    for each in found:
        state = "live" if each.is_live else ("revoked" if each.revoked else "expired")
        typer.echo(f"{each.id}  {each.scope:<7}  {state:<7}  {each.created[:10]}  {each.name}")


@token_app.command("revoke")
def revoke(
    id: Annotated[str, argument("Token id, as listed by `preceptor serve token list`.")],
    database: _serving.Database = _serving.DEFAULT_DATABASE,
) -> None:
    """Revoke a token and its sessions, or a session; services notice within two seconds."""
    from preceptor.live.store import tokens

    with _serving.opened(database) as store:
        store.write(lambda connection: tokens.revoke(connection, id))
    say(f"Token {id} is revoked.")
