"""`preceptor teach`: a class on the web from a table of past cases."""

from __future__ import annotations

import logging
import math
import secrets
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

import preceptor.cli._options as _options
from preceptor._base.files import read_text
from preceptor._base.values import FloatArray
from preceptor.cli import _serving
from preceptor.cli._app import BriefCommand, app, examples
from preceptor.cli._console import option, say, spinner
from preceptor.cli._options import reads_table
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.cli._tables import Cases
    from preceptor.live.course.course import CourseConfig, Look
    from preceptor.live.store.database import Store

DATABASE = "course.db"
_EXAMPLES = examples(
    "preceptor teach cases.xlsx --outcome progression --tests 3",
    "preceptor teach cases.xlsx --outcome ill --answer percent --language de",
    "preceptor teach cases.csv --outcome y --show xray=file --media images",
    "preceptor teach --demo",
)
# More decimals than this are noise to a reader.
_DECIMALS = 6
# Seconds between two steps of a simulated trainee.
_DEMO_PAUSE = 1.2
_ANSWERS = {"number": "number", "slider": "slider", "yes-no": "yes or no", "percent": "percent"}


@app.command(cls=BriefCommand, epilog=_EXAMPLES)
@reads_table
def teach(
    data: _options.Table = None,
    outcome: _options.Outcome = None,
    tests: _options.Tests = None,
    answer: Annotated[
        str | None,
        option(
            "How trainees answer (default: number, or yes-no where the outcome is yes or no).",
            words=tuple(_ANSWERS),
        ),
    ] = None,
    feedback: Annotated[
        str,
        option(
            "After a case tell the truth, or also what seems wrong.", words=("truth", "contrast")
        ),
    ] = "truth",
    language: Annotated[str, option("Language of the pages: en, de.", metavar="LANGUAGE")] = "en",
    title: Annotated[str | None, option("Name of the course (default: of the table).")] = None,
    plan: Annotated[
        Path | None, option("Show tests as this plan says; cases in random order.", metavar="PLAN")
    ] = None,
    show: Annotated[
        list[str] | None,
        option("Show a test as the image or text of another column.", metavar="TEST=COLUMN"),
    ] = None,
    media: Annotated[Path | None, option("Folder of the images.", metavar="FOLDER")] = None,
    database: Annotated[
        str,
        option(
            "Where everything is kept: SQLite file or postgresql://user@host/name.",
            metavar="FILE|URL",
        ),
    ] = DATABASE,
    host: _serving.Host = "127.0.0.1",
    port: _serving.Port = 8000,
    address: Annotated[
        str | None,
        option("Address of this service for trainees, such as https://class.example.org."),
    ] = None,
    rate: Annotated[
        float, option("Requests per second allowed per trainee; 0 for no limit.", min=0)
    ] = 200.0,
    demo: Annotated[
        bool, option("Six simulated trainees answer an example; nothing is kept.", "--demo")
    ] = False,
    trust_this_machine: _serving.TrustThisMachine = False,
    drop: _options.Drop = None,
    half_life: _options.HalfLife = None,
    person: _options.Kind = None,
    *,
    reading: Reading,
) -> None:
    """Teach a class on the web with past cases: a link for trainees, a page that shows progress.

    The same command continues the course. By default only this machine is served.
    """
    _serving.need_extra()
    is_local = _serving.is_loopback(host) and address is None
    _serving.check_trust(trust_this_machine, is_local=is_local)
    faults = []
    if answer is not None and answer not in _ANSWERS:
        faults.append(f"answer: {answer!r}, must be one of {', '.join(_ANSWERS)}")
    if feedback not in ("truth", "contrast"):
        faults.append(f"feedback: {feedback!r}, must be truth or contrast")
    InvalidInput.raise_if(faults)
    from preceptor.cli._tables import Cases
    from preceptor.live.store import courses
    from preceptor.live.store.database import Store

    with tempfile.TemporaryDirectory(prefix="preceptor-") as folder:
        if demo:
            database = str(Path(folder) / DATABASE)
        is_there = demo is False and ("://" in database or Path(database).exists())
        found, config = None, None
        # The table is read first: a mistake in it must not leave a database behind.
        if data is not None or not is_there:
            columns = _columns(show or [])
            cells = _cells(data, columns, reading)
            unwanted = [*(drop or []), *columns.values()]
            found = Cases.read(data, outcome, unwanted, reading, seed=0)
            look = CourseLook(answer, language, title, media, contrast=feedback == "contrast")
            config = _config(found, look, cells)
        with Store(database) as store:
            if found is not None and config is not None:
                people = {"tests": tests, "half_life": half_life, "person": person}
                _open(store, found, config, plan, people)
            elif store.read(courses.look_up) is None:
                raise InvalidInput(
                    f"database: {_serving.shown(database)} has no course; name a table"
                )
            _lock(store, is_local=is_local)
        trusts = trust_this_machine or (demo and is_local)
        _serve(database, host, port, address, rate, demo=demo, trusts=trusts)


class CourseLook(NamedTuple):
    """Options about how the pages look."""

    answer: str | None
    language: str
    title: str | None
    media: Path | None
    contrast: bool


def _columns(given: list[str]) -> dict[str, str]:
    """Columns to show in place of tests, by test."""
    pairs = [each.partition("=") for each in given]
    InvalidInput.raise_if(
        f"show: {''.join(pair)!r}, must be TEST=COLUMN" for pair in pairs if not all(pair)
    )
    return {test: column for test, _, column in pairs}


def _open(
    store: Store, found: Cases, config: CourseConfig, plan: Path | None, people: dict[str, Any]
) -> None:
    """Start the course, or go on with it."""
    from preceptor.live.course.course import plan_for, start
    from preceptor.model.yes_no_risks import Brier

    if plan is None:
        with spinner("preparing"):
            risk = Brier() if config.answer == "percent" else None
            body = plan_for(found.problem(people, risk=risk))
    else:
        body = _planned(plan, found, people)
    answer = "number" if config.answer == "slider" else config.answer
    given = {**people, "plan": None if plan is None else body, "answer": answer}
    cases = found.values, found.outcome
    picks = "cases" if plan is None else "plan"
    is_new = store.write(lambda c: start(c, config, body, *cases, picks, given))
    say(f"{config.title}: {len(found.outcome)} cases; {'a new' if is_new else 'the same'} course")


def _planned(plan: Path, found: Cases, people: dict[str, Any]) -> str:
    """The plan file, which must be about the tests of the table."""
    from preceptor.cli.tutor import check_plan
    from preceptor.model.plan import Plan

    check_plan(Plan.load(plan).problem, found, people)
    return read_text(plan)


def _config(found: Cases, look: CourseLook, cells: dict[str, list[str | None]]) -> CourseConfig:
    """How the pages look."""
    from preceptor.live.course.course import CourseConfig, Look
    from preceptor.live.wording import words_in

    words_in(look.language)
    world, design = found.estimate.world, found.estimate.design
    usual = "yes or no" if world.is_binary else "number"
    answer = usual if look.answer is None else _ANSWERS[look.answer]
    if world.is_binary != (answer in ("yes or no", "percent")):
        fits = "yes-no or percent" if world.is_binary else "number or slider"
        raise InvalidInput(f"answer: {answer!r}, but {found.name} is answered by {fits}")
    InvalidInput.raise_if(
        f"show: {name!r} is not a test; tests are {', '.join(world.tests)}"
        for name in cells
        if name not in world.tests
    )
    # A unit of several words is an explanation, and left out.
    units = {name: unit for name, unit in found.units.items() if " " not in unit}
    looks = {
        name: Look(units.get(name, ""), _decimals(column.values))
        for name, column in design.columns.items()
        if column.levels is None
    }
    for name, column in cells.items():
        looks[name] = _replaced(name, [column[row] for row in design.rows], look.media)
    return CourseConfig(
        title=look.title or Path(found.source).stem.replace("_", " ").capitalize(),
        outcome=found.name,
        answer=answer,
        language=look.language,
        contrast=look.contrast,
        media=None if look.media is None else str(look.media.absolute()),
        look=Look("", _decimals(found.outcome, digits=3)),
        looks=looks,
    )


def _decimals(values: FloatArray, digits: int = 2) -> int:
    """Decimals that show `digits` digits of the deviation, and no more than the table has."""
    known = values[~np.isnan(values)]
    deviation = float(np.std(known)) or 1.0
    most = min(max(digits - 1 - math.floor(math.log10(deviation)), 0), _DECIMALS)
    exact = (d for d in range(most) if np.allclose(known, np.round(known, d), rtol=0, atol=1e-9))
    return next(exact, most)


def _cells(
    data: Path | None, columns: dict[str, str], reading: Reading
) -> dict[str, list[str | None]]:
    """What is shown in place of numbers: the cells of a column as written, by test."""
    from preceptor.data.log_cells import is_missing
    from preceptor.data.sheet import read_cells

    if not columns or data is None:
        return {}
    found = read_cells(data, reading).columns
    unknown = [column for column in columns.values() if column not in found]
    InvalidInput.raise_if(f"show: the table has no column {column!r}" for column in unknown)
    return {
        test: [None if is_missing(each) else str(each) for each in found[column]]
        for test, column in columns.items()
    }


def _replaced(test: str, cells: list[str | None], media: Path | None) -> Look:
    """How a test looks that is shown by other cells than its numbers."""
    from preceptor.live.course.course import Look
    from preceptor.live.course.media import check_images, is_image_name

    is_image = all(is_image_name(each) for each in cells if each)
    if is_image and media is None:
        raise InvalidInput(f"media: {test} is shown by images; name their folder")
    if is_image and media is not None:
        check_images(media, cells)
    return Look(cells=cells, is_image=is_image)


def _lock(store: Store, *, is_local: bool) -> None:
    """Make a teacher's token before others can reach this machine; it is shown once."""
    from preceptor.live.store import tokens

    if is_local:
        return
    live = [each for each in store.read(tokens.everyone) if each.is_live]
    say(
        "Names, answers and the token travel as plain text over http: use a network that you "
        "trust, or put a proxy with HTTPS in front (docs/operating.md) and name it with --address."
    )
    if any(each.scope == "admin" for each in live):
        say("Sign in with the teacher's token that was shown before; to make another: preceptor "
            "serve token create --scope admin --database ...")  # fmt: skip
        return
    secret, _ = store.write(lambda c: tokens.create(c, "admin", "teacher", None))
    say(f"Teacher's token, shown once: {secret}")


def _serve(
    database: str,
    host: str,
    port: int,
    address: str | None,
    rate: float,
    *,
    demo: bool,
    trusts: bool,
) -> None:
    from preceptor.live.course.course import course_of, read
    from preceptor.live.course.media import qr_text
    from preceptor.live.course.simulated import play_along
    from preceptor.live.service.app import address_of, run
    from preceptor.live.service.settings import Settings
    from preceptor.live.store.database import Store
    from preceptor.live.web.site import make_site

    settings = Settings(
        database,
        rate=rate,
        burst=max(int(2 * rate), 1),
        loopback=_serving.is_loopback(host),
        trusts_loopback=trusts,
        owner_secret=secrets.token_urlsafe(16),
        public_url=None if address is None else _serving.public_url(address),
        explorer="nobody",
    )
    made = _serving.listening(host, port)
    here = address_of(made)
    public = (address or _reachable(here)).rstrip("/")
    say(f"Listening at {here} (Ctrl-C stops); kept in {_serving.shown(database)}")
    link = f"{public}/class" if trusts else _serving.owner_link(settings, public, "/class")
    say(f"Teacher: {link}")
    say(f"Trainees: {public}/c")
    if _serving.is_loopback(host) and address is None:
        say("Only this machine can open these links; --host 0.0.0.0 lets others in.")
    if (sys.stderr.encoding or "").lower().startswith("utf"):
        say(qr_text(f"{public}/c"))
    app = make_site(settings)
    app.state.join_address = f"{public}/c"
    end = None
    if demo:
        with Store(database) as store:
            course = course_of(*store.read(read))
        end = play_along(course, here, _DEMO_PAUSE)
    logging.disable(logging.INFO)  # a teacher has no use for every request
    try:
        run(app, made)
    finally:
        if end is not None:
            end()


def _reachable(address: str) -> str:
    """An address that others can open, where the service listens on all interfaces."""
    import socket

    for anywhere, target in (("0.0.0.0", "192.0.2.1"), ("[::]", "2001:db8::1")):
        if f"//{anywhere}:" in address:
            family = socket.AF_INET6 if ":" in target else socket.AF_INET
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect((target, 9))  # chooses an interface; nothing is sent
                except OSError:
                    return address
                name = probe.getsockname()[0]
            return address.replace(anywhere, f"[{name}]" if ":" in name else name)
    return address
