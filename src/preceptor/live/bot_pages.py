"""Pages as simulated participants read them: forms with their fields, numbers with all digits.

Only what a browser would send is sent: the fields of the form, with hidden ones unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class ReadForm:
    """A form: its address, its values, and its choices."""

    action: str = ""
    values: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)

    def filled(self, **given: str) -> dict[str, str]:
        """Values that a browser sends after these fields are filled in; they must exist."""
        unknown = [name for name in given if name not in self.values and name not in self.choices]
        if unknown:
            raise KeyError(f"{', '.join(unknown)} cannot be filled in on this page")
        return {**self.values, **given}


@dataclass
class ReadPage:
    """The content of a page.

    Attributes
    ----------
    title
        The first heading.
    form
        The form, if there is one.
    results
        Shown results by label: numbers with all digits, or levels of categories.
    data
        Named numbers, such as the outcome.
    """

    title: str = ""
    form: ReadForm | None = None
    results: dict[str, float | str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)

    @property
    def stage(self) -> int | None:
        """The step that the form is for; None if there is no such form."""
        named = None if self.form is None else self.form.values.get("step")
        return None if named is None else int(named)


class _PageParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = ReadPage()
        self._text: list[str] | None = None
        self._label = ""
        self._in_results = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag in ("h1", "dt"):
            self._text = []
        elif tag == "dl":
            self._in_results = said.get("id") == "results"
        elif tag == "data":
            if "id" in said:
                self.page.data[said["id"]] = said["value"]
            elif self._in_results:
                self.page.results[self._label] = _result(said["value"])
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
        if tag in ("h1", "dt") and self._text is not None:
            text = " ".join("".join(self._text).split())
            if tag == "dt":
                self._label = text
            elif not self.page.title:
                self.page.title = text
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)


def _result(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def read_page(text: str) -> ReadPage:
    """Read a page.

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
    reader = _PageParser()
    reader.feed(text)
    reader.close()
    return reader.page
