"""`preceptor study`: studies with people, from the file to the analysis.

The group is here, with what its commands share: which study of which database is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from preceptor._base.words import listed
from preceptor.cli._app import app, examples
from preceptor.cli._console import know_options
from preceptor.cli._serving import existing, need_extra
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.store import Store
    from preceptor.store.studies import KeptStudy

EXAMPLES = examples(
    "preceptor study new study.toml --template decisive",
    "preceptor study check study.toml",
    "preceptor study power study.toml --people 10,20,40",
    "preceptor study open study.toml",
    "preceptor study serve",
    "preceptor study status --verify",
)

Which = Annotated[
    str | None,
    typer.Argument(help="Its id; may be left out where there is but one.", metavar="[STUDY]"),
]
Reason = Annotated[str, typer.Option(help="Why; kept in the log.", metavar="TEXT")]

study_app = typer.Typer(name="study", rich_markup_mode="rich", no_args_is_help=True)
app.add_typer(study_app, epilog=EXAMPLES)


@study_app.callback()
def study(context: typer.Context) -> None:
    """Try policies on people: write a study, check it, run it, analyse it."""
    know_options(context)


def existing_store(database: str) -> Store:
    """A store that must be there already; tables of another version are refused."""
    need_extra("study")
    return existing(database, creates=True)


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
