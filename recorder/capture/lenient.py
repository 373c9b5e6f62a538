"""JSON as the client writes it, read without losing a record to one bad character."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from pydantic_core import from_json

DEEPEST = 200
"""Levels of nesting taken in, as many as `loads` takes: whoever walks a value later may recurse."""

REPLACEMENT = "\ufffd"

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _whole_number(digits: str) -> int | str:
    # Python refuses integers above 4,300 digits; a number that long is a text to us.
    return int(digits) if len(digits) < 4000 else digits


# NaN and Infinity are no JSON and could not be written back as such; raw control characters in strings are let in.
_DECODER = json.JSONDecoder(strict=False, parse_constant=str, parse_int=None)
_LONG_NUMBERS = json.JSONDecoder(strict=False, parse_constant=str, parse_int=_whole_number)


def loads(raw: bytes) -> Any:
    """The one JSON value that raw is, when raw is faultless: over twice as fast as `decode`, which reads the rest.

    Raises: ValueError for everything else, a lone surrogate, NaN and deep nesting among it.
    """
    return from_json(raw, allow_inf_nan=False, cache_strings="keys")


def text_of(raw: bytes) -> str:
    """The bytes as text: no byte order mark, and U+FFFD for what is not UTF-8."""
    return raw.decode("utf-8", "replace").removeprefix("\ufeff")


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and where it ends. Text in it can be encoded as UTF-8.

    Raises: ValueError when there is none, or when it is nested too deeply to read.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        value, end = _LONG_NUMBERS.raw_decode(text, start)
    if _deeper_than(value, DEEPEST):
        raise ValueError("nested too deeply")
    if _ESCAPED_SURROGATE.search(text, start, end):
        value = _without_surrogates(value)
    return value, end


def _deeper_than(value: Any, levels: int) -> bool:
    level = [value]
    for _ in range(levels):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    """The lists and objects right inside a list or an object."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [item for item in items if isinstance(item, list | dict)]


def _without_surrogates(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate: SQLite and every browser want real text."""
    if isinstance(value, str):
        return _SURROGATE.sub(REPLACEMENT, value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
