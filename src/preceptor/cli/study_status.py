"""`preceptor study status`: who is where, who left, how full the arms are, and is all in order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from preceptor._base.words import counted, percent
from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database
from preceptor.cli._study_store import Which, existing_store, named
from preceptor.cli.study import study_app
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.study.standing import Standing
    from preceptor.study.verifying import Verified

_NOUNS = {"real": "participant", "bot": "bot", "preview": "preview"}
KINDS = ("real", "bot", "preview")
Kind = Annotated[
    str, typer.Option(help="Whom to count; they are never added up.", metavar="real|bot|preview")
]


@study_app.command("status")
def status(
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    kind: Kind = "real",
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute the hash, and rebuild everything.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how a study stands: people by arm and stage, drop-out, pace, balance.

    With --verify, the registered hash is computed again from what is kept, the chain of events is
    followed, and rounds, people and assignments are rebuilt from it; ends with 1 if anything does
    not follow.
    """
    with readable_errors(), existing_store(database) as store:
        from preceptor.service.guides import Book
        from preceptor.study import Study, standing
        from preceptor.study.verifying import verify as verify_all

        check_kind(kind)
        kept = named(store, study)
        read = Study.from_json(kept.config)
        found = store.read(lambda connection: standing.standing(connection, kept, read, kind))
        checked = None
        if verify:
            columns = Book().columns_of
            checked = store.read(lambda connection: verify_all(connection, kept, columns))
    typer.echo(_in_json(found, checked) if as_json else _in_words(found, checked))
    if checked is not None and checked.faults:
        say(f"{len(checked.faults)} faults: something was changed behind the service's back.")
        raise typer.Exit(1)


def check_kind(kind: str) -> None:
    """Refuse other words."""
    if kind not in KINDS:
        raise InvalidInput(f"kind: {kind!r}, must be one of {', '.join(KINDS)}")


def _in_json(found: Standing, checked: Verified | None) -> str:
    said: dict[str, Any] = found.to_dict()
    if checked is not None:
        said["verified"] = {
            "registration": checked.registration,
            "head": checked.checked.head,
            "faults": list(checked.faults),
        }
    return json.dumps(said, indent=2)


def _in_words(found: Standing, checked: Verified | None) -> str:
    whom = {"real": "people", "bot": "bots", "preview": "previews"}[found.kind]
    counts = ", ".join(f"{count} {name}" for name, count in found.statuses.items() if count)
    lines = [
        f"{found.title} ({found.id}), {found.state} since {(found.closed or found.opened)[:10]}",
        f"{found.completed} of {found.people} {whom} have finished: {counts or 'nobody came yet'}.",
    ]
    if found.invited:
        lines.append(f"{found.invited} have a link and have not begun.")
    lines += ["", *_arm_lines(found), "", *_block_lines(found), ""]
    last = sum(found.per_minute[-5:]) / 5.0
    lines.append(f"{found.answers:,} answers; {last:g} a minute in the last five minutes.")
    if found.days_to_go is not None and found.a_day is not None:
        lines.append(
            f"{found.a_day:.3g} finish a day; at this pace {found.days_to_go:.2g} days to go."
        )
    others = ", ".join(
        counted(count, _NOUNS[name]) for name, count in found.others.items() if count
    )
    if others:
        lines.append(f"Not counted: {others}.")
    if found.unblinded:
        lines.append(f"Unblinded on {found.unblinded[:10]}.")
    if checked is not None:
        lines += ["", *_checked_lines(checked)]
    return "\n".join(lines)


def _arm_lines(found: Standing) -> list[str]:
    wide = max(len(arm.name) for arm in found.arms)
    lines = [f"{'arm':<{wide}}  assigned  active  finished  left"]
    for arm in found.arms:
        ends = "" if arm.is_open else "  closed"
        if arm.cap is not None:
            ends += f"  at most {arm.cap}"
        lines.append(
            f"{arm.name:<{wide}}  {arm.assigned:>8}  {arm.active:>6}  {arm.completed:>8}  "
            f"{arm.left:>4}{ends}"
        )
    return [*lines, f"Arms differ by {found.imbalance}."]


def _block_lines(found: Standing) -> list[str]:
    wide = max(len(block.title) for block in found.blocks)
    lines = [f"   {'block':<{wide}}  there now  reached  left"]
    for block in found.blocks:
        now = sum(block.now.values())
        share = f"  {percent(block.drop_out)} of them" if block.left else ""
        lines.append(
            f"{block.number:>2} {block.title:<{wide}}  {now:>9}  {block.reached:>7}  "
            f"{block.left:>4}{share}"
        )
    return lines


def _checked_lines(checked: Verified) -> list[str]:
    lines = [f"Registration: {checked.registration}", f"Chain ends with: {checked.checked.head}"]
    if checked.faults:
        return [*lines, *checked.faults]
    size = checked.checked
    return [
        *lines,
        f"{size.events:,} events, {size.rounds:,} rounds, {size.people:,} people: all follows.",
    ]
