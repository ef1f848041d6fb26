"""JSON and TOML text as plain data, with limits: what a small file says must stay small.

Both parsers of Python call themselves for every level of nesting, and so does whoever walks
through the data afterwards; integers of any length are read as they stand. Here both are bounded,
and every way in which a text can be wrong ends in one sentence.
"""

from __future__ import annotations

import json
import re
from typing import Any

from preceptor.errors import InvalidFile

# Ours nest eight deep; a crowd of crowds a little more.
MOST_LEVELS = 50
# What separates keys from each other and from values; a longer dotted key nests that deep.
_BETWEEN_KEYS = re.compile(r"[=,{}\[\]\n]")


def parse_json(text: str, path: object = None) -> dict[str, Any]:
    """JSON text that must hold an object; says where it breaks, and in which file if told."""
    where = "" if path is None else f"{path}: "
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidFile(
            f"{where}not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise _too_deep(where) from None
    except ValueError:  # the only other thing that the parser refuses
        raise _too_long(where) from None
    if not isinstance(data, dict):
        raise InvalidFile(
            f"{where}holds {_NAMES.get(type(data), 'null')}, must be a JSON object {{...}}"
        )
    _check_depth(data, where)
    return data


def parse_json_line(line: str) -> Any:
    """One line of JSON lines, whatever it holds; says where it breaks."""
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"not valid JSON ({error.msg}, column {error.colno})") from None
    except RecursionError:
        raise _too_deep("") from None
    except ValueError:
        raise _too_long("") from None
    if isinstance(data, (dict, list)):
        _check_depth(data, "")
    return data


def parse_toml(text: str) -> dict[str, Any]:
    """TOML text; says where it breaks."""
    import tomllib

    # The parser takes quadratic time for a key of many parts, so they are counted before.
    if any(part.count(".") > MOST_LEVELS for part in _BETWEEN_KEYS.split(text)):
        raise _too_deep("")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidFile(f"not valid TOML: {error}") from None
    except RecursionError:
        raise _too_deep("") from None
    except ValueError as error:
        if "digits" in str(error):
            raise _too_long("") from None
        raise InvalidFile(f"not valid TOML: {error}") from None  # a date that does not exist, say
    _check_depth(data, "")
    return data


_NAMES: dict[type, str] = {
    list: "a list [...]",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
}


def _check_depth(data: Any, where: str) -> None:
    level: list[Any] = [data]
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
    return InvalidFile(f"{where}nested more than {MOST_LEVELS} levels deep; no file of ours is")


def _too_long(where: str) -> InvalidFile:
    import sys

    digits = f"{sys.get_int_max_str_digits():,}"
    return InvalidFile(f"{where}holds a whole number of more than {digits} digits; shorten it")
