"""Pages from templates, and the files that they load.

In a template every value is escaped, and a name that is missing is an error. A page asks for
`/static/site.css?v=<hash>`. Whatever is asked for by its present hash never changes under that
name, so browsers keep it for a year; without it, they ask again.
"""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from preceptor._base.version import VERSION
from preceptor.report.palette import styles

router = APIRouter(include_in_schema=False)

_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@cache
def templates() -> jinja2.Environment:
    """Templates of this room; `static(name)` is where one of its files is."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("preceptor.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(static=static, version=VERSION)
    return environment


def page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A page, or a part of one.

    Parameters
    ----------
    request
        What it answers; templates see it under this name.
    template
        A file in `templates`, such as `start.html.j2`.
    status
        Of the answer.
    **context
        What the template names.

    Returns
    -------
    starlette.responses.HTMLResponse
        Its headers are added by `headers.AroundPages`, as for all pages.
    """
    made = templates().get_template(template).render(request=request, **context)
    return HTMLResponse(made, status)


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
