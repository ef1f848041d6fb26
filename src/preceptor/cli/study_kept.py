"""Commands about a study that is open: `status`, `export`, `raise`, `close`, `unblind`, `links`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor.cli._options as _options
from preceptor._base.words import counted, percent
from preceptor.cli._console import echo_json, readable_errors, say, spinner
from preceptor.cli._serving import DEFAULT_DATABASE, Database
from preceptor.cli.study import Reason, Which, existing_store, named, study_app, with_reason
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.store.studies import KeptStudy
    from preceptor.study.standing import Standing
    from preceptor.study.verifying import Verified

KINDS = {"real": "participant", "bot": "bot", "preview": "preview"}
Kind = Annotated[
    str, typer.Option(help="Whom to count; they are never added up.", metavar="|".join(KINDS))
]


@study_app.command("status")
def status(
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    kind: Kind = "real",
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute the hash, and rebuild everything.")
    ] = False,
    as_json: _options.AsJson = False,
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

        _check_kind(kind)
        kept = named(store, study)
        read = Study.from_json(kept.config)
        found = store.read(lambda connection: standing.standing(connection, kept, read, kind))
        checked = None
        if verify:
            columns = Book().columns_of
            checked = store.read(lambda connection: verify_all(connection, kept, columns))
    if as_json:
        echo_json(_as_data(found, checked))
    else:
        typer.echo(_in_words(found, checked))
    if checked is not None and checked.faults:
        say(f"{len(checked.faults)} faults: something was changed behind the service's back.")
        raise typer.Exit(1)


def _check_kind(kind: str) -> None:
    """Refuse other words."""
    if kind not in KINDS:
        raise InvalidInput(f"kind: {kind!r}, must be one of {', '.join(KINDS)}")


def _as_data(found: Standing, checked: Verified | None) -> dict[str, Any]:
    said: dict[str, Any] = found.to_dict()
    if checked is not None:
        said["verified"] = {
            "registration": checked.registration,
            "head": checked.checked.head,
            "faults": list(checked.faults),
        }
    return said


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
    others = ", ".join(counted(count, KINDS[name]) for name, count in found.others.items() if count)
    if others:
        lines.append(f"Not counted: {others}.")
    if found.unblinded:
        lines.append(f"Unblinded on {found.unblinded[:10]}.")
    if checked is not None:
        lines += ["", *_checked_lines(checked)]
    return "\n".join(lines)


def _arm_lines(found: Standing) -> list[str]:
    rows = []
    for arm in found.arms:
        cap = "" if arm.cap is None else f"at most {arm.cap}"
        notes = [*([] if arm.is_open else ["closed"]), *([cap] if cap else [])]
        counts = (arm.assigned, arm.active, arm.completed, arm.left)
        rows.append((arm.name, *map(str, counts), ", ".join(notes)))
    head = ("arm", "assigned", "active", "finished", "left", "")
    return [*_aligned(head, rows), f"Arms differ by {found.imbalance}."]


def _block_lines(found: Standing) -> list[str]:
    rows = []
    for block in found.blocks:
        counts = (sum(block.now.values()), block.reached, block.left)
        share = f"{percent(block.drop_out)} of them" if block.left else ""
        rows.append((f"{block.number:>2} {block.title}", *map(str, counts), share))
    return _aligned(("   block", "there now", "reached", "left", ""), rows)


def _aligned(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """A table: names on the left, numbers in columns, remarks at the end."""
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  ".join([name.ljust(wide[0]), *map(str.rjust, numbers, wide[1:-1]), remark]).rstrip()
        for name, *numbers, remark in (head, *rows)
    ]


def _checked_lines(checked: Verified) -> list[str]:
    lines = [f"Registration: {checked.registration}", f"Chain ends with: {checked.checked.head}"]
    if checked.faults:
        return [*lines, *checked.faults]
    size = checked.checked
    return [
        *lines,
        f"{size.events:,} events, {size.rounds:,} rounds, {size.people:,} people: all follows.",
    ]


@study_app.command("export")
def export(
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Where nothing is yet; else a name with the study's id, here.", metavar="PATH"
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="With times of day, comments and codes; not to be passed on."),
    ] = False,
    zipped: Annotated[bool, typer.Option("--zip", help="One file instead of a folder.")] = False,
    kind: Kind = "real",
) -> None:
    """Write data, log, codebook, registration and analysis as a Psych-DS folder.

    People have new random names, and times of day and comments are left out, unless it is --full.
    analysis/analysis.py in it carries out the registered analysis with numpy, scipy and pandas
    alone, and statsmodels for a mixed model. Data of people can be had once the study is unblinded,
    bots' always.
    """
    with readable_errors(), existing_store(database) as store:
        from preceptor.study.export import export as export_all

        _check_kind(kind)
        kept = named(store, study)
        name = f"{kept.id}-{'full' if full else 'data'}{'.zip' if zipped else ''}"
        with spinner("Exporting") as progress:
            made = export_all(
                store,
                kept.id,
                Path(name) if output is None else output,
                who="command line",
                kind=kind,
                full=full,
                zipped=zipped,
                progress=progress,
            )
    typer.echo(made.result)
    say(f"Wrote {made.path}: {made.people} participants, {made.rounds:,} rounds.")


@study_app.command("raise")
def raise_people(
    people: Annotated[
        int, typer.Option(help="How many shall finish from now on.", min=1, max=1_000_000)
    ],
    reason: Reason,
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
) -> None:
    """Let more people in than were registered, with a reason that is kept and exported."""
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import studies

        kept, why = named(store, study), with_reason(reason)
        _must_be_open(kept)
        store.write(lambda connection: studies.raise_people(connection, kept.id, people, why))
    say(f"Study {kept.id}: {people} people may finish, {kept.people} were registered before.")


@study_app.command("close")
def close(
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    arm: Annotated[str | None, typer.Option(help="Only this arm.")] = None,
    reason: Reason = "",
) -> None:
    """Let nobody in any more, to a study or to one of its arms; whoever is at it may finish.

    Needs a reason, unless everybody who was to finish has. It cannot be undone.
    """
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import participants, studies

        kept = named(store, study)
        people = store.read(lambda c: participants.everyone(c, kept.id, "real"))
        finished = sum(who.status == "completed" for who in people)
        is_full = arm is None and finished >= kept.people
        why = "all have finished" if is_full and not reason else with_reason(reason)
        if arm is None:
            if not kept.is_open:
                say(f"Study {kept.id} was closed on {str(kept.closed)[:10]}; nothing has changed.")
                return
            store.write(lambda connection: studies.close(connection, kept.id, why))
        else:
            store.write(lambda connection: studies.close_arm(connection, kept.id, arm, why))
    what = f"Study {kept.id}" if arm is None else f"Arm {arm} of {kept.id}"
    say(f"{what} is closed; {finished} of {kept.people} people have finished.")


@study_app.command("unblind")
def unblind(
    reason: Reason,
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
) -> None:
    """Show results by arm from now on, and allow exports; that and why is kept in the log."""
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import studies

        kept, why = named(store, study), with_reason(reason)
        store.write(lambda c: studies.unblind(c, kept.id, "command line", why))
    again = "" if kept.unblinded is None else f" (it was on {kept.unblinded[:10]} already)"
    say(f"Study {kept.id} is unblinded{again}; the reason is in the log.")


@study_app.command("links")
def links(
    people: Annotated[int, typer.Option(help="How many links.", min=1, max=10_000)],
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    address: Annotated[
        str, typer.Option(help="Where participants reach the service.", metavar="URL")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Make personal links, one a line; each is shown this once and leads to one participant.

    For study files with entry = "links" in the table recruiting. Send each link to one person;
    whoever has it goes on where they were, on any device.
    """
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import participants
        from preceptor.study import Study

        kept = named(store, study)
        if not address.startswith(("http://", "https://")):
            raise InvalidInput(f"address: {address!r}, must begin with https:// or http://")
        _must_be_open(kept)
        entry = Study.from_json(kept.config).configuration.recruiting.entry
        if entry != "links":
            raise InvalidInput(
                f"study: {kept.id!r} lets in whoever has its address ({address}/s/{kept.id}); "
                'links are for entry = "links" under [recruiting]'
            )
        made = store.write(
            lambda c: [
                participants.new_link(c, participants.join(c, kept.id, kind="real")[0])
                for _ in range(people)
            ]
        )
    for secret in made:
        typer.echo(f"{address.rstrip('/')}/s/{kept.id}/p/{secret}")
    say(f"{people} links. They are not shown again; keep them where only you can read them.")


def _must_be_open(kept: KeptStudy) -> None:
    if not kept.is_open:
        raise InvalidInput(f"study: {kept.id!r} is closed; nobody can begin any more")
