"""Pages as simulated participants read them: forms with their fields, numbers with all digits.

Only what a browser would send is sent: the fields of the form, with hidden ones unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class ReadForm:
    """A form: its address, its values, and its choices with their words."""

    action: str = ""
    values: dict[str, str] = field(default_factory=dict)
    choices: dict[str, dict[str, str]] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    @property
    def fields(self) -> dict[str, dict[str, str] | None]:
        """What people fill in: the words of each choice, or None for a field to type into."""
        typed = [name for name in self.values if name not in self.hidden]
        return {**dict.fromkeys(typed), **self.choices}

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
    text
        What the page says, line by line, with what is wrong with a form that was sent.
    """

    title: str = ""
    form: ReadForm | None = None
    results: dict[str, float | str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def stage(self) -> int | None:
        """The step that the form is for; None if there is no such form."""
        named = None if self.form is None else self.form.values.get("step")
        return None if named is None else int(named)


# Elements that begin a line, and those whose words belong to a choice.
_LINES = ("p", "li", "h1", "h2", "legend", "dt", "div", "form")
_CHOOSES = ("label", "button")


class _PageParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = ReadPage()
        self._text: list[str] | None = None
        self._label = ""
        self._in_results = False
        self._lines: list[list[str]] | None = None  # of the main part
        self._words: list[str] | None = None  # of a label or a button
        self._choice: tuple[str, str] | None = None  # that they are about
        self._by_id: dict[str, tuple[str, str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "main":
            self._lines = []
        if self._lines is not None and tag in _LINES:
            self._lines.append([])
        elif tag in ("br", "dd"):
            self.handle_data(" ")
        if tag in _CHOOSES:
            self._words, self._choice = [], self._by_id.get(said.get("for", ""))
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
            form.choices.setdefault(name, {})[value] = value
            self._by_id[said.get("id", "")] = (name, value)
            if self._words is not None:  # inside its label, or a button
                self._choice = (name, value)
        elif tag in ("input", "textarea"):
            form.values[name] = value
            if said.get("type") == "hidden":
                form.hidden.add(name)

    def handle_endtag(self, tag: str) -> None:
        if tag == "main" and self._lines is not None:
            lines = (" ".join("".join(line).split()) for line in self._lines)
            self.page.text = "\n".join(line for line in lines if line)
            self._lines = None
        if tag in _CHOOSES and self._words is not None:
            if self._choice is not None and self.page.form is not None:
                name, value = self._choice
                self.page.form.choices[name][value] = " ".join("".join(self._words).split())
            self._words = self._choice = None
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
        if self._words is not None:
            self._words.append(data)
        if self._lines:
            self._lines[-1].append(data)


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
