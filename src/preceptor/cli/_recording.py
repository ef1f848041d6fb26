"""A case that has just been shown, as somebody types it: results, answer and outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import preceptor
from preceptor._base.words import unknown_names
from preceptor.errors import InvalidInput


@dataclass(frozen=True)
class Recorded:
    """What was typed: results as text, what was said, what was true, and which case it was."""

    values: str
    answer: float
    outcome: float | None
    case: int | None


def typed(
    record: bool,
    values: str | None,
    answer: float | None,
    outcome: float | None,
    case: int | None,
) -> Recorded | None:
    """What is to be recorded, if anything; options that need each other are asked for."""
    given = {"--values": values, "--answer": answer, "--outcome": outcome, "--case": case}
    if not record:
        InvalidInput.raise_if(
            f"{option}: is about a case that was shown; give --record too"
            for option, value in given.items()
            if value is not None
        )
        return None
    words = {
        "--values": "the results that were seen, e.g. --values 85,18.2 or abdomen=85,wrist=18.2",
        "--answer": "what the person said, e.g. --answer 20",
    }
    InvalidInput.raise_if(f"{o}: give {words[o]}" for o in words if given[o] is None)
    assert values is not None
    assert answer is not None
    return Recorded(values, answer, outcome, case)


def results_in(
    text: str, world: preceptor.World, shown: Sequence[int]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Columns and their results, from "85,18.2" in the order of `shown`, or from "wrist=18.2".

    Semicolons may stand between them instead; then decimals may have a comma.
    """
    parts = [part.strip() for part in text.split(";" if ";" in text else ",")]
    tests = world.name_of(shown)
    if text.strip() and all("=" in part for part in parts):
        pairs = [(part.split("=", 1)[0].strip(), part.split("=", 1)[1].strip()) for part in parts]
    elif len(parts) == len(tests) and not any("=" in part for part in parts):
        pairs = list(zip(tests, parts, strict=True))
    elif not text.strip() and not tests:
        pairs = []
    else:
        raise InvalidInput(
            f"--values: {text!r}, must be {len(tests)} results, of {', '.join(tests) or 'nothing'} "
            "in this order; or name what was shown, e.g. abdomen=85,wrist=18.2"
        )
    return _columns(world, pairs)


def _columns(
    world: preceptor.World, pairs: Sequence[tuple[str, str]]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    blocks = dict(zip(world.tests, world.blocks, strict=True))
    faults = unknown_names("--values", [name for name, _ in pairs], world.tests)
    names = [name for name, _ in pairs]
    faults += [f"--values: {n!r} comes twice" for n in dict.fromkeys(names) if names.count(n) > 1]
    found: dict[int, float] = {}
    for name, cell in pairs:
        block = blocks.get(name, ())
        if len(block) == 1 and world.labels[block[0]] == name:
            try:
                found[block[0]] = float(cell.replace(",", "."))
            except ValueError:
                faults.append(f"--values: {name} {cell!r} is not a number")
        elif block:
            levels = [world.labels[i].removeprefix(f"{name}=") for i in block]
            if cell and cell not in levels:
                faults.append(
                    f"--values: {name} {cell!r} is not one of its levels {', '.join(levels)} "
                    f"(write {name}= for the most common level, which has no column)"
                )
            found |= {i: float(cell == level) for i, level in zip(block, levels, strict=True)}
    InvalidInput.raise_if(faults)
    return tuple(sorted(found)), tuple(found[i] for i in sorted(found))
