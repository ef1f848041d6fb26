"""What commands about studies that are open share: their database, and which study is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from preceptor._base.words import listed
from preceptor.cli.study import need_extra
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.store import Store
    from preceptor.store.studies import KeptStudy

Which = Annotated[
    str | None,
    typer.Argument(help="Its id; may be left out where there is but one.", metavar="[STUDY]"),
]
Reason = Annotated[str, typer.Option(help="Why; kept in the log.", metavar="TEXT")]


def existing_store(database: str) -> Store:
    """A store that must be there already; tables of another version are refused."""
    from preceptor.cli._serving import existing

    need_extra()
    existing(database).close()
    from preceptor.store import Store

    return Store(database)


def named(store: Store, name: str | None) -> KeptStudy:
    """The study that is meant."""
    from preceptor.store import studies

    found = store.read(studies.everyone)
    if not found:
        raise InvalidInput("study: none is here; open one with `preceptor study open FILE`")
    ids = [each.id for each in found]
    if name is None and len(found) == 1:
        return found[0]
    if name is None:
        raise InvalidInput(f"study: there are {len(found)} here ({listed(ids)}); name one")
    for each in found:
        if each.id == name:
            return each
    raise InvalidInput(f"study: {name!r} is not here; here is {listed(ids)}")


def with_reason(reason: str) -> str:
    """A reason that says something."""
    if not reason.strip():
        raise InvalidInput("reason: is empty; say why, it is kept in the log")
    return reason.strip()
