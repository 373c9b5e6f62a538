"""Where a text stands: the events, versions and rows that hold it word for word."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recorder.models import Event
from recorder.store import events as stored
from recorder.store.db import Connection

LEAST = 12
"""Characters from which on a text is looked for everywhere: a shorter one (`8080`) stands in much that is not it."""
EVENTS_A_LOOK = 5_000
BYTES_A_LOOK = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Words:
    """Texts that are to be found again. Kept in memory only, and never written anywhere."""

    plain: tuple[str, ...] = ()
    """As they were given, and on one line."""
    spelled: tuple[bytes, ...] = ()
    """As they stand in a file, in small letters: as they are, and as JSON spells them with and without escapes."""

    def in_text(self, text: str) -> bool:
        """Whether a text holds one of them, whatever the case and the white space."""
        return any(words in _folded(text) for words in map(_folded, self.plain))

    def in_bytes(self, raw: bytes) -> bool:
        """Whether the content of a file holds one of them, whatever the case of its ASCII letters."""
        small = raw.lower()
        return any(words in small for words in self.spelled)


def words(texts: Iterable[str]) -> Words:
    """The texts that are long enough to be looked for; one that holds another is found by that."""
    forms = {form for text in texts for form in (text.strip(), " ".join(text.split())) if len(form) >= LEAST}
    least = [one for one in sorted(forms, key=len) if not any(other in one for other in forms if other != one)]
    spelled: dict[bytes, None] = {}
    for one in least:
        spelled[_raw(one)] = None
        spelled[_raw(json.dumps(one, ensure_ascii=False)[1:-1])] = None
        spelled[_raw(json.dumps(one)[1:-1])] = None
    return Words(tuple(least), tuple(spelled))


def events(
    db: Connection, sought: Words, *, after_id: int = 0, kind: str | None = None, newest: int | None = None
) -> list[int]:
    """The events that hold one of the texts, whatever the case; in the excerpt whatever the white space too.

    It reads every event, without a lock: 100,000 of them take 1 to 3 s. With `newest` only so many are read, beside as
    many that the index of words names.
    """
    if not sought.plain:
        return []
    found = _in_excerpts(db, sought, after_id, newest)
    if newest is not None:
        after_id = max(after_id, stored.last_id(db) - newest)
    while True:
        rows = list(
            db.execute(
                "select id, excerpt, narrow, body, codec from events where id > ? and (?2 is null or kind = ?2)"
                " order by id limit ?3",
                (after_id, kind, EVENTS_A_LOOK),
            )
        )
        found |= {row[0] for row in rows if _holds(sought, row)}
        if len(rows) < EVENTS_A_LOOK:
            break
        after_id = rows[-1][0]
    if kind is None:
        return sorted(found)
    marks = json.dumps(sorted(found))
    sql = "select id from events where id in (select value from json_each(?)) and kind = ? order by id"
    return [row[0] for row in db.execute(sql, (marks, kind))]


def open_calls(db: Connection, sought: Words) -> list[Event]:
    """The calls that wait for their result and hold one of the texts."""
    paths = [path for (path,) in db.execute("select distinct path from open_calls")]
    waiting = [call for path in paths for call in stored.open_calls(db, path).values()]
    return [call for call in waiting if sought.in_bytes(stored.as_open_call(call).encode())]


def of_turns(db: Connection, sought: Words, event_ids: Sequence[int]) -> list[int]:
    """The events of the same turns that hold one of the texts: a turn's end repeats the last words."""
    rows = db.execute(
        "select distinct e.id, e.excerpt, e.narrow, e.body, e.codec from json_each(?) j join events o on o.id = j.value"
        " join events e on e.session_id = o.session_id and e.prompt_id is o.prompt_id",
        (json.dumps(list(event_ids)),),
    )
    return sorted(row[0] for row in rows if _holds(sought, row))


def saying(
    db: Connection, sought: Words, same_value: Callable[[str], bool], *, after_id: int = 0, newest: int | None = None
) -> list[tuple[int, int, bool]]:
    """(version, memory, whether it is the current one) of every version that says the same or holds one of the
    texts; with `newest` so many are looked at."""
    if newest is not None:
        ((last,),) = db.execute("select coalesce(max(id), 0) from memory_versions")
        after_id = max(after_id, last - newest)
    rows = db.execute(
        "select v.id, v.memory_id, m.version_id is v.id, v.value, m.key, v.tags, v.source"
        " from memory_versions v join memories m on m.id = v.memory_id where v.id > ? order by v.id",
        (after_id,),
    )
    return [
        (version_id, memory_id, bool(current))
        for version_id, memory_id, current, value, key, tags, source in rows
        if sought.in_text(f"{value}\n{key}\n{tags}\n{source}") or same_value(value)
    ]


def standing_on(db: Connection, event_ids: Sequence[int]) -> list[tuple[int, int, bool]]:
    """The same of every version that stands on these events alone."""
    rows = db.execute(
        "with gone as materialized (select value as id from json_each(?))"
        " select v.id, v.memory_id, m.version_id is v.id from memory_versions v join memories m on m.id = v.memory_id"
        " where v.id in (select x.version_id from gone join memory_evidence x on x.event_id = gone.id)"
        " and not exists (select 1 from memory_evidence x where x.version_id = v.id"
        " and x.event_id not in (select id from gone)) order by v.id",
        (json.dumps(list(event_ids)),),
    )
    return [(version_id, memory_id, bool(current)) for version_id, memory_id, current in rows]


def in_file(path: str, sought: Words) -> bool:
    """Whether a file holds one of the texts somewhere, read a few megabytes at a time."""
    overlap = max((len(one) for one in sought.spelled), default=0)
    with open(path, "rb") as file:
        before = b""
        while piece := file.read(BYTES_A_LOOK):
            if sought.in_bytes(before + piece):
                return True
            before = piece[-overlap:]
    return False


def statements(db: Connection, version_ids: Sequence[int]) -> list[int]:
    """The events that were made of what somebody told us, for these versions."""
    rows = db.execute(
        "select distinct e.id from json_each(?) j join memory_evidence x on x.version_id = j.value"
        " join events e on e.id = x.event_id where e.kind = 'statement'",
        (json.dumps(list(version_ids)),),
    )
    return [row[0] for row in rows]


def _in_excerpts(db: Connection, sought: Words, after_id: int, newest: int | None) -> set[int]:
    found: set[int] = set()
    most = -1 if newest is None else newest
    for one in sought.plain:
        phrase = '"' + one.replace('"', '""').replace("\x00", " ") + '"'
        rows = db.execute(
            "select e.id, e.excerpt from event_words f cross join events e on e.id = f.rowid"
            " where event_words match ? and f.rowid > ? order by f.rowid desc limit ?",
            (phrase.encode("utf-8", "replace").decode(), after_id, most),
        )
        found |= {event_id for event_id, excerpt in rows if sought.in_text(excerpt)}
    return found


def _holds(sought: Words, row: Sequence[Any]) -> bool:
    _, excerpt, narrow, body, codec = row
    small = f"{excerpt}\n{narrow}".lower()
    if any(one.lower() in small for one in sought.plain):
        return True
    try:
        return sought.in_bytes(stored.unpacked(body, codec, excerpt))
    except zlib.error:  # a damaged row is not read by anybody else either
        return False


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace").lower()
