"""Images of a course: files of one folder, named in a column of the table; and QR codes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import segno
from markupsafe import Markup

from preceptor.errors import InvalidInput
from preceptor.live.store.tables import NotFound

IMAGES = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
"""Kinds of image that are served; SVG can contain scripts and is not."""


def is_image_name(cell: str) -> bool:
    """Whether a cell of the table names an image."""
    return Path(cell).suffix.lower() in IMAGES


def image_path(folder: Path, name: str) -> Path:
    """The file with this name; raise `NotFound` if it is not an image within the folder.

    Links are followed before the path is checked, so none of them leads outside.
    """
    found = (folder / name).resolve()
    inside = found.is_relative_to(folder.resolve())
    if not (name and inside and found.suffix.lower() in IMAGES and found.is_file()):
        raise NotFound(f"image: {name!r} is not an image in the folder of this course")
    return found


def check_images(folder: Path, names: Iterable[str | None]) -> None:
    """Raise `InvalidInput` if an image is missing, of another kind, or outside the folder."""
    InvalidInput.raise_if(_faults(folder, names))


def _faults(folder: Path, names: Iterable[str | None]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        try:
            if name:
                image_path(folder, name)
        except NotFound:
            kinds = ", ".join(each[1:] for each in IMAGES)
            yield f"media: {name!r} is no image ({kinds}) in {folder}; copy it there"


def qr_picture(address: str) -> Markup:
    """A QR code as SVG, dark on light in every colour scheme so that cameras can read it."""
    picture = segno.make(address, micro=False).svg_inline(
        scale=4, border=4, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None
    )
    return Markup(picture)


def qr_text(address: str) -> str:
    """A QR code as text of half blocks, for a terminal."""
    text = io.StringIO()
    segno.make(address, micro=False).terminal(text, compact=True)
    return text.getvalue()
