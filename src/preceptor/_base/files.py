"""Reading text files with messages that say what to do; how they are written is `writing`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from preceptor._base.parsing import parse_json
from preceptor._base.writing import (
    check_writable,
    is_written_through,
    same_file,
    write_all,
    write_bytes,
    write_text,
)
from preceptor.errors import InvalidFile

__all__ = [
    "check_ending",
    "check_writable",
    "is_written_through",
    "json_in",
    "read_json",
    "read_text",
    "same_file",
    "suffix_of",
    "write_all",
    "write_bytes",
    "write_text",
]

SUFFIXES = (".toml", ".json")
# Plans with tables of many million entries stay far below; something that never ends does not.
_MOST_BYTES = 2**29


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
    return json_in(read_text(path), path)


def json_in(text: str, path: str | Path) -> dict[str, Any]:
    """The JSON object in a text that was read from this file."""
    return parse_json(text, path)
