"""Pages as simulated people read them: forms with their fields, and numbers with all their digits.

Only what a browser would send is sent: fields that are in the form, hidden ones as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class ReadForm:
    """A form: where it leads, what it holds, and what can be chosen in it."""

    action: str = ""
    values: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)

    def filled(self, **given: str) -> dict[str, str]:
        """What a browser sends once these fields are filled in; a field that is not there fails."""
        unknown = [name for name in given if name not in self.values and name not in self.choices]
        if unknown:
            raise KeyError(f"{', '.join(unknown)} cannot be filled in on this page")
        return {**self.values, **given}


@dataclass
class ReadPage:
    """What somebody finds on a page.

    Attributes
    ----------
    title
        The first heading.
    form
        The form, if there is one.
    results
        What is known, label by label, with all digits.
    data
        Numbers with names, such as what was true.
    """

    title: str = ""
    form: ReadForm | None = None
    results: dict[str, float] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)

    @property
    def stage(self) -> int | None:
        """The step that the form is for; None where nothing is asked any more."""
        named = None if self.form is None else self.form.values.get("step")
        return None if named is None else int(named)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = ReadPage()
        self._heard: list[str] | None = None
        self._label = ""
        self._in_results = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag in ("h1", "dt"):
            self._heard = []
        elif tag == "dl":
            self._in_results = said.get("id") == "results"
        elif tag == "data":
            if "id" in said:
                self.page.data[said["id"]] = said["value"]
            elif self._in_results:
                self.page.results[self._label] = float(said["value"])
        elif tag == "form":
            self.page.form = ReadForm(said.get("action", ""))
        elif self.page.form is not None and "name" in said:
            self._field(self.page.form, tag, said)

    def _field(self, form: ReadForm, tag: str, said: dict[str, str]) -> None:
        name, value = said["name"], said.get("value", "")
        if tag == "button" or said.get("type") in ("radio", "checkbox"):
            form.choices.setdefault(name, []).append(value)
        elif tag in ("input", "textarea"):
            form.values[name] = value

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h1", "dt") and self._heard is not None:
            text = " ".join("".join(self._heard).split())
            if tag == "dt":
                self._label = text
            elif not self.page.title:
                self.page.title = text
            self._heard = None

    def handle_data(self, data: str) -> None:
        if self._heard is not None:
            self._heard.append(data)


def read_page(text: str) -> ReadPage:
    """What is on a page.

    Parameters
    ----------
    text
        HTML.

    Returns
    -------
    ReadPage
        Its heading, its form, and its numbers.

    Examples
    --------
    >>> page = read_page('<h1>Case 1</h1><form action="/x"><input name="step" value="3"></form>')
    >>> page.title, page.stage, page.form.action
    ('Case 1', 3, '/x')
    """
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.page
