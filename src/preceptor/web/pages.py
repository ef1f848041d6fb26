"""Pages from templates: every value is escaped, and a name that is missing is an error."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2
from fastapi import Request
from starlette.responses import HTMLResponse

from preceptor._base.version import VERSION
from preceptor.web.static_files import static


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
        Its headers are added by `headers.Headers`, as for all pages.
    """
    made = templates().get_template(template).render(request=request, **context)
    return HTMLResponse(made, status)
