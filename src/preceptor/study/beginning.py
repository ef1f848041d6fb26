"""Studies to begin with: the templates that ship, made into a file of somebody's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

from preceptor.errors import InvalidInput
from preceptor.study.config import ID
from preceptor.study.study import Study

_PLACEHOLDER = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


def template_names() -> tuple[str, ...]:
    """The templates that ship, in order."""
    folder = resources.files("preceptor.study") / "templates"
    files = (each.name for each in folder.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def template(name: str) -> str:
    """The text of a template, comments included.

    Parameters
    ----------
    name
        One of `template_names`.

    Returns
    -------
    str
        TOML that `Study` reads.

    Raises
    ------
    InvalidInput
        There is none of that name.
    """
    names = template_names()
    if name not in names:
        raise InvalidInput(f"template: {name!r} is not known; there are {', '.join(names)}")
    file = resources.files("preceptor.study") / "templates" / f"{name}.toml"
    return file.read_text("utf-8")


def headline(name: str) -> str:
    """What a template is, in one line: its first comment."""
    return template(name).splitlines()[0].removeprefix("# ")


def begun(name: str, id: str, seed: int) -> str:
    """A template as a study of one's own: with an id and a seed, everything else as it ships.

    Parameters
    ----------
    name
        Of the template.
    id
        Of the new study, in its address.
    seed
        Of its cases and arms.

    Returns
    -------
    str
        The text of the new file.

    Raises
    ------
    InvalidInput
        No such template, or an id that no address can hold.

    Examples
    --------
    >>> text = begun("decisive", "first-try", 7)
    >>> [line.split("#")[0].rstrip() for line in text.splitlines() if line.startswith("id =")]
    ['id = "first-try"']
    """
    if not re.match(ID, id):
        raise InvalidInput(
            f"id: {id!r}, must be small letters, digits and hyphens, at most 64; name the file so"
        )
    text = template(name)
    for old, new in ((r'id = "[^"]*"', f'id = "{id}"'), (r"seed = \d+", f"seed = {seed}")):
        # Comments behind stay where they are.
        text = re.sub(rf"^{old} *", f"{new} ".ljust(32), text, count=1, flags=re.MULTILINE)
    return text


def placeholders(study: Study) -> list[str]:
    """What the texts of a study leave to fill in, between double brackets."""
    texts = _texts(study.configuration.model_dump(mode="json"))
    return [" ".join(found.split()) for text in texts for found in _PLACEHOLDER.findall(text)]


def _texts(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    elif isinstance(said, dict):
        for part in said.values():
            yield from _texts(part)
    elif isinstance(said, list):
        for part in said:
            yield from _texts(part)
