"""The pre-registration as one HTML file: no network, no other files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

from preceptor._base.files import write_all
from preceptor.report.palette import styles
from preceptor.study.freezing import Registration
from preceptor.study.registered_words import markdown, sections

JSON, PAGE, TEXT = "preregistration.json", "preregistration.html", "preregistration.md"


def write_registration(registration: Registration, folder: Path, opened: str) -> list[Path]:
    """Write the three files, all of them or none; gives where they are."""
    contents = {
        folder / JSON: registration.text,
        folder / PAGE: page(registration, opened),
        folder / TEXT: markdown(registration),
    }
    write_all({path: text.encode() for path, text in contents.items()})
    return list(contents)


def page(registration: Registration, opened: str) -> str:
    """The page; `opened` is when the study was, as the store writes moments."""
    template = _templates().get_template("registration.html.j2")
    return template.render(
        title=registration.content["title"],
        language=registration.content["study"].get("language", "en"),
        sha256=registration.sha256,
        opened=opened[:10],
        sections=sections(registration),
        text=registration.text,
        styles=styles(),
    )


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("preceptor.study"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
