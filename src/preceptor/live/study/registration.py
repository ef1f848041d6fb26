"""Study files from templates, and the registration: all that is fixed before a study opens.

The registration is one text with one hash: the text is the file `preregistration.json`, so
`sha256sum preregistration.json` prints the hash. It does not depend on when or where it was made:
the same study file, frozen by the same version, gives the same hash. It is presented in sentences
and tables in the terminal, as Markdown, and on the site.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any

from preceptor._base.files import write_all
from preceptor._base.progress import CONTRADICTION
from preceptor._base.values import plain
from preceptor._base.version import VERSION
from preceptor._base.words import counted, listed, percent
from preceptor.errors import InvalidInput
from preceptor.learners.families import SURE
from preceptor.live.store.plans import sha256_of
from preceptor.live.study.arms import Arm
from preceptor.live.study.config import (
    ID,
    ChoiceQuestion,
    Configuration,
    Exclusions,
    LikertQuestion,
    NumberQuestion,
    SurveyQuestion,
)
from preceptor.live.study.study import Study

_PLACEHOLDER = re.compile(r"\[\[(.+?)\]\]", re.DOTALL)


def template_names() -> tuple[str, ...]:
    """Names of the templates, sorted."""
    folder = resources.files("preceptor.live.study") / "templates"
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
        There is no such template.
    """
    names = template_names()
    if name not in names:
        raise InvalidInput(f"template: {name!r} is not known; there are {', '.join(names)}")
    file = resources.files("preceptor.live.study") / "templates" / f"{name}.toml"
    return file.read_text("utf-8")


def headline(name: str) -> str:
    """One-line description of a template: its first comment."""
    return template(name).splitlines()[0].removeprefix("# ")


def from_template(name: str, id: str, seed: int) -> str:
    """Make a study file from a template, with a new id and seed.

    Parameters
    ----------
    name
        Name of the template.
    id
        Id of the new study, part of its address.
    seed
        For its cases and arms.

    Returns
    -------
    str
        The text of the new file.

    Raises
    ------
    InvalidInput
        No such template, or an invalid id.

    Examples
    --------
    >>> text = from_template("decisive", "first-try", 7)
    >>> [line.split("#")[0].rstrip() for line in text.splitlines() if line.startswith("id =")]
    ['id = "first-try"']
    """
    if not re.match(ID, id):
        raise InvalidInput(
            f"id: {id!r}, must be lower-case letters, digits, hyphens, at most 64; rename the file"
        )
    text = template(name)
    for old, new in ((r'id = "[^"]*"', f'id = "{id}"'), (r"seed = \d+", f"seed = {seed}")):
        # Trailing comments keep their column.
        text = re.sub(rf"^{old} *", f"{new} ".ljust(32), text, count=1, flags=re.MULTILINE)
    return text


def placeholders(study: Study) -> list[str]:
    """Placeholders in double brackets that the texts of a study still have."""
    texts = _texts(study.configuration.model_dump(mode="json"))
    return [" ".join(found.split()) for text in texts for found in _PLACEHOLDER.findall(text)]


def _texts(said: Any) -> Iterator[str]:
    if isinstance(said, str):
        yield said
    elif isinstance(said, (dict, list)):
        for part in said.values() if isinstance(said, dict) else said:
            yield from _texts(part)


FORMAT = "preceptor-preregistration/1"
# Must not be known before the end.
_CODES = ("code", "screened_out", "no_consent")
# Packages that the analysis depends on.
_PACKAGES = ("numpy", "scipy", "pandas")


@dataclass(frozen=True)
class Registration:
    """The registration of a study, fixed when it is opened.

    Attributes
    ----------
    text
        The file; the hash is of its bytes.
    """

    text: str

    @cached_property
    def sha256(self) -> str:
        """Hash of the file, as `sha256sum` prints it."""
        return sha256_of(self.text)

    @cached_property
    def content(self) -> dict[str, Any]:
        """The file as plain data."""
        content: dict[str, Any] = json.loads(self.text)
        return content


def freeze(
    study: Study,
    arms: Sequence[Arm],
    power: Mapping[str, Any] | None = None,
    *,
    is_draft: bool = False,
) -> Registration:
    """Freeze a study: collect everything that is fixed before it opens.

    Parameters
    ----------
    study
        The study.
    arms
        Its arms, from `make_arms`.
    power
        Result of `preceptor study power`, if it was run.
    is_draft
        For previews: placeholders are allowed.

    Returns
    -------
    Registration
        The same for the same arguments, on any day.

    Raises
    ------
    InvalidInput
        The study file still has placeholders.
    """
    if not is_draft:
        InvalidInput.raise_if(unwritten(study))
    if power is not None and not {"cells", "simulations", "level"} <= power.keys():
        raise InvalidInput("power: is not what `preceptor study power FILE --json` prints")
    said = study.configuration
    content = {
        "format": FORMAT,
        "id": said.id,
        "title": said.title,
        "description": said.description,
        "contact": said.contact,
        "study_sha256": study.sha256,
        "study": public(study),
        "seed": said.seed,
        "arms": [_arm(arm, study) for arm in arms],
        "analysis": said.analysis.model_dump(mode="json"),
        "exclusions": said.exclusions.model_dump(mode="json"),
        "stopping": {
            "people": said.people,
            "caps": {arm.name: arm.cap for arm in said.arm},
            "drop_after_minutes": said.recruiting.drop_after,
            "release_after_minutes": said.recruiting.release_after,
        },
        "power": None if power is None else dict(power),
        "versions": versions(),
    }
    return Registration(canonical(content))


def canonical(content: Mapping[str, Any]) -> str:
    """Canonical JSON: sorted keys, two spaces per level, a final newline."""
    text = json.dumps(plain(content), ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False)
    return f"{text}\n"


def versions() -> dict[str, str]:
    """Versions of this package and of those that the analysis depends on."""
    found = {"preceptor": VERSION}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _arm(arm: Arm, study: Study) -> dict[str, Any]:
    shown = arm.schedule(study.training_rounds, study.configuration.seed, 0)
    advice = next(each.advice for each in study.configuration.arm if each.name == arm.name)
    # Where chance decides, each participant has their own order, which follows from the seed.
    is_one_for_all = shown is not None and arm.policy != "random order"
    return {
        "name": arm.name,
        "policy": arm.policy,
        "plan_sha256": sha256_of(arm.plan),
        "value": arm.value,
        "gap": arm.gap,
        "shows": _runs(shown, study) if is_one_for_all and shown is not None else None,
        **({} if advice == "none" else {"advice": advice}),
        **({} if arm.in_view is None else {"chooses": arm.in_view.in_words()}),
    }


def _runs(shown: Sequence[Sequence[int]], study: Study) -> list[dict[str, Any]]:
    """Sets in order, each with the number of rounds it is shown."""
    runs = groupby(map(study.problem.world.name_of, shown))
    return [{"show": list(names), "rounds": len(list(run))} for names, run in runs]


def public(study: Study) -> dict[str, Any]:
    """A study as plain data, without completion codes.

    A person who could read the codes could be paid without taking part.
    """
    said = study.to_dict()
    kept = {k: v for k, v in said.get("completion", {}).items() if k not in _CODES}
    shown = {key: value for key, value in said.items() if key != "completion"}
    return {**shown, "completion": kept} if kept else shown


def unwritten(study: Study) -> list[str]:
    """Placeholders of a study file, a sentence each."""
    return [f"[[{each}]]: has to be filled in" for each in placeholders(study)]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Diff of two studies as plain data, line by line."""
    opened, now = canonical(before).splitlines(), canonical(after).splitlines()
    found = difflib.unified_diff(opened, now, "when opened", "now", lineterm="", n=0)
    return [line for line in found if not line.startswith("@@")]


JSON, TEXT = "preregistration.json", "preregistration.md"
MEASURES = {
    "training error": "the mean error of a person's answers in training",
    "test error": "the mean error of a person's answers in the test blocks",
    "slope change": "how much the weight that a person gives to {probe} changes",
    "kind": "which kind of person the answers indicate",
}
_TESTS = {
    "permutation": "a permutation test that swaps arms within places, which have the same cases",
    "welch": "Welch's t-test",
}
_POLICIES = {
    "plan": "shows what the plan says",
    "best fixed": "shows the best single set in every round",
    "most predictive": "shows the tests that predict best in every round",
    "random order": "shows sets in a random order for each person",
    "adaptive": "decides round by round from the person's answers",
    "case-aware": "looks at the case",
    "sets": "shows the sets that the study file lists",
}

_ADVICE = {
    "none": "",
    "prediction": "; says what it predicts from the results shown",
    "weights": "; says the true weights of the tests shown",
    "contrast": "; says which of the tests shown the person weighs wrongly",
}


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, and perhaps a table: its head, then its rows."""

    title: str
    paragraphs: tuple[str, ...]
    table: tuple[tuple[str, ...], ...] = ()

    def lines(self) -> list[str]:
        """Lines of Markdown."""
        lines = [f"## {self.title}"]
        for paragraph in self.paragraphs:
            lines += ["", paragraph]
        if self.table:
            head, *rows = self.table
            ruled = [head, tuple("---" for _ in head), *rows]
            lines += ["", *(f"| {' | '.join(map(_cell, row))} |" for row in ruled)]
        return lines


def sections(registration: Registration) -> list[Section]:
    """The registration as sections."""
    content = registration.content
    given = {key: value for key, value in content["study"].items() if key != "problem"}
    said = Configuration.model_validate(given)
    return [
        _about(content),
        _arms(content),
        _protocol(said),
        *_surveys(said),
        Section("Analysis", tuple(_analysis(content["analysis"]))),
        Section("Exclusions", tuple(_exclusions(said.exclusions))),
        Section("Stopping rule", tuple(_stopping(content["stopping"]))),
        *_payment(said),
        _power(content["power"]),
        _versions(content),
    ]


def markdown(registration: Registration) -> str:
    """The registration as Markdown, for registries such as OSF."""
    lines = [f"# {registration.content['title']}", "", f"SHA-256: `{registration.sha256}`"]
    for section in sections(registration):
        lines += ["", *section.lines()]
    return "\n".join(lines) + "\n"


def write_registration(registration: Registration, folder: Path) -> list[Path]:
    """Write the registration as JSON and Markdown, both or neither; return their paths."""
    contents = {folder / JSON: registration.text, folder / TEXT: markdown(registration)}
    write_all({path: text.encode() for path, text in contents.items()})
    return list(contents)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _about(content: Mapping[str, Any]) -> Section:
    said = [content["description"]] if content["description"] else []
    said.append(
        "Everything here was fixed before the first participant. Cases, orders and assignments "
        f"follow from the seed {content['seed']}."
    )
    if content["contact"]:
        said.append(f"Contact: {content['contact']}")
    return Section("About", tuple(said))


def _arms(content: Mapping[str, Any]) -> Section:
    head = ("arm", "what it does", "shows in training", "cost", "above the optimum", "plan")
    rows = [
        (
            arm["name"],
            arm.get("chooses", _POLICIES[arm["policy"]]) + _ADVICE[arm.get("advice", "none")],
            _shown(arm["shows"]),
            "depends on chance" if arm["value"] is None else f"{arm['value']:.6g}",
            _above(arm["gap"]),
            arm["plan_sha256"][:12],
        )
        for arm in content["arms"]
    ]
    said = (
        "Participants are assigned after the instructions to the least filled arm, by permuted "
        "blocks from the seed. The same places of all arms have the same cases.",
        "The cost of a policy is its total loss for the person that was planned for; `above the "
        "optimum` bounds its relative excess.",
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
        later = getattr(block, "after_days", None)
        kind = block.kind if later is None else f"{block.kind}, {later:g} days later"
        rows.append((str(number), block.title, kind, size, feedback, str(checks or "")))
    head = ("", "block", "kind", "rounds", "outcome is", "checks")
    sure = [
        f"In block {number}, participants say how sure they are of each answer, from "
        f"{scale.in_words()}."
        for number, scale in said.confidence.items()
    ]
    return Section("Protocol", tuple(sure), (head, *rows))


def _surveys(said: Configuration) -> Iterator[Section]:
    rows = [
        (str(number), each.name, each.text, _answers(each), "yes" if each.optional else "")
        for number, block in enumerate(said.block, start=1)
        for each in (block.question if block.kind == "survey" else ())
    ]
    if rows:
        yield Section("Survey", (), (("block", "name", "question", "answer", "optional"), *rows))


def _answers(question: SurveyQuestion) -> str:
    """What a question of a survey may be answered with."""
    if isinstance(question, ChoiceQuestion):
        return " / ".join(question.choices)
    if isinstance(question, LikertQuestion):
        return question.in_words()
    if isinstance(question, NumberQuestion):
        low = "" if question.low is None else f" from {question.low:g}"
        high = "" if question.high is None else f" up to {question.high:g}"
        return f"number{low}{high} {question.unit}".rstrip()
    return "text"


def _analysis(analysis: Mapping[str, Any]) -> Iterator[str]:
    measure = MEASURES[analysis["measure"]].format(probe=analysis["probe"])
    arms = analysis["compare"]
    only = analysis.get("block")
    which = "" if only is None else f"; only block {only} counts"
    yield f"The measure is {measure}{which}."
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
        if analysis["measure"] == "kind":
            yield (
                "The test is a sign test among people whose kind is decided (a probability of at "
                f"least {percent(SURE)}). People whose answers do not depend on the results shown "
                "are neither of one kind nor of the other. The study shows something only if also "
                "more people are decided than could be if everybody answered at random."
            )
    if analysis["smallest"] is not None:
        yield f"The smallest effect that would matter is {analysis['smallest']:g}."


def _exclusions(rules: Exclusions) -> Iterator[str]:
    found = []
    if rules.unfinished:
        found.append("participants who do not finish")
    if rules.failed_checks is not None:
        found.append(f"participants who fail {counted(rules.failed_checks, 'check')} or more")
    if rules.fastest_seconds is not None:
        found.append(
            f"participants whose median answer takes less than {rules.fastest_seconds:g} seconds"
        )
    if rules.same_answer is not None:
        found.append(
            f"participants with the same answer in over {percent(rules.same_answer)} of the rounds"
        )
    if rules.unrelated_answers is not None:
        found.append(
            "participants whose answers, with a probability of at least "
            f"{percent(rules.unrelated_answers)}, do not depend on the results shown"
        )
    if not found:
        yield "None."
        return
    yield f"Excluded are {'; '.join(found)}."
    yield "They stay in the data, with a column that gives the reason."


def _stopping(rule: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Recruiting stops once {rule['people']} participants have finished, over all arms. The "
        "number can be raised, and the study or an arm can be closed earlier; the reason is "
        "recorded in the log."
    )
    caps = {name: cap for name, cap in rule["caps"].items() if cap is not None}
    if caps:
        yield "At most " + listed([f"{cap} in {name}" for name, cap in caps.items()]) + "."
    yield (
        f"A participant who is inactive for {rule['drop_after_minutes']:g} minutes "
        f"({rule['release_after_minutes']:g} before the first answer to a case) gives up their "
        "place to the next one."
    )


def _payment(said: Configuration) -> Iterator[Section]:
    rule = said.payment
    if rule is not None:
        yield Section(
            "Payment",
            (
                f"A bonus of {rule.most:g} {rule.currency}".rstrip() + " without errors, less in "
                f"proportion to the mean error, and none from an error of {rule.none_at:g} on.",
            ),
        )


def _power(power: Mapping[str, Any] | None) -> Section:
    if power is None:
        return Section("Power", ("Not computed.",))
    said = (
        f"Power is the share of {power['simulations']} simulated studies, run by this protocol and "
        f"analysed as registered, that are significant at the level {power['level']:g} (95% "
        "Monte-Carlo interval).",
    )
    head = ("kind", "people per arm", "power", "effect, in standard deviations", "excluded")
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
