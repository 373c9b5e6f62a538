"""What is asked for besides the question, as a command or a line of a batch says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from recorder.errors import RecorderError
from recorder.models import Order
from recorder.recall import filters
from recorder.store.only import EVERYTHING, Only

LIMIT = 100
NARROWING = (*filters.NAMES, "order", "offset", "limit")
"""What a line of a batch may narrow its question with."""
NAMES = ("id", "question", "project", *NARROWING)
LONGEST_LINE = 1_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked besides the question. `limit` None: as the settings say."""

    only: Only = EVERYTHING
    order: Order = Order.RELEVANCE
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One question of a batch. `project` None: it names none."""

    number: int
    id: str | int
    question: str
    project: str | None
    asked: Asked


def read(given: Mapping[str, Any]) -> Asked:
    """What was given by the names filters have, as values.

    Raises: FilterError.
    """
    limit = given.get("limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= LIMIT):
        raise filters.FilterError("limit", f"is a number from 1 to {LIMIT}")
    only = filters.read(**{name: given[name] for name in filters.NAMES if name in given})
    return Asked(only, filters.order(given.get("order")), filters.offset(given.get("offset")), limit)


def lines(batch: Path, given: Mapping[str, Any], warn: Callable[[str], None]) -> Iterator[Line]:
    """The questions of a file. What a line says for itself counts; where it says nothing, what was given.

    Names that are not ours may be those of whoever scores the answers: each is told to `warn` once and passed over.

    Raises: RecorderError with file and line for a line of another shape.
    """
    told: set[str] = set()
    with batch.open("rb") as raw:
        for number, line in enumerate(raw, 1):
            if not line.strip():
                continue
            try:
                said = _object(line)
                for name in said.keys() - told - set(NAMES):
                    told.add(name)
                    warn(f"{batch}:{number}: {_unknown(name)}")
                one = Line(number, _id(said), _question(said), _project(said), _narrowed(given, said))
            except (ValueError, RecursionError) as error:
                why = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
                raise RecorderError(f"{batch}:{number} is not a line of {{id, question, project}}: {why}") from error
            yield one


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > LONGEST_LINE:
        raise ValueError(f"it is longer than {LONGEST_LINE:,} bytes")
    try:
        said = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if not isinstance(said, dict):
        raise ValueError("it is no JSON object")
    return said


def _id(said: Mapping[str, Any]) -> str | int:
    found = said.get("id")
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise ValueError("id: is a text or a whole number")
    try:
        return found if isinstance(found, int) else found.encode().decode()
    except UnicodeEncodeError:
        raise ValueError("id: holds half a character") from None


def _question(said: Mapping[str, Any]) -> str:
    found = said.get("question")
    if not isinstance(found, str):
        raise ValueError("question: is a text")
    return found


def _project(said: Mapping[str, Any]) -> str | None:
    found = said.get("project")
    if found is not None and (not isinstance(found, str) or "\0" in found):
        raise ValueError("project: is a folder")
    return found or None


def _narrowed(given: Mapping[str, Any], said: Mapping[str, Any]) -> Asked:
    return read({**given, **{name: said[name] for name in NARROWING if said.get(name) is not None}})


def _unknown(name: str) -> str:
    near = get_close_matches(name, NAMES, n=1)
    meant = f", did you mean '{near[0]}'?" if near else ""
    return f"'{name[:60]}' is none of our names and passed over{meant}"
