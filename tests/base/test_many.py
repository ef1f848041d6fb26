"""Many items through one function: the same answers in order, wherever and in whatever company."""

import functools
import json
import math
import time

import pytest

from preceptor._base.many import Journal, chunk_for, run_many
from preceptor._base.parallel import LocalProcesses, Serial
from preceptor.errors import InvalidFile, InvalidInput

SEEN = []


def root(number):
    """A square root; later items are finished first where several are worked on."""
    SEEN.append(number)
    time.sleep(0.02 if number == 0 else 0.0)
    return {"root": math.sqrt(number)}


def roots(numbers):
    """The same for a list."""
    return [root(number) for number in numbers]


def power(number, exponent):
    return number**exponent


@pytest.fixture(scope="module")
def two():
    with LocalProcesses(2) as executor:
        yield executor


@pytest.mark.parametrize("chunk", [1, 3, 50])
@pytest.mark.parametrize(("function", "together"), [(root, False), (roots, True)])
def test_the_same_answers_in_order(two, chunk, function, together):
    wanted = [{"root": math.sqrt(i)} for i in range(10)]
    for executor in (None, Serial(), two):
        told = []
        found = run_many(
            function,
            range(10),
            executor=executor,
            chunk=chunk,
            together=together,
            progress=told.append,
        )
        assert found == wanted
        shares = [update.done for update in told]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
        assert len(shares) == math.ceil(10 / chunk)
        assert told[-1].stage.startswith("10 of 10 items, ")


def test_nothing_to_do():
    assert run_many(root, []) == []


def test_what_is_finished_is_not_run_again(tmp_path):
    path = tmp_path / "roots.jsonl"
    whole = run_many(root, range(6), journal=path, key=str)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]) + lines[3] + lines[4][:9])
    SEEN.clear()
    told = []
    assert run_many(root, range(6), journal=path, key=str, progress=told.append) == whole
    assert SEEN == [2, 4, 5]
    assert told[0].done == 0.5
    assert [json.loads(line)["cell"] for line in path.read_text().splitlines()] == list("013245")
    SEEN.clear()
    assert run_many(root, [5, 5, 1], journal=path, key=str)[::2] == [whole[5], whole[1]]
    assert SEEN == []


def test_a_run_that_fails_keeps_what_it_had(tmp_path):
    path = tmp_path / "roots.jsonl"
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        run_many(root, [4, 9, -1], journal=path, key=str)
    SEEN.clear()
    assert run_many(root, [4, 9], journal=path, key=str) == [{"root": 2.0}, {"root": 3.0}]
    assert SEEN == []


def test_answers_that_are_not_plain_data_are_packed(tmp_path):
    path = tmp_path / "numbers.jsonl"
    square = functools.partial(power, exponent=2)
    ways = {
        "journal": path,
        "key": str,
        "pack": lambda z: None if z == 1 else [z.real, z.imag],  # 1 is not worth keeping
        "unpack": lambda pair: complex(*pair),
    }
    wanted = [-1 + 0j, 1 + 0j, -4 + 0j]
    assert run_many(square, [1j, 1 + 0j, 2j], **ways) == wanted
    assert len(path.read_text().splitlines()) == 2
    assert run_many(square, [1j, 1 + 0j, 2j], **ways) == wanted

    def damaged(data):
        raise InvalidInput("damaged")

    assert run_many(square, [1j, 1 + 0j, 2j], **ways | {"unpack": damaged}) == wanted


def test_another_key_or_function_is_another_question(tmp_path):
    path = tmp_path / "powers.jsonl"
    for exponent in (2, 3):
        function = functools.partial(power, exponent=exponent)
        answers = run_many(function, [2, 3], journal=path, key=f"{{}}^{exponent}".format)
        assert answers == [2**exponent, 3**exponent]
    SEEN.clear()
    run_many(root, [2], journal=path, key=str)
    run_many(abs, [2], journal=path, key=str)  # built in: its code cannot be read
    assert SEEN == [2]
    assert len(path.read_text().splitlines()) == 6


def test_faults(tmp_path):
    with pytest.raises(InvalidInput, match="key: missing"):
        run_many(root, [1], journal=tmp_path / "a.jsonl")
    with pytest.raises(InvalidFile, match="no such folder; make it first"):
        run_many(root, [1], journal=tmp_path / "no" / "a.jsonl", key=str)
    with pytest.raises(InvalidFile, match="is a folder"):
        run_many(root, [1], journal=tmp_path, key=str)


@pytest.mark.parametrize(
    "content",
    [
        b"x,y\n1,2\n",
        b"x,y",
        b'{"cell": 1}\n',
        b"[1]\n",
        b"\n",
        b"\xff\xfe\n",
        b'{"format": "preceptor-session/1"}',
    ],
)
def test_nothing_is_added_to_what_is_not_a_journal(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    SEEN.clear()
    with pytest.raises(
        InvalidFile, match=r"table\.csv: is not a journal; name a file that does not"
    ):
        run_many(root, [1], journal=path, key=str)
    with pytest.raises(InvalidFile, match="is not a journal"):
        Journal(path).write("version 1", "cell", 1)
    assert SEEN == []
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", ["", '{"b', '{"by": "root code', '{"by": "other", "cell'])
def test_a_run_killed_in_its_first_line_goes_on(tmp_path, content):
    path = tmp_path / "roots.jsonl"
    path.write_text(content)
    assert run_many(root, [4], journal=path, key=str) == [{"root": 2.0}]
    assert [json.loads(line)["cell"] for line in path.read_text().splitlines()] == ["4"]


@pytest.mark.full
def test_chunks_leave_something_for_everybody():
    assert chunk_for(100, Serial(), 16) == 16
    two = LocalProcesses(2)
    assert [chunk_for(items, two, 16) for items in (0, 1, 8, 20, 64, 1000)] == [1, 1, 2, 5, 16, 16]
