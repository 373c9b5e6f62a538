"""The arms of recall. None can be called without a Scope, and each filters by it inside its SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from recorder.models import Scope
from recorder.store import indexes, named, policy, vectors
from recorder.store.db import Connection
from recorder.store.only import (
    EVENT_IN_SCOPE,
    EVERYTHING,
    Only,
    bound,
    events_in,
    memories_in,
    versions,
)
from recorder.store.wordforms import forms

MOST_TERMS = 24
LONGEST_TERM = 64
LONGEST_QUERY = 4_000
LIKE_NEWEST = 2_000
"""LIKE cannot use an index: it reads this many of the newest events that are wanted, and all memories."""
MORE = 4
"""So many times the vectors wanted are taken from the index where a filter will leave some of them out."""

STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be been before but by can could did do does doing done for from"
    " get gets got had has have having he her here him his how i if in into is it its just let like many may me might"
    " more most much must my no nor not of off on one or our out over own please shall she should so some such than"
    " that the their them then there these they this those to too under up us very was we were what when where which"
    " while who whom whose why will with would you your".split()
)

# Scripts written without spaces, which unicode61 takes for one long word: Thai to Khmer, kana, Han, Hangul.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_WORD = re.compile(r"\w+")
_PIECE = re.compile(r"[^\s\"'`<>(){}\[\],;|]+")
# A piece of text that is a name and not prose: a path, an option, an identifier, a code.
_NAMED = re.compile(r"\w[./\\:@#=+_-]\w|[^\W\d_]\d|\d[^\W\d_]|\d{3}|[a-z][A-Z]|^[A-Z]{2,}|^--?\w|[./+#]")


@dataclass(frozen=True, slots=True)
class Found:
    """A row an arm came upon. Higher scores are better; scores compare within one arm and type only."""

    type: str
    id: int
    """`events.id` or `memories.id`."""
    score: float


class Partial(list[Found]):
    """What an arm found that did not look at everything: a name was too common to look at all that hold it."""


def terms(question: str) -> tuple[str, ...]:
    """The words a question is searched by: lower case, stop words dropped unless there is nothing else."""
    words = [word[:LONGEST_TERM] for word in _WORD.findall(plain(question).lower()) if word.strip("_")]
    telling = [word for word in words if word not in STOP_WORDS]
    return tuple(dict.fromkeys(telling or words))[:MOST_TERMS]


def names(question: str) -> tuple[str, ...]:
    """The parts of a question that are names and not prose (paths, identifiers, codes), and runs of unspaced script.

    A question of one word is a name.
    """
    text = plain(question)
    pieces = [piece.rstrip(".,:!?").lstrip(",!?") for piece in _PIECE.findall(_UNSPACED.sub(" ", text))]
    chosen = [piece for piece in pieces if _NAMED.search(piece)]
    if not chosen and len(pieces) == 1:
        chosen = pieces
    found = [piece[:LONGEST_TERM] for piece in chosen if piece] + _UNSPACED.findall(text)
    return tuple(dict.fromkeys(found))[:MOST_TERMS]


def pieces(term: str) -> tuple[str, ...]:
    """A term as it can be found inside a text: unspaced script in twos, for nobody knows where its words end."""
    if not _UNSPACED.fullmatch(term):
        return (term,)
    return tuple(term[n : n + 2] for n in range(len(term) - 1)) or (term,)


def is_name(question: str) -> bool:
    """Whether there is nothing in the question but names: who pastes a path wants what holds it."""
    rest = plain(question)
    found = names(question)
    for name in sorted(found, key=len, reverse=True):
        rest = rest.replace(name, " ")
    return bool(found) and not _WORD.search(rest)


def is_word(question: str) -> bool:
    """Whether a question that is nothing but a name is one of prose: an ordinary word, or a run of unspaced script."""
    return is_name(question) and not any(_NAMED.search(name) for name in names(question))


def plain(text: str) -> str:
    """Text that SQLite can be given: no NUL, no lone surrogate, of bounded length."""
    return text[:LONGEST_QUERY].replace("\x00", " ").encode("utf-8", "replace").decode()


def words(
    db: Connection, scope: Scope, question: str, limit: int, *, now_ms: int, only: Only = EVERYTHING
) -> list[Found]:
    """Rows that hold words of the question, best first within each type. Any text is a question."""
    values = bound(scope, now_ms, only)
    wanted = dict.fromkeys(form for term in terms(question) for form in forms(term))
    match = named.any_of(wanted)
    of_memories = _match(db, "memory_words", match, limit, values, only)
    return _event_words(db, match, limit, values, only) + of_memories


def trigram(
    db: Connection, scope: Scope, question: str, limit: int, *, now_ms: int, only: Only = EVERYTHING
) -> list[Found]:
    """Rows that hold a name of the question somewhere inside: at least three characters through the index,
    shorter ones (and unspaced script, whose prose no index holds) by looking at the newest."""
    values = bound(scope, now_ms, only)
    spelled = [name for name in names(question) if len(name) >= 3]
    unspaced = [name for name in names(question) if _UNSPACED.fullmatch(name)]
    parts = [part for name in spelled for part in (_threes(name) if name in unspaced else (name,))][: 2 * MOST_TERMS]
    of_events, whole = named.events(db, () if only.memories_alone else parts, events_in(only), values, limit)
    found = [Found("event", row_id, score) for row_id, score in of_events]
    found += _match(db, "memory_trigrams", named.any_of(parts), limit, values, only)
    looked_for = [name for name in names(question) if len(name) < 3 or name in unspaced][:4]
    known = {(row.type, row.id) for row in found}
    found += [row for row in _like(db, looked_for, limit, values, only) if (row.type, row.id) not in known]
    return found if whole else Partial(found)


def vector(
    db: Connection, scope: Scope, asked: bytes, limit: int, *, now_ms: int, only: Only = EVERYTHING
) -> list[Found]:
    """Rows whose meaning is near the vector, best first; the score is the cosine similarity of the best window."""
    values = bound(scope, now_ms, only)
    near = vectors.search(db, scope, asked, limit if only == EVERYTHING else MORE * limit)
    found = []
    for type, sql in (("event", _near_events(only)), ("memory", _near_memories(only))):
        if type == "event" and only.memories_alone:
            continue
        of_type = [one for one in near if one.owner == type]
        rows = _best(db, sql, of_type, values)[:limit]
        if len(rows) < limit and only != EVERYTHING:
            # What stood nearest was mostly not wanted: what is wanted is compared itself, however far down it stands.
            rows = list(db.execute(_compared(type, only), {**values, "asked": asked, "limit": limit}))
        found += [Found(type, row_id, score) for row_id, score in rows]
    return found


def _compared(type: str, only: Only) -> str:
    """(id, cosine similarity of its best window) of what is wanted, best first."""
    if type == "event":
        owners, row_id, owner_id, wanted = "events e", "e.id", "e.id", events_in(only)
    else:
        join, believed = versions(only)
        owners, row_id, owner_id = f"memory_versions v {join}", "m.id", "v.id"
        wanted = f"{memories_in(only)} and {believed}"
    return (
        f"select {row_id}, max(1.0 - vec_distance_cosine(vec_int8(b.vector), vec_int8(:asked))) from {owners}"
        f" cross join embeddings b on b.owner = '{type}' and b.owner_id = {owner_id}"
        f" where {wanted} and length(b.vector) = length(:asked) and {_SAME_MODEL}"
        f" group by {row_id} order by 2 desc, 1 limit :limit"
    )


def likeness(db: Connection, owners: Iterable[tuple[str, int]], asked: bytes) -> dict[tuple[str, int], float]:
    """Cosine similarity of these (`event` or `memory`, `events.id` or `memories.id`) with the vector, as far as they
    have one, each by its best window.

    Raises: SQLError where sqlite-vec is not there.
    """
    wanted = list(owners)
    return {
        (type, row_id): similarity
        for type, sql in _LIKENESS.items()
        for row_id, similarity in db.execute(sql, (asked, json.dumps([n for t, n in wanted if t == type]), len(asked)))
    }


_SAME_MODEL = "b.model = coalesce((select note from counters where name = 'vector_index'), b.model)"
_LIKENESS = {
    "event": (
        "select b.owner_id, max(1.0 - vec_distance_cosine(vec_int8(b.vector), vec_int8(?1))) from json_each(?2) j"
        " cross join embeddings b on b.owner = 'event' and b.owner_id = j.value"
        f" where length(b.vector) = ?3 and {_SAME_MODEL} group by b.owner_id"
    ),
    "memory": (
        "select m.id, max(1.0 - vec_distance_cosine(vec_int8(b.vector), vec_int8(?1))) from json_each(?2) j"
        " cross join memories m on m.id = j.value"
        " cross join embeddings b on b.owner = 'memory' and b.owner_id = m.version_id"
        f" where length(b.vector) = ?3 and {_SAME_MODEL} group by m.id"
    ),
}


def _near_events(only: Only) -> str:
    return (
        "select e.id, n.value from json_each(:near) n join events e on e.id = cast(n.key as integer)"
        f" where {events_in(only)} order by n.value desc, e.id"
    )


def _near_memories(only: Only) -> str:
    join, believed = versions(only)
    return (
        "select m.id, n.value from json_each(:near) n join memory_versions v on v.id = cast(n.key as integer)"
        f" {join} where {memories_in(only)} and {believed} order by n.value desc, m.id"
    )


def _best(db: Connection, sql: str, near: Iterable[Any], values: Mapping[str, Any]) -> list[tuple[int, float]]:
    best: dict[int, float] = {}
    for one in near:
        best[one.owner_id] = max(one.similarity, best.get(one.owner_id, -1.0))
    return list(db.execute(sql, {**values, "near": json.dumps(best)}))


def _event_words(db: Connection, match: str, limit: int, values: Mapping[str, Any], only: Only) -> list[Found]:
    scopes = [
        f'"{indexes.IN_SCOPE}{row[0]}"'
        for row in db.execute(f"select id from scopes where id in {policy.scope_ids(':project')}", values)
    ]
    if not match or not scopes or only.memories_alone:
        return []
    wanted = events_in(only)
    any_of_them = "true" if only == EVERYTHING else "false"
    values = {**values, "match": f"scope : ({' OR '.join(scopes)}) AND ({match})", "limit": limit}
    # The index itself is read inside the scope alone, and a row of `events` only where it is needed: of a million
    # rows that takes 15 ms, of a scope of every sixth 110, where a join with each row of the words took 400.
    # The scope has no weight in the score.
    rows = db.execute(
        "with best as materialized (select f.rowid as id, -bm25(event_words, 1.0, 0.0) as score from event_words f"
        f" where event_words match :match and ({any_of_them}"
        f" or exists (select 1 from events e where e.id = f.rowid and {wanted}))"
        " order by bm25(event_words, 1.0, 0.0), f.rowid desc limit :limit)"
        f" select e.id, b.score from best b cross join events e on e.id = b.id where {wanted}"
        " order by b.score desc, e.id desc",
        values,
    )
    return [Found("event", row_id, score) for row_id, score in rows]


def _match(
    db: Connection, of_memories: str, match: str, limit: int, values: Mapping[str, Any], only: Only
) -> list[Found]:
    if not match:
        return []
    join, believed = versions(only)
    rows = db.execute(
        f"select m.id, -bm25({of_memories}) from {of_memories} f cross join memory_versions v on v.id = f.rowid"
        f" {join} where {of_memories} match :match and {memories_in(only)} and {believed}"
        f" order by bm25({of_memories}), m.id desc limit :limit",
        {**values, "match": match, "limit": limit},
    )
    return [Found("memory", row_id, score) for row_id, score in rows]


def _like(db: Connection, parts: list[str], limit: int, values: Mapping[str, Any], only: Only) -> list[Found]:
    found: dict[tuple[str, int], float] = {}
    # The newest are counted among those that are wanted: a filter must not leave less to look at.
    looks = parts and not only.memories_alone
    among = json.dumps(named.newest(db, events_in(only), values, LIKE_NEWEST) if looks else [])
    for part in parts:
        escaped = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        bindings = {**values, "like": f"%{escaped}%", "limit": limit, "among": among}
        for type, sql in (("event", _LIKE_EVENTS), ("memory", _like_memories(only))):
            for (row_id,) in db.execute(sql, bindings):
                found[type, row_id] = found.get((type, row_id), 0.0) + 1.0
    return [Found(type, row_id, score) for (type, row_id), score in sorted(found.items(), key=lambda item: -item[1])]


_LIKE_EVENTS = (
    "select e.id from json_each(:among) n cross join events e on e.id = n.value"
    " where (e.narrow like :like escape '\\' or e.excerpt like :like escape '\\') limit :limit"
)


def _like_memories(only: Only) -> str:
    join, believed = versions(only)
    return (
        f"select m.id from memory_versions v {join} where {memories_in(only)} and {believed}"
        " and (m.key like :like escape '\\' or v.value like :like escape '\\') order by v.recorded_ms desc limit :limit"
    )


def _threes(run: str) -> tuple[str, ...]:
    return tuple(run[n : n + 3] for n in range(len(run) - 2))


def current(
    db: Connection,
    scope: Scope,
    *,
    now_ms: int,
    only: Only = EVERYTHING,
    tag: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> list[int]:
    """Ids of the memories that recall would show, the latest first."""
    join, believed = versions(only)
    sql = (
        f"select m.id from memory_versions v {join} where {memories_in(only)} and {believed}"
        " and (:tag is null or exists (select 1 from json_each(v.tags) t where t.value = :tag))"
        " order by v.recorded_ms desc, m.id desc limit :limit offset :offset"
    )
    values = {**bound(scope, now_ms, only), "tag": tag, "limit": limit, "offset": offset}
    return [row[0] for row in db.execute(sql, values)]


def listed(
    db: Connection, scope: Scope, *, now_ms: int, only: Only, newest: bool, limit: int, offset: int = 0
) -> list[Found]:
    """What is wanted, asked nothing: events that say something, and memories, in the order they happened or the other
    way round; equal times by type and id."""
    last = limit + offset
    values = {**bound(scope, now_ms, only), "limit": last}
    order = "desc" if newest else "asc"
    join, believed = versions(only)
    rows = [
        ("memory", *row)
        for row in db.execute(
            f"select v.occurred_ms, m.id from memory_versions v {join} where {memories_in(only)} and {believed}"
            f" order by v.occurred_ms {order}, m.id {order} limit :limit",
            values,
        )
    ]
    # Scope by scope: the index of each has its rows in this order, and is left as soon as there are enough.
    scopes = db.execute(f"select id from scopes where id in {policy.scope_ids(':project')}", values)
    for (scope_id,) in [] if only.memories_alone else list(scopes):
        sql = (
            f"select e.at_ms, e.id from events e where e.scope_id = :one and {events_in(only)} and e.excerpt <> ''"
            f" order by e.at_ms {order}, e.id {order} limit :limit"
        )
        rows += [("event", *row) for row in db.execute(sql, {**values, "one": scope_id})]
    rows.sort(key=lambda row: (row[1], row[0], row[2]), reverse=newest)
    return [Found(type, row_id, 0.0) for type, _, row_id in rows[offset:last]]


def around(db: Connection, scope: Scope, event_id: int, *, before: int, after: int, now_ms: int) -> list[int]:
    """Ids of the events around one in its session, itself included, in the order they happened; none when the caller
    may not see that one. Events of the session that belong to another project are passed over."""
    values = {**bound(scope, now_ms), "id": event_id, "before": max(before, 0), "after": max(after, 0)}
    here = f"(select session_id, at_ms, id from events e where e.id = :id and {EVENT_IN_SCOPE}) here"
    beside = (
        "from events e join {here} on e.session_id = here.session_id and (e.at_ms, e.id) {side} (here.at_ms, here.id)"
    )
    telling = f"{EVENT_IN_SCOPE} and (e.excerpt <> '' or e.id = :id)"
    earlier = f"select e.id {beside.format(here=here, side='<=')} where {telling} order by e.at_ms desc, e.id desc"
    later = f"select e.id {beside.format(here=here, side='>')} where {telling} order by e.at_ms, e.id"
    first = [row[0] for row in db.execute(f"{earlier} limit :before + 1", values)]
    return first[::-1] + [row[0] for row in db.execute(f"{later} limit :after", values)]


def count_events(db: Connection, scope: Scope) -> int:
    """How many events the caller may see."""
    sql = f"select count(*) from events e where e.scope_id in {policy.scope_ids(':project')}"
    return int(next(iter(db.execute(sql, bound(scope, 0))))[0])
