"""Reading and writing files: messages that say what to do, and files that are whole or not there.

What is replaced keeps its permissions; a link stays, and what it points to is replaced. A pipe, a
terminal or a device such as /dev/null is written through, because putting a file in its place
would destroy it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from preceptor._base.parsing import parse_json
from preceptor.errors import InvalidFile

SUFFIXES = (".toml", ".json")
# Plans with tables of many million entries stay far below; something that never ends does not.
_MOST_BYTES = 2**29
# What a shell means by /dev/stdout or by >(...): a descriptor that this process has open.
_DESCRIPTOR = re.compile(r"/(?:proc/self|dev)/fd/(\d+)")
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_EVERYBODY, _OWNER = 0o666, 0o600
_REMEDIES = {
    errno.ENOENT: "cannot be written there; choose another folder",
    errno.ENOSPC: "the disk is full; make room, or choose another folder",
    errno.EDQUOT: "your share of the disk is used up; make room, or choose another folder",
    errno.EROFS: "the disk is read-only; choose another folder",
    errno.EFBIG: "larger than a file may be there; choose another folder",
    errno.EACCES: "you may not write there; choose another folder",
    errno.EPERM: "you may not write there; choose another folder",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "is a link that leads to itself; choose another name",
}


def suffix_of(path: str | Path) -> str:
    """`.toml` or `.json`; anything else is refused by name."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in .toml or .json")
    return suffix


def check_ending(path: str | Path, endings: tuple[str, ...]) -> None:
    """Refuse a name that would mislead about what is in the file; a device has no ending."""
    suffix = Path(path).suffix.lower()
    if suffix not in endings and not is_written_through(path):
        allowed = endings[0] if len(endings) == 1 else f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in {allowed}")


def read_text(path: str | Path) -> str:
    """The whole file as text."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InvalidFile(f"{path}: more than {_MOST_BYTES // 2**20} MB; no file of ours is")
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
    """A JSON object; says where the file breaks."""
    return parse_json(read_text(path), path)


def write_text(path: str | Path, text: str, *, private: bool = False) -> None:
    """Write text in UTF-8, whole or not at all; `private` is for what holds names of people."""
    # A name of a file that is no text comes in as a lone surrogate, which UTF-8 cannot hold.
    write_bytes(path, text.encode("utf-8", "backslashreplace"), private=private)


def write_bytes(path: str | Path, content: bytes, *, private: bool = False) -> None:
    """Write the file whole or not at all: into a neighbour first, then renamed over.

    A new file is readable as the system's mask says, a private one by its owner only.
    """
    write_all({path: content}, private=private)


def write_all(contents: Mapping[str | Path, bytes], *, private: bool = False) -> None:
    """Write several files: all are on the disk beside their targets before the first is renamed."""
    waiting: dict[Path, Path | None] = {}
    try:
        for name, content in contents.items():
            with naming(name):
                through = is_written_through(name)
                waiting[Path(name)] = None if through else _beside(Path(name), content, private)
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
    """Refuse a file that could not be written: tries it with an empty neighbour."""
    with naming(path):
        if not is_written_through(path):
            _beside(Path(path), b"").unlink()


def is_written_through(path: str | Path) -> bool:
    """Whether this is there and is no regular file: a pipe, a terminal, a device.

    Also a descriptor that this process has open, whatever is behind it (/dev/stdout).
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
    """Whether both names lead to one regular file: by links of either kind, or by capitals.

    Of files that are not there yet, names that differ in capitals only count as the same, because
    on many disks they are.
    """
    try:
        first, second = Path(one).stat(), Path(other).stat()
    except OSError:
        if Path(one).exists() or Path(other).exists():
            return False
        return os.path.realpath(one).casefold() == os.path.realpath(other).casefold()
    return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)


def for_owner(path: str, flags: int) -> int:
    """Open a file so that a new one is its owner's alone; an `opener` for `open`."""
    return os.open(path, flags, _OWNER)


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Name the file and the remedy, whatever the system says."""
    try:
        yield
    except (BrokenPipeError, InvalidFile):
        raise
    except ValueError as error:
        raise InvalidFile(f"{str(path)!r}: cannot be the name of a file ({error})") from None
    except OSError as error:
        known = _REMEDIES.get(error.errno or 0)
        raise InvalidFile(f"{path}: {known or f'cannot be written ({error.strerror})'}") from error


def _beside(path: Path, content: bytes, private: bool = False) -> Path:
    """The content in a neighbour of the file that it is going to replace."""
    target = Path(os.path.realpath(path))
    _check_folder(target.parent)
    before = target.stat() if target.exists() else None
    if before is not None and not os.access(target, os.W_OK):
        raise InvalidFile(f"{path}: is write-protected; choose another name")
    waiting = _neighbour(target)
    mode = _OWNER if private or before is not None else _EVERYBODY
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


def _neighbour(target: Path) -> Path:
    """A short name that nobody uses, in the same folder so that renaming is one step."""
    return target.parent / f".preceptor-{secrets.token_hex(6)}"


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
    """The number of the open descriptor that this names."""
    found = _DESCRIPTOR.fullmatch(str(path))
    return int(found[1]) if found else _STREAMS.get(str(path))
