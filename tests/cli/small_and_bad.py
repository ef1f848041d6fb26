"""Files of less than a megabyte that ask for gigabytes or hours, and the words that refuse them.

Each entry writes its files into a folder and gives the command that reads them.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.packing import RunTable

WORLD = {"coefficients": [1.0, 0.8], "correlation": 0.8}
LEARNER = {"initial": [0.2, 1.3], "curves": {"kind": "geometric", "alpha": 1.1}}
PROBLEM = {"world": WORLD, "learner": LEARNER, "budget": 1}
PLAN = {
    "format": "preceptor-plan/1",
    "problem": PROBLEM,
    "policy": {"kind": "stationary", "shown": [0]},
    "value": 10.0,
    "lower_bound": 1.0,
    "status": "bounded",
    "method": "by hand",
    "seconds": 1.0,
}
TABLE = "bmi,bp,y\n" + "".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(40))

Writer = Callable[[Path], list[Any]]


def packed(shape: list[int], kind: str, size: int) -> dict[str, Any]:
    """Zeros, as many bytes as are said, whatever the shape says."""
    pieces, packer = [], zlib.compressobj(9)
    for _ in range(size // 2**20):
        pieces.append(packer.compress(bytes(2**20)))
    text = base64.b64encode(b"".join([*pieces, packer.flush()])).decode()
    return {"shape": shape, "type": kind, "zlib": text}


def runs(values: dict[str, Any]) -> dict[str, Any]:
    """A run-length encoded table with these values."""
    return {"shape": [2, 2], "values": values, "lengths": packed([1], "<u4", 2**20)}


def problem(data: Any, suffix: str = ".json") -> Writer:
    def write(folder: Path) -> list[Any]:
        path = folder / f"problem{suffix}"
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return ["solve", path]

    return write


def many_tests(number: int, **others: Any) -> dict[str, Any]:
    world = {"coefficients": [0.1] * number, "correlation": 0.5}
    return {"world": world, "learner": LEARNER | {"initial": [0] * number}, "budget": 1} | others


def crowd(number: int) -> dict[str, Any]:
    members = [{"name": f"{i}", "weight": 1, "person": LEARNER} for i in range(number)]
    return {"kind": "crowd", "members": members}


def plan(data: dict[str, Any], command: str = "explain", *options: Any) -> Writer:
    def write(folder: Path) -> list[Any]:
        path = folder / "plan.json"
        path.write_text(json.dumps(PLAN | data))
        return [command, path, *options]

    return write


def table_of(entry: dict[str, Any]) -> dict[str, Any]:
    return {"policy": {"kind": "count-table", "table": entry, "sets": [[0]]}}


def packed_table(shape: list[int], kind: str, size: int) -> Writer:
    return plan(table_of(runs(packed(shape, kind, size))))


def counts(text: str, name: str = "counts.json") -> Writer:
    def write(folder: Path) -> list[Any]:
        (folder / name).write_text(text)
        return [*plan({}, "next")(folder), "--shown", folder / name]

    return write


def with_table(command: str, text: str, name: str, *options: Any) -> Writer:
    """A command about a small table, with one more file; its name stands for it in the options."""

    def write(folder: Path) -> list[Any]:
        (folder / "cases.csv").write_text(TABLE)
        (folder / name).write_text(text)
        given = [folder / each if each in (name, "cases.csv") else each for each in options]
        return [command, *given, "--outcome", "y", "--dry-run"]

    return write


def learner_file(person: Any, **others: Any) -> Writer:
    data = {"format": "preceptor-learner/2", "tests": ["bmi", "bp"], "scales": [1, 1]}
    text = json.dumps(data | {"person": person} | others)
    return with_table("plan", text, "l.json", "cases.csv", "--learner", "l.json")


DEEP = '{"a":' * 90_000 + "1" + "}" * 90_000
LOG = '{"participant": "a", "round": 1, "shown": ["bmi"], "values": [1], "prediction": '

BAD_FILES: dict[str, tuple[str, Writer]] = {
    "tests": ("20,000 tests with one correlation", problem(many_tests(20_000))),
    "samples": (
        "samples: 2000000000, must be a whole number from 2 to",
        problem(PROBLEM | {"loss": {"kind": "empirical", "samples": 2_000_000_000}}),
    ),
    "samples-and-tests": (
        "samples: 1,000,000 cases of 100 tests",
        problem(many_tests(100, loss={"kind": "empirical", "samples": 1_000_000})),
    ),
    "horizon": ("at most 100,000 rounds", problem(PROBLEM | {"horizon": 10**7})),
    "horizon-and-tests": (
        "at most 50,000 rounds",
        problem(many_tests(1000, horizon=10**5)),
    ),
    "long-horizon": (
        "100,000 rounds are too many to be searched, 5,000 are the most; leave out the horizon",
        lambda folder: [*problem(PROBLEM | {"horizon": 10**5})(folder), "--method", "search"],
    ),
    "sets": (
        "sets of 200 tests are allowed, more than the 2,000,000",
        lambda folder: [*problem(many_tests(200, budget=100))(folder), "--method", "stationary"],
    ),
    "start": ("from 0 to 1,000,000,000 showings", problem(PROBLEM | {"start": [10**30, 0]})),
    "nested": ("nested more than 50 levels deep", problem(DEEP)),
    "nested-lists": ("nested more than 50", problem("[" * 400_000 + "]" * 400_000)),
    "nested-toml": ("nested more than 50", problem("a = " + "[" * 90_000 + "]" * 90_000, ".toml")),
    "dotted-toml": ("nested more than 50", problem(".".join("a" * 400_000) + " = 1", ".toml")),
    "inline-toml": (
        "nested more than 50",
        problem("x = {" + ".".join("a" * 400_000) + " = 1}", ".toml"),
    ),
    "digits": ("more than 4,300 digits", problem('{"budget": ' + "1" * 5_000 + "}")),
    "digits-toml": ("more than 4,300 digits", problem("budget = " + "1" * 5_000, ".toml")),
    "groups": (
        "column 0 appears twice",
        problem(PROBLEM | {"world": WORLD | {"groups": {"a": [0] * 300_000}}}),
    ),
    "names": ("'a' repeated", problem(PROBLEM | {"world": WORLD | {"names": ["a"] * 180_000}})),
    "curves": (
        "40000 curves for 2 tests",
        problem(PROBLEM | {"learner": LEARNER | {"curves": [{"kind": "one-shot"}] * 40_000}}),
    ),
    "crowd": ("a crowd has at most 500", problem(PROBLEM | {"learner": crowd(6_000)})),
    "array": ("takes more than 128 MB", packed_table([30_000, 30_000], "<f8", 2**20)),
    "array-too-small": (
        "does not hold what its shape says",
        packed_table([2, 2], "<i8", 64 * 2**20),
    ),
    "array-negative": (
        "must be whole numbers of at least 0",
        packed_table([-1, 2], "<i8", 2**20),
    ),
    "array-of-objects": ("type '|O', must be one of", packed_table([2], "|O", 2**20)),
    "array-of-axes": ("array is damaged", packed_table([1] * 90_000, "<i8", 2**20)),
    "array-long": (
        "at most 1,000,000 long together",
        plan(table_of(RunTable.of(np.zeros((2**25, 1), dtype=np.uint8)).packed())),
    ),
    "certificate": (
        "certificate potentials: the packed array is damaged",
        plan({"certificate": {"potentials": packed([10**9], "<f8", 2**20)}}),
    ),
    "rounds": (
        "lists 150,000 rounds of 500 tests",
        plan(
            {
                "problem": many_tests(500),
                "policy": {"kind": "explore-then-commit", "prefix": [[1]] * 150_000, "final": [0]},
            },
            "next",
        ),
    ),
    "set-of-far-test": ("tests 0..1", plan({"policy": {"kind": "stationary", "shown": [10**12]}})),
    "plan-nested": ("nested more than 50", lambda f: [problem(DEEP)(f)[1], "explain"][::-1]),
    "people": ("--people: 100,000,000 with", plan({}, "simulate", "--people", 100_000_000)),
    "simulated-rounds": ("numbers, must be", plan({}, "simulate", "--rounds", 10**9)),
    "counts": ("more than 4,300 digits", counts('{"x1": ' + "1" * 5_000 + "}")),
    "counts-4000": ("is not a number", counts('{"x1": ' + "1" * 4_000 + "}")),
    "counts-1e300": ("at most 1,000,000,000", counts('{"x1": 1e300}')),
    "counts-wide": ("field larger than", counts(f'name,count\n"{"x" * 200_000}",1\n', "c.csv")),
    "learner": (
        "l.json, person: learner: 3 initial coefficients, but the world has 2 tests",
        learner_file(LEARNER | {"initial": [1, 2, 3]}),
    ),
    "learner-scales": (
        "l.json: scales: must be a number for each of 2 tests",
        learner_file(LEARNER, scales=[1]),
    ),
    "learner-nobody": (
        "l.json, person: people: none",
        learner_file({"kind": "crowd", "members": []}),
    ),
    "learner-nested": (
        "nested more than 50",
        with_table("plan", DEEP, "l.json", "cases.csv", "--learner", "l.json"),
    ),
    "log": (
        "line 1: nested more than 50",
        with_table("fit", LOG + "[" * 90_000 + "]" * 90_000 + "}\n", "l.jsonl",
                   "l.jsonl", "--data", "cases.csv"),
    ),
    "log-digits": (
        "line 1: holds a whole number of more than",
        with_table("fit", LOG + "1" * 5_000 + "}\n", "l.jsonl", "l.jsonl", "--data", "cases.csv"),
    ),
    "log-round": (
        "l.jsonl: line 1",
        with_table("fit", LOG.replace('"round": 1', '"round": 1' + "0" * 400) + "1}\n", "l.jsonl",
                   "l.jsonl", "--data", "cases.csv"),
    ),
    "log-wide": (
        "field larger than",
        with_table("fit", "participant,round\n" + "x" * 200_000 + ",1\n", "l.csv",
                   "l.csv", "--data", "cases.csv"),
    ),
}  # fmt: skip
