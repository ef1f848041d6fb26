"""Everything about a class as files: a workbook for the teacher, a Psych-DS folder for others."""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from preceptor._base.words import safe_cell
from preceptor.live.course.course import Course
from preceptor.live.course.progress import SeenTrainee, Standing, expert_error
from preceptor.live.store.rounds import StoredRound
from preceptor.live.study.export import Variable, dataset_description, table
from preceptor.live.study.registration import canonical

_EXPERT = "The expert is a linear reader of the same tests, fitted to the same cases."
_ROUNDS = [
    Variable("trainee", "random name of the trainee"),
    Variable("case", "number of the case for this trainee, from 1"),
    Variable("row", "row of the table, from 1, without rows that lack an outcome"),
    Variable("is_check", "whether the truth was not told", levels=("True", "False")),
    Variable("picked_by", "what the tutor picked", levels=("cases", "tests", "plan")),
    Variable("shown", "tests that were shown, separated by semicolons"),
    Variable("answer", "the answer; for yes-or-no outcomes 1 is yes"),
    Variable("outcome", "what was true"),
    Variable("expert_error", "expected squared error of an expert who sees the same tests"),
    Variable("alone", "estimated error alone before this case, relative to an expert"),
    Variable(
        "seconds",
        "from showing the case to the answer; empty if the server was restarted",
        unit="s",
    ),
]
_TRAINEES = [
    Variable("trainee", "random name of the trainee"),
    Variable("is_simulated", "whether a program answered", levels=("True", "False")),
    Variable("cases", "cases answered"),
    Variable("alone", "estimated error alone now, relative to an expert"),
    Variable("cases_needed", "cases until within 10% of an expert; empty if not yet"),
    Variable("kind", "how they seem to learn; empty while it is too early to tell"),
    Variable("probability", "of that kind"),
]


def _rounds(course: Course, name: str, played: Sequence[StoredRound]) -> list[dict[str, Any]]:
    tests = course.guide.words.tests
    return [
        {
            "trainee": name,
            "case": each.number + 1,
            "row": None if each.case_number is None else each.case_number + 1,
            "is_check": not each.feedback,
            "picked_by": each.opened_with.get("picks"),
            "shown": "; ".join(tests(each.shown or ())),
            "answer": each.prediction,
            "outcome": each.outcome,
            "expert_error": expert_error(course, each),
            "alone": each.opened_with.get("alone"),
            "seconds": each.seconds,
        }
        for each in played
        if each.prediction is not None
    ]


def _trainee(name: str, found: Standing) -> dict[str, Any]:
    kind, share = found.kind or (None, None)
    return {
        "trainee": name,
        "is_simulated": found.trainee.is_bot,
        "cases": found.answers,
        "alone": found.curve.alone[-1][1] if found.curve.alone else None,
        "cases_needed": found.cases_needed,
        "kind": kind,
        "probability": share,
    }


def workbook(course: Course, everyone: Sequence[SeenTrainee]) -> bytes:
    """A workbook with names: trainees, and all answered cases with their results."""
    import pandas

    words, tests = course.guide.words, course.problem.world.tests
    trainees = [_trainee(found.trainee.name, found) for _, found, _ in everyone]
    cases = []
    for played, found, _ in everyone:
        answered = [each for each in played if each.prediction is not None]
        for row, each in zip(_rounds(course, found.trainee.name, played), answered, strict=True):
            spoken = words.spoken(each.shown or (), each.values or ())
            cases.append({**row, **{test: spoken.get(test) for test in tests}})
    sheets = {
        "trainees": (trainees, [each.name for each in _TRAINEES]),
        "cases": (cases, [*(each.name for each in _ROUNDS), *tests]),
    }
    file = io.BytesIO()
    with pandas.ExcelWriter(file, engine="openpyxl") as writer:
        for title, (rows, columns) in sheets.items():
            cells = [[_cell(row.get(column)) for column in columns] for row in rows]
            frame = pandas.DataFrame(cells, columns=[safe_cell(each) for each in columns])
            frame.to_excel(writer, sheet_name=title, index=False)
    return file.getvalue()


def _cell(value: Any) -> Any:
    """A cell that a spreadsheet does not run as a formula."""
    return safe_cell(value) if isinstance(value, str) else value


def psych_ds(course: Course, everyone: Sequence[SeenTrainee]) -> bytes:
    """A zipped Psych-DS folder with new random names instead of names, and no times of day."""
    # By random name, so that the order does not reveal who joined when.
    renamed = [(secrets.token_hex(4), each) for each in everyone]
    named = dict(sorted(renamed, key=lambda one: one[0]))
    played = [row for name, each in named.items() for row in _rounds(course, name, each.rounds)]
    people = [_trainee(name, each.standing) for name, each in named.items()]
    about = (
        f"Trainees predicted {course.config.outcome} from tests of which some were hidden, case by "
        f"case; one row a case. Exported {datetime.now(UTC):%Y-%m-%d}."
    )
    files = {
        "dataset_description.json": canonical(
            dataset_description(course.config.title, about, course.config.language, _ROUNDS)
        ),
        "data/study-course_task-teaching_data.csv": table(_ROUNDS, played),
        "participants.csv": table(_TRAINEES, people),
        "README.md": f"# {course.config.title}\n\n{about} {_EXPERT}\n",
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(f"course/{name}", text)
    return content.getvalue()
