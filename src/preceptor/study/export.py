"""Export: a folder in Psych-DS form with data, log, codebook, registration and analysis.

Everything is written into a folder beside the target, which then gets its name in one step: whoever
looks finds all of it or none.
"""

from __future__ import annotations

import csv
import io
import json
import pprint
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.files import naming
from preceptor._base.progress import Progress
from preceptor._base.version import VERSION
from preceptor._base.words import safe_cell
from preceptor.diagnosis.kind_posterior import SURE
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.store import Store, studies
from preceptor.store.studies import KeptStudy
from preceptor.study.config import Testing
from preceptor.study.exported_rows import Column, Columns, Row, Tables, tables
from preceptor.study.freezing import Registration, canonical, public
from preceptor.study.measures import trials_of
from preceptor.study.registered_words import markdown
from preceptor.study.significance import RESAMPLES
from preceptor.study.study import Study

PSYCH_DS = "Psych-DS 1.5.0"


@dataclass(frozen=True)
class Exported:
    """What was written: where, how many people and rounds, and what the analysis says."""

    path: Path
    people: int
    rounds: int
    result: str


def export(
    store: Store,
    name: str,
    path: Path,
    *,
    who: str,
    kind: str = "real",
    full: bool = False,
    zipped: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write all data of a study, whole or not at all.

    Parameters
    ----------
    store
        Where the study is kept.
    name
        Its id.
    path
        A folder or, if `zipped`, a file that is not there yet.
    who
        Exports; kept in the log.
    kind
        Whose data: real, bot or preview. They are never in one export together.
    full
        With names, times and comments as they are kept.
    zipped
        One file instead of a folder.
    progress
        Told how far the analysis is.

    Returns
    -------
    Exported
        What was written.

    Raises
    ------
    InvalidInput
        The study is still blinded, or nobody has answered yet.
    InvalidFile
        The target is there already, or cannot be written.
    """
    kept = store.read(lambda connection: studies.find(connection, name))
    must_be_unblinded(kept, kind)
    if path.exists() or path.is_symlink():
        raise InvalidFile(f"{path}: is there already; choose another name, or remove it first")
    study = Study.from_json(kept.config)
    found = store.read(lambda c: tables(c, kept, study, kind=kind, full=full, progress=progress))
    if not found.rounds:
        raise InvalidInput(f"study: nobody ({kind}) has answered anything in {name!r} yet")
    with naming(path):
        beside = Path(tempfile.mkdtemp(prefix=".preceptor-", dir=path.absolute().parent))
        try:
            folder = beside / (path.stem if zipped else path.name)
            folder.mkdir()
            _write(folder, kept, study, found, kind=kind, full=full)
            store.write(lambda c: studies.exported(c, name, who, kind, full=full))
            made = _zipped(folder, beside / path.name) if zipped else folder
            made.rename(path)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return Exported(path, len(found.people), len(found.rounds), found.result.in_words())


def must_be_unblinded(kept: KeptStudy, kind: str) -> None:
    """Data of people say who was in which arm, so they are had after unblinding only."""
    if kind == "real" and kept.unblinded is None:
        raise InvalidInput(
            f"study: {kept.id!r} is blinded, and its data say who was in which arm; first log why: "
            f'preceptor study unblind {kept.id} --reason "..."'
        )


def _zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                packed.write(file, Path(folder.name) / file.relative_to(folder))
    return target


def _write(
    folder: Path, kept: KeptStudy, study: Study, found: Tables, *, kind: str, full: bool
) -> None:
    for part in ("data", "analysis", "documentation", "materials"):
        (folder / part).mkdir()
    columns = Columns.of(study, full=full)
    files = data_files(study)
    for block, file in files.items():
        own = [row for row in found.rounds if row["block"] == block]
        if own:
            (folder / "data" / file).write_text(table(columns.rounds, own), "utf-8", newline="")
    parts = {
        "data/": columns.rounds,
        "participants.csv": columns.people,
        "events.csv": columns.events,
    }
    registration = Registration(kept.registration)
    texts = {
        "participants.csv": table(columns.people, found.people),
        "events.csv": table(columns.events, found.events),
        "dataset_description.json": canonical(
            description(study, columns.rounds, kind=kind, full=full)
        ),
        "README.md": _readme(kept, study, found, files, kind=kind, full=full),
        "documentation/codebook.md": codebook_text(study, parts),
        "documentation/codebook.json": canonical(
            {file: [each.to_dict() for each in columns] for file, columns in parts.items()}
        ),
        "documentation/preregistration.md": markdown(registration),
        "materials/study.json": canonical(public(study)),
        "materials/preregistration.json": registration.text,
        "analysis/analysis.py": script(study),
        "analysis/result.json": canonical(_without_people(found.result.to_dict())),
    }
    for file, text in texts.items():
        (folder / file).write_text(text, "utf-8", newline="")
    found.records.log(study).write(folder / "log.csv")


def _without_people(result: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "participants"}


def data_files(study: Study) -> dict[int, str]:
    """The data file of each block that has rounds, by the number of the block."""
    said, seen, made = study.configuration, dict[str, int](), {}
    for number, block in enumerate(said.block, start=1):
        if study.protocol.length_of(number - 1):
            seen[block.kind] = seen.get(block.kind, 0) + 1
            task = f"{block.kind}{seen[block.kind]}"
            made[number] = f"study-{_letters(said.id)}_task-{task}_data.csv"
    return made


def _letters(name: str) -> str:
    """Psych-DS allows letters and digits in names of files, and nothing else."""
    return re.sub(r"[^A-Za-z0-9]", "", name)


def table(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """A table as CSV; numbers so that reading them gives the same bits, nothing for nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    for row in rows:
        cells = {column.name: _cell(row[column.name]) for column in columns}
        if "comment" in cells:  # the one column in which people write what they like
            cells["comment"] = safe_cell(cells["comment"])
        writer.writerow(cells.values())
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def description(
    study: Study, columns: Sequence[Column], *, kind: str, full: bool
) -> dict[str, Any]:
    """`dataset_description.json`, as Psych-DS asks for it."""
    said = study.configuration
    what = "Simulated people" if kind == "bot" else "Participants"
    about = (
        f"{what} predicted {said.outcome.name or 'an outcome'} from tests of which some were "
        "hidden, round by round; one row a round."
    )
    made: dict[str, Any] = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": said.title,
        "description": f"{said.description} {about}".strip(),
        "schemaVersion": PSYCH_DS,
        "identifier": study.sha256,
        "inLanguage": said.language,
        "keywords": ["decision support", "learning", "hidden features"],
        "variableMeasured": [column.to_dict() for column in columns],
        "isAccessibleForFree": not full,
        "version": f"preceptor {VERSION}",
    }
    if said.contact:
        made["creator"] = {"@type": "Person", "name": said.contact}
    return made


def codebook_text(study: Study, parts: Mapping[str, Sequence[Column]]) -> str:
    """The codebook as Markdown: a table for each kind of file."""
    lines = [f"# Codebook of {study.configuration.title}"]
    for title, columns in parts.items():
        lines += ["", f"## {title}", "", "| column | meaning | unit | values |"]
        lines.append("| --- | --- | --- | --- |")
        lines += [
            f"| `{each.name}` | {each.description} | {each.unit} | {', '.join(each.levels)} |"
            for each in columns
        ]
    return "\n".join(lines) + "\n"


def script(study: Study) -> str:
    """The text of `analysis.py` for a study."""
    text = (resources.files("preceptor.study") / "templates" / "analysis.py.txt").read_text("utf-8")
    title = json.dumps(study.configuration.title, ensure_ascii=False)[1:-1]
    values = pprint.pformat(registered(study), width=96, sort_dicts=False)
    return text.replace("@TITLE@", title.replace('\\"', "'")).replace("@REGISTERED@", values)


def registered(study: Study) -> dict[str, Any]:
    """What the script needs to know."""
    said = study.configuration
    tested = [i for i, block in enumerate(said.block, start=1) if isinstance(block, Testing)]
    measured = (
        np.flatnonzero(trials_of(study, said.analysis.measure)).tolist()
        if "error" in said.analysis.measure
        else []
    )
    return {
        **said.analysis.model_dump(mode="json"),
        "seed": said.seed,
        "resamples": RESAMPLES,
        "exclusions": said.exclusions.model_dump(mode="json"),
        "trials": len(study.protocol.trials),
        "measured_trials": measured,
        "first_test_block": tested[0] if tested else None,
        "last_test_block": tested[-1] if tested else None,
        "sure": SURE,
    }


def _readme(
    kept: KeptStudy,
    study: Study,
    found: Tables,
    files: Mapping[int, str],
    *,
    kind: str,
    full: bool,
) -> str:
    said = study.configuration
    whom = {"real": "people", "bot": "simulated people (bots)", "preview": "previews"}[kind]
    private = (
        "This export is full: it has times of day, comments and completion codes. Do not pass it "
        "on; `preceptor study export` without --full makes one that you can."
        if full
        else "This export is anonymous: people have new random names, which no other export has; "
        "times of day and comments are left out."
    )
    changes = [
        f"- day {row['day']}: {row['event']} ({row['detail']})"
        for row in found.events
        if not row["participant"] and row["event"] not in ("study opened", "exported")
    ]
    lines = [
        f"# {said.title}",
        "",
        said.description,
        "",
        f"{len(found.people)} {whom}, {len(found.rounds)} answered rounds. {private}",
        "",
        "The study was frozen before anybody took part. SHA-256 of "
        f"materials/preregistration.json: `{kept.registration_sha256}`",
        "",
        "## Files",
        "",
        *(f"- `data/{file}`: {said.block[number - 1].title}" for number, file in files.items()),
        "- `participants.csv`: one row a person, with arm, status, and who is left out and why",
        "- `events.csv`: what happened, person by person",
        "- `log.csv`: all rounds as `preceptor.Log.read` reads them",
        "- `documentation/codebook.md`: what each column means",
        "- `materials/`: the study as it was frozen, and what was registered",
        "- `analysis/analysis.py`: the registered analysis, with numpy, scipy, pandas",
        "- `analysis/result.json`: what it found when this was written",
        "",
        "The folder is in Psych-DS form (https://psych-ds.github.io).",
        "",
        "## Result of the registered analysis",
        "",
        *found.result.in_words().splitlines(),
        "",
        "## What changed after it was opened",
        "",
        *(changes or ["Nothing."]),
    ]
    return "\n".join(lines) + "\n"
