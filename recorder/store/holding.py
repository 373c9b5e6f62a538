"""Where a text stands: the events, versions and rows that say it, in whatever marks and letters."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from recorder.canonical import canonical, shape
from recorder.models import Event
from recorder.store import events as stored
from recorder.store import retold
from recorder.store.db import Connection
from recorder.store.retold import Retold

LEAST = 12
"""Characters from which on a text is looked for everywhere: a shorter one (`8080`) stands in much that is not it."""
SIGNS_AROUND = 64
"""Marks around a text that is one of them as a whole, beside twice its length."""
_ASCII = bytes(range(128))
EVENTS_A_LOOK = 5_000
BYTES_A_LOOK = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Words:
    """Texts that are to be found again. Kept in memory only, and never written anywhere."""

    plain: tuple[str, ...] = ()
    """As they were given, and on one line."""
    spelled: tuple[bytes, ...] = ()
    """As they stand in a file, in small letters: as they are, and as JSON spells them with and without escapes."""
    told: Retold | None = None
    """What finds them by their words, whatever the marks: the same that refuses them afterwards."""
    rarest: frozenset[bytes] = frozenset()
    """A file whose letters are of ASCII and that holds none of these words tells none of them."""
    forms: frozenset[str] = frozenset()
    """What they say, as whole texts."""
    longest: int = 0

    def in_text(self, text: str) -> bool:
        """Whether a text says one of them, whatever the case, the white space, the marks and what letters look like."""
        folded = _folded(text)
        if any(words in folded for words in map(_folded, self.plain)):
            return True
        return (self.told is not None and self.told.in_text(text)) or self._is_one(text)

    def in_bytes(self, raw: bytes) -> bool:
        """The same of the content of a file, or of JSON."""
        small = raw.lower()
        if any(words in small for words in self.spelled):
            return True
        if self.told is None or not self._may_tell(small):
            return False
        texts = _texts_in(raw.decode("utf-8", "replace"))
        return self.told.in_text("\n".join(texts)) or any(map(self._is_one, texts))

    def as_spelled(self, raw: bytes) -> bool:
        """Whether bytes of whatever kind hold one of them in the letters it was given in."""
        small = raw.lower()
        return any(words in small for words in self.spelled)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of every place where the words stand in a text."""
        return [(start, end) for start, end, _ in self.told.spans(text)] if self.told is not None else []

    def _may_tell(self, small: bytes) -> bool:
        """False where it is plain at a glance that none is told: to look closely takes ten times as long."""
        # A mark may stand inside a word (`pur**ple**`), where the text as a whole is one of them.
        plain = small.replace(b"`", b"").replace(b"**", b"")
        if any(word in plain for word in self.rarest) or b"\\u" in small:
            return True
        return not small.isascii() and retold.beyond_ascii(small.translate(None, _ASCII).decode("utf-8", "replace"))

    def _is_one(self, text: str) -> bool:
        if not LEAST <= len(text) <= self.longest:
            return False
        return canonical(text) in self.forms or shape(text) in self.forms


def words(texts: Iterable[str]) -> Words:
    """The texts that are long enough to be looked for; one that holds another is found by that."""
    given = list(texts)
    forms = {form for text in given for form in (text.strip(), " ".join(text.split())) if len(form) >= LEAST}
    least = [one for one in sorted(forms, key=len) if not any(other in one for other in forms if other != one)]
    spelled: dict[bytes, None] = {}
    for one in least:
        spelled[_raw(one)] = None
        spelled[_raw(json.dumps(one, ensure_ascii=False)[1:-1])] = None
        spelled[_raw(json.dumps(one)[1:-1])] = None
    telling = [one for one in forms if retold.is_telling(one)]
    rarest = {word.encode() for one in telling for word in retold.rarest(one) if word.isascii()}
    whole = {form for one in forms for form in (canonical(one), shape(one)) if len(form) >= LEAST}
    longest = 2 * max(map(len, forms), default=0) + SIGNS_AROUND if forms else 0
    return Words(tuple(least), tuple(spelled), retold.of_texts(telling), frozenset(rarest), frozenset(whole), longest)


def events(
    db: Connection, sought: Words, *, after_id: int = 0, kind: str | None = None, newest: int | None = None
) -> list[int]:
    """The events that hold one of the texts, whatever the case; in the excerpt whatever the white space too.

    It reads every event, without a lock: 100,000 of them take 2 to 5 s. With `newest` only so many are read, beside as
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
        if sought.in_text(f"{key}\n{value}\n{tags}\n{source}") or same_value(value) or sought.in_text(value)
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
    """Whether a file holds one of the texts somewhere as it was spelled, read a few megabytes at a time."""
    overlap = max((len(one) for one in sought.spelled), default=0)
    with open(path, "rb") as file:
        before = b""
        while piece := file.read(BYTES_A_LOOK):
            if sought.as_spelled(before + piece):
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
    if sought.in_bytes(f"{excerpt}\n{narrow}".encode("utf-8", "replace")):
        return True
    try:
        return sought.in_bytes(stored.unpacked(body, codec, excerpt))
    except zlib.error:  # a damaged row is not read by anybody else either
        return False


def _texts_in(text: str) -> list[str]:
    """The strings of JSON; else the text itself."""
    try:
        return retold.strings(json.loads(text))
    except (ValueError, RecursionError):
        return [text]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace").lower()
