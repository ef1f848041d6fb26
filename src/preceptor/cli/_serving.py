"""Shared by `preceptor serve` and `study`: the database, required extras, and a temporary site."""

from __future__ import annotations

import importlib.util
import ipaddress
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from preceptor.cli._app import app, examples
from preceptor.cli._console import Commands, option, spinner
from preceptor.errors import InvalidInput, MissingExtra, PreceptorError

if TYPE_CHECKING:
    from preceptor.live.service.settings import Settings
    from preceptor.live.store.database import Store
    from preceptor.live.study.study import Study

DEFAULT_DATABASE = "preceptor.db"
# For each extra: what needs it, and modules whose presence shows that it is installed.
_SERVES = ("fastapi", "jinja2", "sqlalchemy", "uvicorn")
_NEEDED = {"serve": ("The service", _SERVES), "study": ("A study", (*_SERVES, "pandas"))}

EXAMPLES = examples(
    "preceptor serve --plan plan.json",
    'preceptor serve token create --scope write --name "training tool"',
    "preceptor serve --host 0.0.0.0 --port 8000 --database "
    "postgresql://preceptor@localhost/preceptor",
)

Host = Annotated[str, option("Interface to listen on; 0.0.0.0 for all, such as in a container.")]
Port = Annotated[int, option("Port; 0 picks a free one.", min=0, max=65535)]
Database = Annotated[
    str,
    option(
        "SQLite file (created if missing) or postgresql://user@host/name.",
        metavar="FILE|URL",
        envvar="PRECEPTOR_DATABASE",
    ),
]

TrustThisMachine = Annotated[
    bool,
    option(
        "While there are no tokens, programs on this machine need none. Not behind a proxy.",
        "--trust-this-machine",
    ),
]

serve_app = typer.Typer(
    name="serve", cls=Commands, rich_markup_mode="rich", invoke_without_command=True
)
app.add_typer(serve_app, epilog=EXAMPLES)


def opened(database: str) -> Store:
    """Open the store and create its tables if needed."""
    need_extra()
    from preceptor.live.store.database import Store

    return Store(database)


def existing(database: str, *, creates: bool = False) -> Store:
    """Open a store that must exist; `creates` refuses tables of another version."""
    need_extra()
    from preceptor.live.store.database import Store, url_of

    url = url_of(database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise InvalidInput(f"--database: {database} does not exist")
    return Store(database, creates=creates)


def need_extra(extra: str = "serve") -> None:
    """Raise `MissingExtra` if the packages of an extra are not installed."""
    what, modules = _NEEDED[extra]
    for name in modules:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(name, extra, what)


def shown(database: str) -> str:
    """The database URL without its password."""
    return database if "@" not in database else f"...@{database.rsplit('@', 1)[1]}"


def is_loopback(host: str) -> bool:
    """Whether a host name is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def public_url(given: str | None) -> str | None:
    """Check the address that browsers use; pages link to paths from its root."""
    if given is None:
        return None
    url = urlsplit(given)
    if url.scheme not in ("http", "https") or not url.netloc or url.path.strip("/") or url.query:
        raise InvalidInput(
            f"--public-url: {given!r}, must be scheme and host without a path, such as "
            "https://study.example.org"
        )
    return f"{url.scheme}://{url.netloc}"


def check_trust(trusts: bool, *, is_local: bool) -> None:
    """Refuse `--trust-this-machine` where calls of strangers may come from this machine."""
    if trusts and not is_local:
        raise InvalidInput(
            "--trust-this-machine: behind a proxy or with another --host, strangers would need no "
            "token either; create one: preceptor serve token create"
        )


def owner_link(settings: Settings, address: str, back: str = "/studies") -> str:
    """The link that signs the owner in, once."""
    return f"{address}/studies/enter?back={back}&secret={settings.owner_secret}"


def listening(host: str, port: int) -> socket.socket:
    """A listening socket."""
    from preceptor.live.service.app import listen

    try:
        return listen(host, port)
    except OSError as error:
        raise InvalidInput(
            f"--port: cannot listen at {host}:{port} ({error.strerror}); choose another"
        ) from None


_SAYS = "Listening at "


def open_draft(store: Store, study: Study) -> None:
    """Open a study that may still contain placeholders; it is not registered."""
    from preceptor.live.study import opening
    from preceptor.live.study.arms import make_arms
    from preceptor.live.study.registration import freeze

    with spinner("solving") as progress:
        arms = make_arms(study, progress)
    registration = freeze(study, arms, is_draft=True)
    store.write(lambda c: opening.keep(c, study, arms, registration))


@contextmanager
def own_site(study: Study) -> Iterator[str]:
    """Serve the study for the duration of the block and yield its URL; nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="preceptor-") as folder:
        database = str(Path(folder) / "bots.db")
        with opened(database) as store:
            open_draft(store, study)
        with own_server(database) as address:
            yield f"{address}/s/{study.id}"


@contextmanager
def own_server(database: str) -> Iterator[str]:
    """Serve a database on this machine for the duration of the block and yield the address."""
    with tempfile.TemporaryDirectory(prefix="preceptor-") as folder:
        command = [sys.executable, "-m", "preceptor", "serve", "--port", "0", "--rate", "0"]
        command.append("--trust-this-machine")
        said = Path(folder) / "said.txt"
        with said.open("w") as file:
            serving = subprocess.Popen([*command, "--database", database], stderr=file)
        try:
            yield _address(serving, said)
        finally:
            serving.terminate()
            serving.wait()


def _address(serving: subprocess.Popen[bytes], said: Path) -> str:
    """Wait until the server reports its address, after which it accepts connections."""
    while True:
        output = said.read_text()
        if serving.poll() is not None:
            raise PreceptorError(f"the service did not start: {output.strip()}")
        said_at = output.partition(_SAYS)[2]
        if "\n" in said_at:
            return said_at.split()[0]
        time.sleep(0.05)
