"""Pages from templates, and static files.

Templates escape every value, and an undefined name is an error. A page loads
`/static/site.css?v=<hash>`: with the current hash, browsers may cache the file for a year; without
it, they revalidate.
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

pages_router = APIRouter(include_in_schema=False)

_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@cache
def templates() -> jinja2.Environment:
    """The template environment; `static(name)` is the URL of a static file."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("preceptor.live.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(static=static, version=VERSION)
    return environment


def page(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a page, or a part of one.

    Parameters
    ----------
    request
        The request; templates see it under this name.
    template
        A file in `templates`, such as `start.html.j2`.
    status
        HTTP status code.
    **context
        Variables of the template.

    Returns
    -------
    starlette.responses.HTMLResponse
        `headers.AroundPages` adds its headers.
    """
    made = templates().get_template(template).render(request=request, **context)
    return HTMLResponse(made, status)


@dataclass(frozen=True)
class StaticFile:
    """Content, media type and a short hash."""

    content: bytes
    kind: str
    version: str


@cache
def static_files() -> dict[str, StaticFile]:
    """All static files by name; `colours.css` is made from the palette of the figures."""
    folder = files("preceptor.live.web") / "static"
    contents = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    contents["colours.css"] = styles().encode()
    return {name: _described(name, content) for name, content in contents.items()}


def _described(name: str, content: bytes) -> StaticFile:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    if kind.startswith("text/"):
        kind += "; charset=utf-8"
    return StaticFile(content, kind, hashlib.sha256(content).hexdigest()[:12])


def static(name: str) -> str:
    """URL of a static file.

    >>> static("site.css").startswith("/static/site.css?v=")
    True
    """
    return f"/static/{name}?v={static_files()[name].version}"


@pages_router.get("/static/{name}")
async def static_file(name: str, request: Request) -> Response:
    """A static file."""
    found = static_files().get(name)
    if found is None:
        raise HTTPException(404, f"file: {name!r} is not there")
    is_named = request.query_params.get("v") == found.version
    headers = {"Cache-Control": _FOREVER if is_named else _ASK_AGAIN}
    return Response(found.content, headers=headers, media_type=found.kind)
