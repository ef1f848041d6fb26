"""The table of numbered statements: every name is there, and every number of the paper."""

import importlib
import re
import string
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory.md").read_text("utf-8")
PAPER = ROOT.parent / "shared" / "paper" / "paper.tex"
KINDS = ["theorem", "proposition", "lemma", "corollary", "assumption", "definition", "remark"]


def rows() -> dict[str, list[str]]:
    """Statement to the cells behind it."""
    table = PAGE.split("## Every numbered statement")[1]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {first: rest for first, *rest in cells[1:]}


def found(name: str) -> object:
    """What a dotted name below `preceptor` stands for."""
    parts = name.split(".")
    for cut in range(len(parts), -1, -1):
        try:
            thing = importlib.import_module(".".join(["preceptor", *parts[:cut]]))
        except ImportError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("statement", rows())
def test_every_name_in_the_table_exists(statement):
    _, names, tests = rows()[statement]
    listed = re.findall(r"`([^`]+)`", names)
    assert listed
    for name in listed:
        found(name)
    for path in re.findall(r"`([^`]+)`", tests):
        assert "def test_" in (ROOT / path).read_text("utf-8"), path


def test_names_that_do_not_exist_are_seen():
    with pytest.raises(AttributeError):
        found("theory.no_such_function")


def whole(files: dict[str, str], name: str) -> str:
    """A file with those that it inputs in their places."""

    def put_in(match: re.Match[str]) -> str:
        return whole(files, match[1] + ".tex") if match[1] + ".tex" in files else ""

    return re.sub(r"\\input\{([^}]*)\}", put_in, files[name])


def lines_of(text: str) -> list[str]:
    """Lines of a display; a break within braces belongs to what stands there."""
    lines, depth = [""], 0
    for token in re.findall(r"\\\\|\\[{}]|[{}]|.", text, flags=re.DOTALL):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if token == r"\\" and depth == 0:
            lines.append("")
        else:
            lines[-1] += token
    return lines


def numbered(text: str) -> list[str]:
    """What LaTeX would number, in order: statements by section, the rest through."""
    section, letters, within, equations, algorithms = 0, False, 0, 0, 0
    listed = []
    begins = re.compile(r"\\section\{|\\appendix|\\begin\{([a-zA-Z]+\*?)\}")
    for match in begins.finditer(text):
        kind = match[1]
        if match[0] == r"\appendix":
            section, letters = 0, True
        elif kind is None:
            section, within = section + 1, 0
        elif kind in KINDS:
            within += 1
            place = string.ascii_uppercase[section - 1] if letters else str(section)
            listed.append(f"{kind.capitalize()} {place}.{within}")
        elif kind.startswith("algorithm") and kind != "algorithmic":
            algorithms += 1
            listed.append(f"Algorithm {algorithms}")
        elif kind in {"equation", "align"}:
            inside = text[match.end() : text.index(rf"\end{{{kind}}}", match.end())]
            for line in lines_of(inside) if kind == "align" else [inside]:
                if r"\notag" not in line and r"\nonumber" not in line:
                    equations += 1
                    listed.append(f"Equation {equations}")
    return listed


def test_numbers_are_counted_as_latex_does():
    text = r"""\section{One} \begin{equation} a \end{equation} \begin{lemma} \end{lemma}
    \section*{None} \begin{align} a_{i \\ \{ j} \\ b \notag \\ c \end{align}
    \begin{equation*} \end{equation*}
    \appendix \section{Two} \begin{algorithm*} \begin{algorithmic} \end{algorithmic}
    \end{algorithm*} \begin{theorem} \end{theorem} \begin{remark} \end{remark}"""
    expected = ["Equation 1", "Lemma 1.1", "Equation 2", "Equation 3"]
    assert numbered(text) == [*expected, "Algorithm 1", "Theorem A.1", "Remark A.2"]


@pytest.mark.skipif(not PAPER.exists(), reason="the paper's source is not next to this repository")
def test_every_numbered_statement_of_the_paper_is_listed():
    parts = re.split(r"^%% file: (\S+)$", PAPER.read_text("utf-8"), flags=re.MULTILINE)[1:]
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    text = whole(files, "main.tex")
    assert sorted(numbered(text)) == sorted(rows())
