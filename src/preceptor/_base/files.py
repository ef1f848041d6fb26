"""Read and write files: plain data from text, faults part by part, files written whole.

JSON and TOML become plain data, with limits on depth and on the length of integers: Python's
parsers, and the code that later walks the data, recurse once per level of nesting, and integers of
any length are accepted. Both are bounded here, and every fault is reported in one sentence.

A file is written whole or not at all, and errors say what to do. A replaced file keeps its
permissions; a link stays, and its target is replaced. Pipes, terminals and devices such as
/dev/null are written to directly, because replacing them would destroy them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from preceptor.errors import InvalidFile, InvalidInput

# Our own files nest eight levels deep, a crowd of crowds a little more.
MOST_LEVELS = 50
# What separates TOML keys from each other and from values; a longer dotted key nests that deep.
_BETWEEN_KEYS = re.compile(r"[=,{}\[\]\n]")
_NAMES: dict[type, str] = {
    list: "a list [...]",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
}


def parse_json(text: str, path: object = None) -> dict[str, Any]:
    """Parse JSON text that must hold an object; faults name the line, and the file if given."""
    where = "" if path is None else f"{path}: "
    data = _parse(json.loads, text, where, ": {0.msg} at line {0.lineno}, column {0.colno}")
    if not isinstance(data, dict):
        raise InvalidFile(
            f"{where}holds {_NAMES.get(type(data), 'null')}, must be a JSON object {{...}}"
        )
    return data


def parse_json_line(line: str) -> Any:
    """Parse one line of a JSON Lines file, whatever it holds."""
    return _parse(json.loads, line, "", " ({0.msg}, column {0.colno})")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML text."""
    import tomllib

    # The parser takes quadratic time for a key of many parts, so parts are counted first.
    if any(part.count(".") > MOST_LEVELS for part in _BETWEEN_KEYS.split(text)):
        raise _too_deep("")
    data: dict[str, Any] = _parse(tomllib.loads, text, "", "")
    return data


def _parse(parse: Callable[[str], Any], text: str, where: str, json_fault: str) -> Any:
    """Plain data of bounded depth; `json_fault` formats a JSONDecodeError."""
    try:
        data = parse(text)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{where}not valid JSON{json_fault.format(error)}") from None
    except RecursionError:
        raise _too_deep(where) from None
    except ValueError as error:
        if "Exceeds the limit" not in str(error):
            raise InvalidFile(f"not valid TOML: {error}") from None
        digits = f"{sys.get_int_max_str_digits():,}"
        raise InvalidFile(
            f"{where}holds a whole number of more than {digits} digits; shorten it"
        ) from None
    _check_depth(data, where)
    return data


def _check_depth(data: Any, where: str) -> None:
    level = [data] if isinstance(data, (dict, list)) else []
    for _ in range(MOST_LEVELS):
        level = [
            inside
            for each in level
            for inside in (each.values() if isinstance(each, dict) else each)
            if isinstance(inside, (dict, list))
        ]
        if not level:
            return
    raise _too_deep(where)


def _too_deep(where: str) -> InvalidFile:
    return InvalidFile(f"{where}nested more than {MOST_LEVELS} levels deep; no Preceptor file is")


_Read = TypeVar("_Read")


class FaultCollector:
    """Reads parts one by one and keeps their faults until all parts have been read.

    >>> gathered = FaultCollector()
    >>> gathered.fault("value: 'x', must be a number")
    >>> print(gathered.read(InvalidInput.raise_if, ["k: 0, must be at least 1"]))
    None
    >>> gathered.raise_all()
    Traceback (most recent call last):
    preceptor.errors.InvalidFile: 2 problems found:
      - value: 'x', must be a number
      - k: 0, must be at least 1
    """

    def __init__(self) -> None:
        self.errors: list[InvalidInput] = []

    def read(self, reader: Callable[..., _Read], *given: object) -> _Read | None:
        """Return what the reader makes of a part, or None if it raised `InvalidInput`."""
        try:
            return reader(*given)
        except InvalidInput as error:
            self.errors.append(error)
            return None

    def fault(self, *faults: str, kind: type[InvalidInput] = InvalidFile) -> None:
        """Add faults of one kind, if there are any."""
        if faults:
            self.errors.append(kind(faults))

    def raise_all(self) -> None:
        """Raise one error with every fault, each once."""
        if not self.errors:
            return
        kinds = {type(error) for error in self.errors}
        kind = kinds.pop() if len(kinds) == 1 else InvalidFile
        raise kind(list(dict.fromkeys(f for error in self.errors for f in error.faults)))


SUFFIXES = (".toml", ".json")
# Far above any plan file; stops a read from a source that never ends.
_MOST_BYTES = 2**29
# /dev/stdout, or >(...) in a shell: a descriptor that this process has open.
_DESCRIPTOR = re.compile(r"/(?:proc/self|dev)/fd/(\d+)")
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_OWNER = stat.S_IRUSR | stat.S_IWUSR
_REMEDIES = {
    errno.ENOENT: "cannot be written there; choose another folder",
    errno.ENOSPC: "the disk is full; free some space, or choose another folder",
    errno.EDQUOT: "your disk quota is used up; free some space, or choose another folder",
    errno.EROFS: "the disk is read-only; choose another folder",
    errno.EFBIG: "larger than a file may be there; choose another folder",
    errno.EACCES: "you may not write there; choose another folder",
    errno.EPERM: "you may not write there; choose another folder",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "is a link that leads to itself; choose another name",
}


def suffix_of(path: str | Path) -> str:
    """Return the suffix, `.toml` or `.json`; refuse any other."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in .toml or .json")
    return suffix


def check_ending(path: str | Path, endings: tuple[str, ...]) -> None:
    """Refuse a name whose ending would mislead about the content; devices have no ending."""
    suffix = Path(path).suffix.lower()
    if suffix not in endings and not is_device(path):
        allowed = endings[0] if len(endings) == 1 else f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in {allowed}")


def read_text(path: str | Path) -> str:
    """Read a whole text file in UTF-8."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InvalidFile(f"{path}: more than {_MOST_BYTES // 2**20} MB; no Preceptor file is")
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path}: is a folder, expected a file") from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{path}: is not text in UTF-8") from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{str(path)!r}: cannot be the name of a file ({error})") from None


def read_json(path: str | Path) -> dict[str, Any]:
    """Read a JSON object; faults name the file and the line."""
    return parse_json(read_text(path), path)


def write_text(path: str | Path, text: str, *, private: bool = False) -> None:
    """Write text in UTF-8, whole or not at all; `private` for files with participants' names."""
    # A file name that is not valid text holds lone surrogates, which UTF-8 cannot encode.
    write_bytes(path, text.encode("utf-8", "backslashreplace"), private=private)


def write_bytes(path: str | Path, content: bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all: a temporary file is written, then renamed.

    A new file gets the permissions of the system's umask, a private one its owner's only.
    """
    write_all({path: content}, private=private)


def write_all(contents: Mapping[str | Path, bytes], *, private: bool = False) -> None:
    """Write several files; all are on disk next to their targets before the first is renamed."""
    waiting: dict[Path, Path | None] = {}
    try:
        for name, content in contents.items():
            with naming(name):
                through = is_device(name)
                waiting[Path(name)] = None if through else _staged(Path(name), content, private)
        for path, content in zip(waiting, contents.values(), strict=True):
            with naming(path):
                staged = waiting[path]
                if staged is None:
                    _write_through(path, content)
                else:
                    staged.replace(os.path.realpath(path))
    finally:
        for staged in waiting.values():
            if staged is not None:
                staged.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Refuse a file that could not be written, by writing an empty file next to it."""
    with naming(path):
        if not is_device(path):
            _staged(Path(path), b"").unlink()


def is_device(path: str | Path) -> bool:
    """Whether this exists and is not a regular file: a pipe, a terminal or a device.

    So is a descriptor that this process has open (/dev/stdout), whatever it leads to.
    """
    if _descriptor(path) is not None:
        return True
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISDIR(mode):
        raise InvalidFile(f"{path}: is a folder, expected the name of a file")
    return not stat.S_ISREG(mode)


def same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two names lead to one regular file, through links or letter case.

    For files that do not exist yet, names that differ only in case count as the same, because on
    many disks they are.
    """
    try:
        first, second = Path(one).stat(), Path(other).stat()
    except OSError:
        if Path(one).exists() or Path(other).exists():
            return False
        return os.path.realpath(one).casefold() == os.path.realpath(other).casefold()
    return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)


def owner_only_opener(path: str, flags: int) -> int:
    """An `opener` for `open` that makes a new file accessible to its owner only."""
    return os.open(path, flags, _OWNER)


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turn errors of the system into `InvalidFile` that names the file and a remedy."""
    try:
        yield
    except (BrokenPipeError, InvalidFile):
        raise
    except ValueError as error:
        raise InvalidFile(f"{str(path)!r}: cannot be the name of a file ({error})") from None
    except OSError as error:
        known = _REMEDIES.get(error.errno or 0)
        raise InvalidFile(f"{path}: {known or f'cannot be written ({error.strerror})'}") from error


def _staged(path: Path, content: bytes, private: bool = False) -> Path:
    """Write the content to a temporary file next to the file that it will replace."""
    target = Path(os.path.realpath(path))
    _check_folder(target.parent)
    before = target.stat() if target.exists() else None
    if before is not None and not os.access(target, os.W_OK):
        raise InvalidFile(f"{path}: is write-protected; choose another name")
    # In the same folder, so that renaming is one atomic step.
    waiting = target.parent / f".preceptor-{secrets.token_hex(6)}"
    # Others may read and write a new file as far as the system's umask lets them.
    mode = _OWNER if private or before is not None else 0o666
    handle = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            waiting.chmod(stat.S_IMODE(before.st_mode))
    except BaseException:
        waiting.unlink(missing_ok=True)
        raise
    return waiting


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InvalidFile(f"{folder}: is not a folder")
    if not folder.exists():
        raise InvalidFile(f"{folder}: no such folder; make it first")
    if not os.access(folder, os.W_OK):
        raise InvalidFile(f"{folder}: you may not write there; choose another folder")


def _write_through(path: Path, content: bytes) -> None:
    number = _descriptor(path)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    handle = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _descriptor(path: str | Path) -> int | None:
    """The open descriptor that a path names, or None."""
    found = _DESCRIPTOR.fullmatch(str(path))
    return int(found[1]) if found else _STREAMS.get(str(path))
