"""Files that pages load: styles, and the one script. Read once; named by what is in them.

A page asks for `/static/site.css?v=<hash>`. Whatever is asked for by its present hash never changes
under that name, so browsers keep it for a year; without it, they ask again.
"""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from preceptor.report.palette import styles

router = APIRouter(include_in_schema=False)

_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@dataclass(frozen=True)
class StaticFile:
    """What is sent, as what, and a short hash of it."""

    content: bytes
    kind: str
    version: str


@cache
def static_files() -> dict[str, StaticFile]:
    """All files, by name; `colours.css` is made from the palette that pictures are drawn in."""
    folder = files("preceptor.web") / "static"
    contents = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    contents["colours.css"] = styles().encode()
    return {name: _described(name, content) for name, content in contents.items()}


def _described(name: str, content: bytes) -> StaticFile:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return StaticFile(content, kind, hashlib.sha256(content).hexdigest()[:12])


def static(name: str) -> str:
    """Where a page finds a file.

    >>> static("site.css").startswith("/static/site.css?v=")
    True
    """
    return f"/static/{name}?v={static_files()[name].version}"


@router.get("/static/{name}")
async def static_file(name: str, request: Request) -> Response:
    """One of the files."""
    found = static_files().get(name)
    if found is None:
        raise HTTPException(404, f"file: {name!r} is not there")
    is_named = request.query_params.get("v") == found.version
    headers = {"Cache-Control": _FOREVER if is_named else _ASK_AGAIN}
    return Response(found.content, headers=headers, media_type=found.kind)
