"""Templates of pages, for which jinja2 must be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preceptor.errors import MissingExtra

if TYPE_CHECKING:
    import jinja2


def template(name: str) -> jinja2.Template:
    """One of our templates, in which a name that is missing is an error.

    Raises
    ------
    MissingExtra
        jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtra("jinja2", "cli", "Writing a report") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("preceptor.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
