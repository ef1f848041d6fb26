"""What is registered, in sentences and tables: the same when checked, in Markdown, on the site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preceptor._base.files import write_all
from preceptor._base.progress import CONTRADICTION
from preceptor._base.words import counted, listed, percent
from preceptor.study.config import Configuration, Exclusions
from preceptor.study.freezing import Registration

JSON, TEXT = "preregistration.json", "preregistration.md"
MEASURES = {
    "training error": "the mean error of a person's answers in training",
    "test error": "the mean error of a person's answers in the test blocks",
    "slope change": "how much the weight that a person gives to {probe} changes",
    "kind": "which kind of person the answers speak for",
}
_TESTS = {
    "permutation": "a permutation test that swaps arms within places, which met the same cases",
    "welch": "Welch's t-test",
    "mixed": "a mixed model with a random intercept for each place, which met the same cases",
}
_POLICIES = {
    "plan": "shows what the plan says",
    "best fixed": "shows the best single set in every round",
    "most predictive": "shows the tests that predict best in every round",
    "random order": "shows sets in an order drawn for each person",
    "adaptive": "decides round by round from the person's answers",
    "sets": "shows the sets that the study file lists",
}


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs under it, and perhaps a table: its head, then its rows."""

    title: str
    paragraphs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...] = ()

    def lines(self) -> list[str]:
        """As lines of Markdown."""
        lines = [f"## {self.title}"]
        for paragraph in self.paragraphs:
            lines += ["", paragraph]
        if self.table:
            head, *rows = self.table
            ruled = [head, tuple("---" for _ in head), *rows]
            lines += ["", *(f"| {' | '.join(map(_cell, row))} |" for row in ruled)]
        return lines


def sections(registration: Registration) -> list[Section]:
    """What was registered, for people."""
    content = registration.content
    given = {key: value for key, value in content["study"].items() if key != "problem"}
    said = Configuration.model_validate(given)
    return [
        _about(content),
        _arms(content),
        _protocol(said),
        Section("Analysis", tuple(_analysis(content["analysis"]))),
        Section("Who is left out", tuple(_exclusions(said.exclusions))),
        Section("When it ends", tuple(_stopping(content["stopping"]))),
        _power(content["power"]),
        _versions(content),
    ]


def markdown(registration: Registration) -> str:
    """The same as Markdown, as registries such as OSF take it."""
    lines = [f"# {registration.content['title']}", "", f"SHA-256: `{registration.sha256}`"]
    for section in sections(registration):
        lines += ["", *section.lines()]
    return "\n".join(lines) + "\n"


def write_registration(registration: Registration, folder: Path) -> list[Path]:
    """Write the registered file and its Markdown, both or neither; gives where they are."""
    contents = {folder / JSON: registration.text, folder / TEXT: markdown(registration)}
    write_all({path: text.encode() for path, text in contents.items()})
    return list(contents)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _about(content: Mapping[str, Any]) -> Section:
    said = [content["description"]] if content["description"] else []
    said.append(
        f"Everything here was fixed before anybody took part. Cases, orders and assignments follow "
        f"from the seed {content['seed']}."
    )
    if content["contact"]:
        said.append(f"Contact: {content['contact']}")
    return Section("About", tuple(said))


def _arms(content: Mapping[str, Any]) -> Section:
    head = ("arm", "what it does", "shows in training", "costs", "above the best", "plan")
    rows = [
        (
            arm["name"],
            _POLICIES[arm["policy"]],
            _shown(arm["shows"]),
            "depends on chance" if arm["value"] is None else f"{arm['value']:.6g}",
            _above(arm["gap"]),
            arm["plan_sha256"][:12],
        )
        for arm in content["arms"]
    ]
    said = (
        "People are assigned after the instructions to the arm that is least filled, by permuted "
        "blocks from the seed. The same places of all arms meet the very same cases.",
        "What a policy costs is what the person that was planned for loses by it in all; above the "
        "best is by how much that can be more than the best possible.",
    )
    return Section("Arms", said, (head, *rows))


def _above(gap: float | None) -> str:
    if gap is None:
        return "not known"
    return f"at most {percent(gap)}" if gap > CONTRADICTION else "nothing"


def _shown(shows: Sequence[Mapping[str, Any]] | None) -> str:
    if shows is None:
        return "differs from person to person"
    most = 6
    parts = [f"{' + '.join(run['show'])} × {run['rounds']}" for run in shows]
    return ", then ".join(parts[:most]) + (", ..." if len(parts) > most else "")


def _protocol(said: Configuration) -> Section:
    rows = []
    for number, block in enumerate(said.block, start=1):
        rounds = getattr(block, "rounds", None)
        if block.kind == "test" and rounds is None:
            rounds = len(block.show) + len(block.probe)
        told = getattr(block, "feedback", False)
        feedback = "" if rounds is None else ("told" if told else "not told")
        checks = len(getattr(block, "check", ()))
        size = "" if rounds is None else f"{rounds}"
        rows.append((str(number), block.title, block.kind, size, feedback, str(checks or "")))
    head = ("", "block", "kind", "rounds", "outcome is", "checks")
    return Section("What people go through", (), (head, *rows))


def _analysis(analysis: Mapping[str, Any]) -> Iterator[str]:
    measure = MEASURES[analysis["measure"]].format(probe=analysis["probe"])
    arms = analysis["compare"]
    yield f"The measure is {measure}."
    if len(arms) == 2:
        better = f"{arms[0]} does better than {arms[1]}"
        sides = (
            "two-sided" if analysis["alternative"] == "two-sided" else f"one-sided: only {better}"
        )
        yield (
            f"Compared are {listed(arms)}, by {_TESTS[analysis['test']]} ({sides}), at the level "
            f"{analysis['level']:g}. It is expected that {better}."
        )
    else:
        yield f"It is estimated in the arm {arms[0]}, at the level {analysis['level']:g}."
    if analysis["smallest"] is not None:
        yield f"The smallest effect that would matter is {analysis['smallest']:g}."


def _exclusions(rules: Exclusions) -> Iterator[str]:
    found = []
    if rules.unfinished:
        found.append("whoever does not finish")
    if rules.failed_checks is not None:
        found.append(f"whoever fails {counted(rules.failed_checks, 'check')} or more")
    if rules.fastest_seconds is not None:
        found.append(
            f"whoever answers in less than {rules.fastest_seconds:g} seconds in half of the rounds"
        )
    if rules.same_answer is not None:
        found.append(
            f"whoever gives the same answer in more than {percent(rules.same_answer)} of the rounds"
        )
    if not found:
        yield "Nobody."
        return
    yield f"{'; '.join(found)}.".capitalize()
    yield "All of them are in the data, with a column that says that they are left out and why."


def _stopping(rule: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Nobody is let in any more once {rule['people']} people have finished, over "
        "all arms. The number can be raised with a reason, which is kept in the log; the study or "
        "an arm can be closed earlier, likewise."
    )
    caps = {name: cap for name, cap in rule["caps"].items() if cap is not None}
    if caps:
        yield "At most " + listed([f"{cap} in {name}" for name, cap in caps.items()]) + "."
    yield (
        f"Whoever is silent for {rule['drop_after_minutes']:g} minutes no longer fills a place, "
        "and the next person takes it."
    )


def _power(power: Mapping[str, Any] | None) -> Section:
    if power is None:
        return Section("Power", ("Was not computed.",))
    said = (
        f"Of {power['simulations']} simulated studies for each row, played by the protocol above "
        f"and analysed as registered, this share found something at the level {power['level']:g} "
        "(95% Monte-Carlo interval).",
    )
    head = ("people are", "an arm", "power", "effect, in standard deviations", "left out")
    rows = [
        (
            cell["kind"],
            str(cell["people"]),
            f"{cell['power']['share']:.2f} ({cell['power']['low']:.2f} to "
            f"{cell['power']['high']:.2f})",
            "not known" if cell["standardised"] is None else f"{cell['standardised']:.2f}",
            "not known" if cell["excluded"] is None else f"{cell['excluded']:.0%}",
        )
        for cell in power["cells"]
    ]
    return Section("Power", said, (head, *rows))


def _versions(content: Mapping[str, Any]) -> Section:
    rows = [("study file", content["study_sha256"])]
    rows += [(f"plan of {arm['name']}", arm["plan_sha256"]) for arm in content["arms"]]
    rows += sorted(content["versions"].items())
    return Section("Hashes and versions", (), (("", ""), *rows))
