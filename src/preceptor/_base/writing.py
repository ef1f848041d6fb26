"""Writing files: whole or not at all, several of them together, and never over a device.

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
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from preceptor.errors import InvalidFile

# What a shell means by /dev/stdout or by >(...): a descriptor that this process has open.
_DESCRIPTOR = re.compile(r"/(?:proc/(?:self|(?P<process>\d+))|dev)/fd/(?P<number>\d+)")
_MOST_LINKS = 40
_EVERYBODY, _OWNER = 0o666, 0o600
_REMEDIES = {
    errno.ENOSPC: "the disk is full; make room, or choose another folder",
    errno.EDQUOT: "your share of the disk is used up; make room, or choose another folder",
    errno.EROFS: "the disk is read-only; choose another folder",
    errno.EFBIG: "larger than a file may be there; choose another folder",
    errno.EACCES: "you may not write there; choose another folder",
    errno.EPERM: "you may not write there; choose another folder",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "is a link that leads to itself; choose another name",
    errno.ENXIO: "nobody reads from it; choose another name",
}


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
    """Write several files, all of them or none.

    All are written beside their targets before the first is renamed; if one cannot be, those that
    were already are put back. What goes into pipes and devices comes last: it cannot be put back.
    """
    staged: list[_Staged] = []
    through: list[tuple[Path, bytes]] = []
    try:
        for path, content in contents.items():
            with naming(path):
                if is_written_through(path):
                    through.append((Path(path), content))
                else:
                    staged.append(_Staged.beside(Path(path), content, private=private))
        _refuse_twice(staged)
        several = len(contents) > 1
        for each in staged:
            with naming(each.asked):
                each.put_in_place(may_be_undone=several)
        for path, content in through:
            with naming(path):
                _write_through(path, content)
    except BaseException:
        for each in reversed(staged):
            each.undo()
        raise
    for each in staged:
        each.finish()


def check_writable(path: str | Path) -> None:
    """Refuse a file that could not be written: tries it with an empty neighbour."""
    with naming(path):
        if not is_written_through(path):
            _Staged.beside(Path(path), b"").undo()


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
        return _real(one).casefold() == _real(other).casefold()
    return stat.S_ISREG(first.st_mode) and os.path.samestat(first, second)


def for_owner(path: str, flags: int) -> int:
    """Open a file so that a new one is its owner's alone; an `opener` for `open`."""
    return os.open(path, flags, _OWNER)


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Name the file and the remedy, whatever the system says."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        reason = "cannot be written there; choose another folder"
        raise InvalidFile(f"{path}: {reason}") from None
    except ValueError as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{str(path)!r}: cannot be the name of a file ({error})") from None
    except OSError as error:
        known = _REMEDIES.get(error.errno or 0)
        raise InvalidFile(f"{path}: {known or f'cannot be written ({error.strerror})'}") from error


@dataclass
class _Staged:
    """A file that is written beside its target and waits to be renamed over it."""

    asked: Path  # as the caller named it
    target: Path  # where links lead
    waiting: Path
    before: os.stat_result | None  # of what is replaced
    kept: Path | None = None  # what is replaced, until all is done
    in_place: bool = False

    @classmethod
    def beside(cls, path: Path, content: bytes, *, private: bool = False) -> _Staged:
        target = Path(_real(path))
        _check_folder(target.parent)
        before = target.stat() if target.exists() else None
        if before is not None and not os.access(target, os.W_OK):
            raise InvalidFile(f"{path}: is write-protected; choose another name")
        waiting = _neighbour(target)
        mode = _OWNER if private or before is not None else _EVERYBODY
        handle = os.open(waiting, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        staged = cls(path, target, waiting, before)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if before is not None:
                _take_over(waiting, before)
        except BaseException:
            staged.undo()
            raise
        return staged

    def put_in_place(self, *, may_be_undone: bool) -> None:
        """Rename; what was there is kept under another name if it may have to come back."""
        if may_be_undone and self.before is not None:
            self.kept = _neighbour(self.target)
            try:
                os.link(self.target, self.kept)
            except OSError:  # a disk that knows no links
                shutil.copy2(self.target, self.kept)
        self.waiting.replace(self.target)
        self.in_place = True

    def undo(self) -> None:
        """As if nothing had been written."""
        with contextlib.suppress(OSError):
            if not self.in_place:
                self.waiting.unlink(missing_ok=True)
            elif self.kept is not None:
                self.kept.replace(self.target)
                self.kept = None
            elif self.before is None:
                self.target.unlink(missing_ok=True)
        self.finish()

    def finish(self) -> None:
        """Let go of what was kept; the rename itself reaches the disk."""
        with contextlib.suppress(OSError):
            if self.kept is not None:
                self.kept.unlink(missing_ok=True)
        if self.in_place and hasattr(os, "O_DIRECTORY"):
            with contextlib.suppress(OSError):
                folder = os.open(self.target.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)


def _take_over(path: Path, before: os.stat_result) -> None:
    """Owner and permissions of what is replaced; the owner only as far as one may give it."""
    if hasattr(os, "chown"):
        try:
            os.chown(path, before.st_uid, before.st_gid)
        except OSError:
            with contextlib.suppress(OSError):
                os.chown(path, -1, before.st_gid)
    path.chmod(stat.S_IMODE(before.st_mode))


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


def _refuse_twice(staged: list[_Staged]) -> None:
    for position, each in enumerate(staged):
        for other in staged[:position]:
            if same_file(each.target, other.target):
                raise InvalidFile(f"{each.asked}: is named for two files; choose another name")


def _write_through(path: Path, content: bytes) -> None:
    number = _descriptor(path)
    if number is not None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        handle = os.dup(number)
    else:
        # A pipe that nobody reads would keep us waiting for ever; so it is an error instead.
        handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _descriptor(path: str | Path) -> int | None:
    """The number of the open descriptor that this names, directly or by links."""
    try:
        link = Path(path).absolute()
        for _ in range(_MOST_LINKS):
            link = Path(os.path.normpath(link))
            found = _DESCRIPTOR.fullmatch(str(link))
            if found and found["process"] in (None, str(os.getpid())):
                return int(found["number"])
            if not link.is_symlink():
                return None
            link = link.parent / link.readlink()
    except OSError:
        return None
    return None


def _real(path: str | Path) -> str:
    return os.path.realpath(path)
