"""`preceptor study`: write a study, check it, open it, follow it, preview it, send bots there."""

from __future__ import annotations

import re
import secrets
import tempfile
import webbrowser
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import preceptor.cli._options as _options
from preceptor._base.files import naming, read_json, read_text, write_bytes, write_text
from preceptor._base.words import aligned, counted, listed, percent
from preceptor.cli import _serving
from preceptor.cli._app import app, examples
from preceptor.cli._console import Commands, argument, check_target, option, say, show, spinner
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.simulation.named import HUMAN_NAMES

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from preceptor.live.bots import Attended
    from preceptor.live.store.database import Store
    from preceptor.live.store.studies import KeptStudy
    from preceptor.live.study.status import ParticipantRow, StudyCheck, StudyStatus


EXAMPLES = examples(
    "preceptor study new study.toml --template decisive",
    "preceptor study check study.toml",
    "preceptor study power study.toml --people 10,20,40",
    "preceptor study open study.toml",
    "preceptor serve",
    "preceptor study status --verify",
)

Which = Annotated[
    str | None, argument("Study id (optional if the database has only one).", "[STUDY]")
]
Reason = Annotated[str, option("Reason, kept in the log.", metavar="TEXT")]

study_app = typer.Typer(
    name="study",
    cls=Commands,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Run experiments with participants: write a study, check it, run it, analyse it.",
)
app.add_typer(study_app, epilog=EXAMPLES)


@contextmanager
def kept_study(
    database: str, name: str | None, *, is_open: bool = False
) -> Iterator[tuple[Store, KeptStudy]]:
    """Open the database and find a study by id, or the only one.

    Tables of another version are refused, and with `is_open` so is a closed study.
    """
    _serving.need_extra("study")
    from preceptor.live.store import studies

    with _serving.existing(database, creates=True) as store:
        there = {each.id: each for each in store.read(studies.everyone)}
        if not there:
            raise InvalidInput(
                "study: the database has none; open one with `preceptor study open FILE`"
            )
        ids = listed(list(there))
        if name is None and len(there) > 1:
            raise InvalidInput(f"study: the database has {len(there)} ({ids}); name one")
        found = there.get(name or next(iter(there)))
        if found is None:
            raise InvalidInput(f"study: {name!r} does not exist; the database has {ids}")
        if is_open and not found.is_open:
            raise InvalidInput(f"study: {found.id!r} is closed to new participants")
        yield store, found


def with_reason(reason: str) -> str:
    """Return a non-empty reason."""
    if not reason.strip():
        raise InvalidInput("reason: empty; give one, it is kept in the log")
    return reason.strip()


StudyFile = Annotated[Path, argument("Study file.", "FILE")]

_NEW = examples("preceptor study new --list", "preceptor study new study.toml --template decisive")


@study_app.command("new", epilog=_NEW)
def new(
    file: Annotated[Path | None, argument("Study file to write (.toml).", "FILE")] = None,
    template: Annotated[str, option("Template to start from; --list shows all.")] = "plan-or-fixed",
    seed: Annotated[
        int | None, option("Random seed of cases and arms (default: drawn).", min=0, max=2**53 - 1)
    ] = None,
    list_all: Annotated[bool, option("List the templates.", "--list")] = False,
) -> None:
    """Write a commented study file from a template."""
    _serving.need_extra("study")
    from preceptor.live.study.registration import (
        from_template,
        headline,
        placeholders,
        template_names,
    )
    from preceptor.live.study.study import Study

    if list_all:
        for name in template_names():
            typer.echo(f"{name:<20} {headline(name)}")
        return
    if file is None:
        raise InvalidInput("FILE: missing; name the file to write, or use --list")
    check_target(file, endings=(".toml",))
    if file.exists():
        raise InvalidInput(f"{file}: already exists; choose another name, or remove it first")
    drawn = secrets.randbelow(2**31) if seed is None else seed
    text = from_template(template, _id_of(file), drawn)
    write_text(file, text)
    left = len(placeholders(Study.load(file)))
    say(f"Wrote {file}. Fill in the [[double brackets]] ({left} places), then run:")
    say(f"  preceptor study check {file}")


def _id_of(file: Path) -> str:
    """Derive a URL-safe id from the file name."""
    return re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:64] or "study"


@study_app.command("check")
def check(file: StudyFile, as_json: _options.AsJson = False) -> None:
    """Check a study file: report all faults, or an overview with warnings.

    Exits with 0 if the study can be run, with or without warnings.
    """
    _serving.need_extra("study")
    from preceptor.live.study.arms import make_arms
    from preceptor.live.study.opening import overview
    from preceptor.live.study.study import Study

    study = Study.load(file)
    with spinner("solving") as tell:
        arms = make_arms(study, tell)
    found = overview(study, arms)
    data = {"sha256": study.sha256, **asdict(found)}
    show(lambda: data, found.in_words, as_json=as_json)


_POWER = examples(
    "preceptor study power study.toml --people 10,20,40,80",
    "preceptor study power study.toml --people 20 --simulations 500 --plot power.svg",
)


@study_app.command("power", epilog=_POWER)
def power(
    file: StudyFile,
    people: Annotated[
        str, option("Completed participants per arm; several sizes separated by commas.")
    ] = "10,20,40",
    simulations: Annotated[int, option("Simulated studies per kind and size.", min=10)] = 200,
    target: Annotated[float, option("Target power.")] = 0.8,
    seed: Annotated[int, option("Random seed.", min=0)] = 0,
    plot: Annotated[
        Path | None, option("Plot power against sample size: .svg, .png or .pdf.")
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Simulate the study with every kind of learner and run its registered analysis.

    Trials, matched cases, allocation, checks and exclusions are those of the study itself. The
    assumed learners are listed under \\[assumed] in the file.
    """
    _serving.need_extra("study")
    from preceptor.live.study import power as report
    from preceptor.live.study.power import power as find
    from preceptor.live.study.study import Study
    from preceptor.report.plots import PICTURES, picture_of

    sizes = sizes_in(people)
    check_target(plot, file, endings=PICTURES)
    study = Study.load(file)
    with spinner("simulating") as tell:
        found = find(study, sizes, simulations=simulations, target=target, seed=seed, progress=tell)
    if plot is not None:
        write_bytes(plot, picture_of(report.plot(found), plot.suffix))
        say(f"Wrote {plot}")
    show(found.to_dict, lambda: report.in_words(found), as_json=as_json)


def sizes_in(people: str) -> list[int]:
    """Parse whole numbers separated by commas."""
    try:
        return [int(part) for part in people.split(",") if part.strip()]
    except ValueError:
        raise InvalidInput(
            f"--people: {people!r}, must be whole numbers separated by commas, as in 10,20,40"
        ) from None


@study_app.command("open")
def open_study(
    file: StudyFile,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    output: Annotated[
        Path | None,
        option(
            "Folder for preregistration.json and .md (default: that of the study file).",
            metavar="FOLDER",
        ),
    ] = None,
    power: Annotated[
        Path | None,
        option("Output of `preceptor study power --json`, to be registered.", metavar="FILE"),
    ] = None,
) -> None:
    """Freeze a study, write its pre-registration and open it for participants.

    Solves the plans of all arms and records every decision under one hash. Afterwards an arm can
    be closed, the sample size raised with a reason, and the study closed; nothing else can
    change. Opening the same file again has no effect.
    """
    _serving.need_extra("study")
    from preceptor.live.study import opening
    from preceptor.live.study.registration import JSON, TEXT, unwritten, write_registration
    from preceptor.live.study.study import Study

    study = Study.load(file)
    # Checked first, so that a draft leaves no empty database behind.
    InvalidInput.raise_if(unwritten(study))
    found = None if power is None else read_json(power)
    folder = file.parent if output is None else output
    for name in (JSON, TEXT):
        check_target(folder / name, file, power, option="--output")
    _refuse_another(folder / JSON, study.id)
    with _serving.opened(database) as store, spinner("opening") as progress:
        made = opening.open_study(store, study, found, progress)
    written = write_registration(made.registration, folder)
    if made.is_new:
        say(f"Study {study.id} is open for {made.study.people} participants.")
    else:
        say(f"Study {study.id} was already opened on {made.study.opened[:10]}; nothing changed.")
    say(f"Wrote {', '.join(map(str, written))}. Register this hash:")
    typer.echo(made.registration.sha256)
    say(f"Next: preceptor serve --database {_serving.shown(database)}")


def _refuse_another(path: Path, study: str) -> None:
    """Refuse to overwrite the registration of another study."""
    try:
        there = read_json(path).get("id") if path.exists() else study
    except InvalidFile:
        there = None
    if there != study:
        raise InvalidFile(
            f"{path}: contains {'something else' if there is None else f'study {there!r}'}; choose "
            "another folder with --output"
        )


KINDS = {"real": "participant", "bot": "bot", "preview": "preview"}
Kind = Annotated[
    str, option("Participants to count; groups are never pooled.", metavar="|".join(KINDS))
]


@study_app.command("status")
def status(
    study: Which = None,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    kind: Kind = "real",
    verify: Annotated[
        bool, option("Recompute the hash and rebuild all state.", "--verify")
    ] = False,
    people: Annotated[
        bool, option("List all participants with comments, without arms.", "--participants")
    ] = False,
    as_json: _options.AsJson = False,
) -> None:
    """Report the state of a study: participants by arm and stage, drop-out, pace, balance.

    With --verify, the registered hash is recomputed, the chain of events checked, and rounds,
    participants and assignments rebuilt from it; exits with 1 on any inconsistency.
    """
    with kept_study(database, study) as (store, kept):
        from preceptor.live.service.guides import PlanCache
        from preceptor.live.study import status as standing
        from preceptor.live.study.study import Study

        _check_kind(kind)
        read = Study.from_json(kept.config)
        if people:
            rows = store.read(lambda c: standing.participant_rows(c, kept, read, kind))
            show(lambda: list(map(asdict, rows)), lambda: _people_lines(rows), as_json=as_json)
            return
        found = store.read(lambda connection: standing.standing(connection, kept, read, kind))
        checked = None
        if verify:
            columns = PlanCache().columns_of
            checked = store.read(lambda connection: standing.verify(connection, kept, columns))
    show(lambda: _as_data(found, checked), lambda: _in_words(found, checked), as_json=as_json)
    if checked is not None and checked.faults:
        say(f"{len(checked.faults)} inconsistencies: the database was changed outside the service.")
        raise typer.Exit(1)


def _people_lines(rows: list[ParticipantRow]) -> str:
    head = ("participant", "status", "block", "rounds", "last seen (UTC)", "comment")
    cells: list[tuple[str, ...]] = [
        (r.participant, r.status, r.block, str(r.rounds), r.seen_at[:16].replace("T", " "),
         " ".join(r.comment.split()))
        for r in rows
    ]  # fmt: skip
    return "\n".join(_aligned(head, cells))


def _check_kind(kind: str) -> None:
    """Raise `InvalidInput` for an unknown group."""
    if kind not in KINDS:
        raise InvalidInput(f"kind: {kind!r}, must be one of {', '.join(KINDS)}")


def _as_data(found: StudyStatus, checked: StudyCheck | None) -> dict[str, Any]:
    said: dict[str, Any] = found.to_dict()
    if checked is not None:
        said["verified"] = {
            "registration": checked.registration,
            "head": checked.checked.head,
            "faults": list(checked.faults),
        }
    return said


def _in_words(found: StudyStatus, checked: StudyCheck | None) -> str:
    group = {"real": "people", "bot": "bots", "preview": "previews"}[found.kind]
    counts = ", ".join(f"{count} {name}" for name, count in found.statuses.items() if count)
    lines = [
        f"{found.title} ({found.id}), {found.state} since {(found.closed or found.opened)[:10]}",
        f"{found.completed} of {found.people} {group} have finished: {counts or 'none started'}.",
    ]
    if found.invited:
        lines.append(f"{found.invited} have a link and have not started.")
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


def _arm_lines(found: StudyStatus) -> list[str]:
    rows = []
    for arm in found.arms:
        cap = "" if arm.cap is None else f"at most {arm.cap}"
        notes = [*([] if arm.is_open else ["closed"]), *([cap] if cap else [])]
        counts = (arm.assigned, arm.active, arm.completed, arm.left)
        rows.append((arm.name, *map(str, counts), ", ".join(notes)))
    head = ("arm", "assigned", "active", "finished", "left", "")
    return [*_aligned(head, rows), f"Arms differ by {found.imbalance}."]


def _block_lines(found: StudyStatus) -> list[str]:
    rows = []
    for block in found.blocks:
        counts = (sum(block.now.values()), block.reached, block.left)
        share = f"{percent(block.drop_out)} of them" if block.left else ""
        rows.append((f"{block.number:>2} {block.title}", *map(str, counts), share))
    return _aligned(("   block", "there now", "reached", "left", ""), rows)


def _aligned(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Format a table: names left, numbers right-aligned, remarks at the end."""
    remarks = [row[-1] for row in (head, *rows)]
    lines = aligned([row[:-1] for row in (head, *rows)])
    return [f"{line}  {remark}".rstrip() for line, remark in zip(lines, remarks, strict=True)]


def _checked_lines(checked: StudyCheck) -> list[str]:
    lines = [f"Registration: {checked.registration}", f"Chain ends with: {checked.checked.head}"]
    if checked.faults:
        return [*lines, *checked.faults]
    size = checked.checked
    return [
        *lines,
        f"{size.events:,} events, {size.rounds:,} rounds, {size.people:,} people: consistent.",
    ]


@study_app.command("export")
def export(
    study: Which = None,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    output: Annotated[
        Path | None,
        option("New file or folder (default: named after the study, here).", metavar="PATH"),
    ] = None,
    full: Annotated[
        bool, option("Include times of day, comments and codes; not for sharing.", "--full")
    ] = False,
    zipped: Annotated[bool, option("One file instead of a folder.", "--zip")] = False,
    kind: Kind = "real",
) -> None:
    """Write data, log, codebook, registration and analysis as a Psych-DS folder.

    Participants get new random ids, and times of day and comments are omitted, unless --full is
    given. analysis/analysis.py runs the registered analysis with numpy, scipy and pandas alone.
    Participants' data can be exported once the study is unblinded, bots' data at any time.
    """
    with kept_study(database, study) as (store, kept):
        from preceptor.live.study.export import export as export_all

        _check_kind(kind)
        name = f"{kept.id}-{'full' if full else 'data'}{'.zip' if zipped else ''}"
        path = Path(name) if output is None else output
        with spinner("exporting"):
            made = export_all(
                store, kept.id, path, who="command line", kind=kind, full=full, zipped=zipped
            )
    typer.echo(made.result)
    say(f"Wrote {made.path}: {made.people} participants, {made.rounds:,} rounds.")


@study_app.command("raise")
def raise_people(
    people: Annotated[
        int, option("New target number of completed participants.", min=1, max=1_000_000)
    ],
    reason: Reason,
    study: Which = None,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
) -> None:
    """Raise the registered sample size, with a reason that is kept and exported."""
    with kept_study(database, study, is_open=True) as (store, kept):
        from preceptor.live.store import studies

        why = with_reason(reason)
        store.write(lambda connection: studies.raise_people(connection, kept.id, people, why))
    say(f"Study {kept.id}: sample size raised from {kept.people} to {people}.")


@study_app.command("close")
def close(
    study: Which = None,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    arm: Annotated[str | None, option("Only this arm.")] = None,
    reason: Reason = "",
) -> None:
    """Close a study, or one of its arms, to new participants; active ones may finish.

    Requires a reason unless the target number has finished. It cannot be undone.
    """
    with kept_study(database, study) as (store, kept):
        from preceptor.live.store import participants, studies

        people = store.read(lambda c: participants.everyone(c, kept.id, "real"))
        finished = sum(who.status == "completed" for who in people)
        is_full = arm is None and finished >= kept.people
        why = "all have finished" if is_full and not reason else with_reason(reason)
        if arm is None:
            if not kept.is_open:
                say(f"Study {kept.id} was closed on {str(kept.closed)[:10]}; nothing changed.")
                return
            store.write(lambda connection: studies.close(connection, kept.id, why))
        else:
            store.write(lambda connection: studies.close_arm(connection, kept.id, arm, why))
    what = f"Study {kept.id}" if arm is None else f"Arm {arm} of {kept.id}"
    say(f"{what} is closed; {finished} of {kept.people} people have finished.")


@study_app.command("unblind")
def unblind(
    reason: Reason, study: Which = None, database: _serving.Database = _serving.DEFAULT_DATABASE
) -> None:
    """Reveal results by arm and allow exports; recorded in the log with the reason."""
    with kept_study(database, study) as (store, kept):
        from preceptor.live.store import studies

        why = with_reason(reason)
        store.write(lambda c: studies.unblind(c, kept.id, "command line", why))
    again = "" if kept.unblinded is None else f" (already on {kept.unblinded[:10]})"
    say(f"Study {kept.id} is unblinded{again}; the reason is in the log.")


@study_app.command("links")
def links(
    people: Annotated[int | None, option("Number of links.", min=1, max=10_000)] = None,
    lost: Annotated[
        str | None,
        option(
            "A new link for this participant (see `study status --participants`); earlier ones "
            "no longer work.",
            "--for",
            metavar="PARTICIPANT",
        ),
    ] = None,
    study: Which = None,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    address: Annotated[
        str, option("Public URL of the service.", metavar="URL")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Create personal links, one per line; each is shown once and identifies one participant.

    For study files with entry = "links" under recruiting. Send each link to one person; it
    resumes where they left off, on any device.
    """
    if (people is None) == (lost is None):
        raise InvalidInput("links: give either --people, or --for and a participant")
    with kept_study(database, study, is_open=lost is None) as (store, kept):
        from preceptor.live.store import participants
        from preceptor.live.study.study import Study

        if not address.startswith(("http://", "https://")):
            raise InvalidInput(f"address: {address!r}, must begin with https:// or http://")
        entry = Study.from_json(kept.config).configuration.recruiting.entry
        if entry != "links" and lost is None:
            raise InvalidInput(
                f"study: {kept.id!r} is open to anyone with its URL ({address}/s/{kept.id}); "
                'links are for entry = "links" under [recruiting]'
            )

        def work(connection: Connection) -> list[str]:
            if lost is None:
                new = [
                    participants.join(connection, kept.id, kind="real") for _ in range(people or 0)
                ]
                return [participants.new_link(connection, who) for who in new]
            return [participants.renew_link(connection, kept.id, lost)]

        made = store.write(work)
    for secret in made:
        typer.echo(f"{address.rstrip('/')}/s/{kept.id}/p/{secret}")
    say(f"{counted(len(made), 'link')}, not shown again; store safely what you have not sent.")


@study_app.command("payments")
def payments(
    ids: Annotated[
        Path, argument("The recruiter's names of participants: one a line, or first in it.", "IDS")
    ],
    study: Annotated[
        str | None, option("Study id (optional if the database has only one).", metavar="ID")
    ] = None,
    database: _serving.Database = _serving.DEFAULT_DATABASE,
    output: Annotated[Path, option("New CSV file; only you can read it.")] = Path("payments.csv"),
) -> None:
    """Write codes and bonuses by the recruiter's names, for paying participants.

    The names come from the recruiter; the database has only their hashes. The study file must have
    announced it with payments = true under recruiting, which the consent page states.
    """
    with kept_study(database, study) as (store, kept):
        from preceptor.live.study.payment import payments as listed_payments
        from preceptor.live.study.payment import payments_table
        from preceptor.live.study.study import Study

        check_target(output, ids, endings=(".csv",))
        if output.exists():
            raise InvalidFile(f"{output}: already exists; choose another name, or remove it first")
        lines = [line.split(",")[0].strip().strip('"') for line in read_text(ids).splitlines()]
        names = [line for line in lines if line]
        read = Study.from_json(kept.config)
        rows = store.read(lambda connection: listed_payments(connection, kept, read, names))
        with naming(output):
            output.touch(0o600, exist_ok=False)
            output.write_text(payments_table(rows), "utf-8")
    known = sum(row.status not in ("unknown", "withdrawn") for row in rows)
    say(f"Wrote {output}: {known} of {counted(len(rows), 'name')} took part. Do not share it.")


@study_app.command("preview")
def preview(
    file: Annotated[Path, argument("Study file.", "FILE")],
    port: _serving.Port = 0,
    browser: Annotated[bool, option("Open the first page in a browser.")] = True,
) -> None:
    """Preview a study as participants will see it; nothing is kept or counted.

    Uses a temporary database. The file may still contain placeholders.
    """
    _serving.need_extra("study")
    from preceptor.live.service.app import address_of, run
    from preceptor.live.service.settings import Settings
    from preceptor.live.store import participants
    from preceptor.live.study.study import Study
    from preceptor.live.web.site import make_site

    study = Study.load(file)
    with tempfile.TemporaryDirectory(prefix="preceptor-") as folder:
        database = str(Path(folder) / "preview.db")
        with _serving.opened(database) as store:
            _serving.open_draft(store, study)
            secret = store.write(
                lambda c: participants.new_link(c, participants.join(c, study.id, kind="preview"))
            )
        made = _serving.listening("127.0.0.1", port)
        address = address_of(made)
        link = f"{address}/s/{study.id}/p/{secret}"
        say(f"Listening at {address} (Ctrl-C stops and deletes everything)")
        settings = Settings(database, owner_secret=secrets.token_urlsafe(16))
        say(f"Owner, to sign in once: {_serving.owner_link(settings, address)}")
        typer.echo(link)
        if browser:
            webbrowser.open(link)
        run(make_site(settings), made)


_BOTS = examples(
    "preceptor study bots study.toml --people 20",
    "preceptor study bots http://127.0.0.1:8000/s/decisive --people 50 --human delta-rule --noise "
    "0.6",
    'preceptor study bots study.toml --people 1 --human "python examples/participant.py"',
)


@study_app.command("bots", epilog=_BOTS)
def bots(
    study: Annotated[
        str,
        argument(
            "Study file, served temporarily; or the participants' URL of an open study.", "FILE|URL"
        ),
    ],
    people: _options.People = 200,
    human: Annotated[
        str | None,
        option(
            f"Kind of learner: {', '.join(HUMAN_NAMES)}; several with weights "
            "(delta-rule=0.7,exemplar=0.3); assumed, for those of the study file; or a command "
            "that reads pages as JSON (default: the study's own person).",
            words=(*HUMAN_NAMES, "assumed"),
            metavar="WHO",
        ),
    ] = None,
    answer_within: Annotated[
        float, option("Seconds that a command has to answer a page.", min=0.001)
    ] = 60.0,
    noise: _options.AnswerNoise = 0.0,
    drop_out: Annotated[float, option("Share of bots that drop out.", min=0.0, max=0.99)] = 0.0,
    prefix: Annotated[
        str, option("Prefix of their recruiter ids, followed by five digits.")
    ] = "bot-",
    token: Annotated[
        str | None, option("Token with scope write.", envvar="PRECEPTOR_TOKEN", metavar="TOKEN")
    ] = None,
    as_json: _options.AsJson = False,
) -> None:
    """Let simulated participants go through a study's pages: consent, quiz, cases, checks, code.

    They are marked as simulated and never counted. A new --prefix starts a new group.
    """
    _serving.need_extra("study")
    from preceptor.live.bots import StudyBots, humans_named
    from preceptor.live.study.study import Study

    is_address = study.startswith(("http://", "https://"))
    with nullcontext(study) if is_address else _serving.own_site(Study.load(study)) as url:
        crowd = StudyBots(url, people, None, token, prefix, drop_out)
        crowd = replace(crowd, human=humans_named(crowd.study, human, noise, answer_within))
        with spinner("bots") as tell:
            attended = crowd.play(progress=tell)
    found = _summary(attended)
    show(lambda: found, lambda: _bots_in_words(found), as_json=as_json)


def _summary(attended: Attended) -> dict[str, Any]:
    import numpy as np

    pages, seconds = attended.calls, attended.seconds
    return {
        "people": len(attended.names),
        "finished": sum(attended.finished),
        "arms": attended.arms,
        "kinds": dict(Counter(attended.kinds)),
        "answers": sum(attended.answers),
        "names": [attended.names[0], attended.names[-1]],
        "seconds": round(seconds, 3),
        "pages": int(pages.size),
        "pages_per_second": round(pages.size / seconds, 1),
        "median_ms": round(1000.0 * float(np.median(pages)), 2),
    }


def _bots_in_words(found: dict[str, Any]) -> str:
    first, last = found["names"]
    arms = ", ".join(f"{arm} {people:,}" for arm, people in found["arms"].items()) or "none"
    kinds = "; ".join(f"{kind} {people:,}" for kind, people in found["kinds"].items())
    return (
        f"{found['people']:,} simulated participants ({first} to {last}): "
        f"{found['finished']:,} finished, {found['answers']:,} cases answered. Arms: {arms}."
        f"{' Kinds: ' if kinds else ''}{kinds}{'.' if kinds else ''}\n"
        f"{found['pages']:,} pages in {found['seconds']:.1f} s, {found['pages_per_second']:.0f} "
        f"per second; median {found['median_ms']:.1f} ms."
    )
