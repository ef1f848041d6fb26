"""What the commands of `preceptor serve` share: their group, their database, their extra."""

from __future__ import annotations

import importlib.util
import ipaddress
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from preceptor.cli._app import app, examples
from preceptor.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from preceptor.service.settings import Settings
    from preceptor.store import Store

DEFAULT_DATABASE = "preceptor.db"
# What an extra brings: who needs it, and the modules by which one sees that it is there.
_SERVES = ("fastapi", "jinja2", "sqlalchemy", "uvicorn")
_NEEDED = {"serve": ("The service", _SERVES), "study": ("A study", (*_SERVES, "pandas"))}

EXAMPLES = examples(
    "preceptor serve --plan plan.json",
    'preceptor serve token create --scope write --name "training tool"',
    "preceptor serve --host 0.0.0.0 --port 8000 --database "
    "postgresql://preceptor@localhost/preceptor",
)

Database = Annotated[
    str,
    typer.Option(
        help="A file, made if it is not there, or postgresql://user@host/name.",
        metavar="FILE|URL",
        envvar="PRECEPTOR_DATABASE",
    ),
]

serve_app = typer.Typer(name="serve", rich_markup_mode="rich", invoke_without_command=True)
app.add_typer(serve_app, epilog=EXAMPLES)


def opened(database: str) -> Store:
    """The store, open; its tables are created where there are none."""
    need_extra()
    from preceptor.store import Store

    return Store(database)


def existing(database: str, *, creates: bool = False) -> Store:
    """A store that must be there already, as it is; `creates` refuses tables of other versions."""
    need_extra()
    from preceptor.store import Store
    from preceptor.store.engines import url_of

    url = url_of(database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise InvalidInput(f"--database: {database} is not there")
    return Store(database, creates=creates)


def need_extra(extra: str = "serve") -> None:
    """Say what to install where something is missing."""
    what, modules = _NEEDED[extra]
    for name in modules:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(name, extra, what)


def shown(database: str) -> str:
    """A database without its password."""
    return database if "@" not in database else f"...@{database.rsplit('@', 1)[1]}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def must_be_locked(store: Store, settings: Settings, host: str) -> None:
    """Nobody listens beyond this machine without a token that tells the owner from others."""
    from preceptor.store import tokens

    live = [each for each in store.read(tokens.everyone) if each.is_live]
    if not settings.loopback and not any(each.scope == "admin" for each in live):
        raise InvalidInput(
            f"--host: {host} can be reached from other machines, but there is no admin token; "
            f"make one first: preceptor serve token create --scope admin --database "
            f"{shown(settings.database)}"
        )


def listening(host: str, port: int) -> socket.socket:
    """A socket that waits for callers."""
    from preceptor.service.serving import listen

    try:
        return listen(host, port)
    except OSError as error:
        raise InvalidInput(
            f"--port: cannot listen at {host}:{port} ({error.strerror}); choose another"
        ) from None
