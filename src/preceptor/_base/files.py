"""Reading and writing text files with messages that say what to do."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from preceptor.errors import InvalidFile

SUFFIXES = (".toml", ".json")


def suffix_of(path: str | Path) -> str:
    """`.toml` or `.json`; anything else is refused by name."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in .toml or .json")
    return suffix


def read_text(path: str | Path) -> str:
    """The whole file as text."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path}: is a folder, expected a file") from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{path}: is not text in UTF-8") from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from error


def check_writable(path: str | Path) -> None:
    """Refuse a file that could not be written: tries it with an empty neighbour."""
    target = Path(path)
    if target.is_dir():
        raise InvalidFile(f"{target}: is a folder, expected the name of a file")
    handle, name = _neighbour(target)
    os.close(handle)
    Path(name).unlink()


def write_text(path: str | Path, text: str) -> None:
    """Write text in UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write the file whole or not at all: into a neighbour first, then renamed over."""
    target = Path(path)
    handle, name = _neighbour(target)
    half_written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        half_written.chmod(0o644)
        half_written.replace(target)
    except BaseException:
        half_written.unlink(missing_ok=True)
        raise


def _neighbour(target: Path) -> tuple[int, str]:
    """A new file beside the target, open for writing; says why there can be none."""
    folder = target.parent
    try:
        if folder.exists() and not folder.is_dir():
            raise InvalidFile(f"{folder}: is not a folder")
        if not folder.exists():
            raise InvalidFile(f"{folder}: no such folder; make it first")
        if not os.access(folder, os.W_OK):
            raise InvalidFile(f"{folder}: you may not write there; choose another folder")
        return tempfile.mkstemp(dir=folder, prefix=f".{target.name}.")
    except FileNotFoundError:  # the folder is there, but nothing can be made in it
        raise InvalidFile(f"{target}: cannot be written there; choose another folder") from None
    except OSError as error:
        raise InvalidFile(f"{target}: cannot be written ({error.strerror})") from error


def read_json(path: str | Path) -> dict[str, Any]:
    """A JSON object; says where the file breaks."""
    return json_in(read_text(path), path)


def json_in(text: str, path: str | Path) -> dict[str, Any]:
    """The JSON object in a text that was read from this file."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidFile(
            f"{path}: not valid JSON, {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    if not isinstance(data, dict):
        raise InvalidFile(f"{path}: holds a {type(data).__name__}, must be a JSON object {{...}}")
    return data
