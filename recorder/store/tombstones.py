"""Values a person rejected: known again in every form, kept in none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from recorder.canonical import canonical, plainly, runs, shape, worded
from recorder.store import digests
from recorder.store.db import Connection

PURPOSE = "tombstone"
TELLING = 12
"""Characters from which on a value is the same thing under any key; a shorter one (`8080`) only under its own."""
STATED = 3
"""Words from which on a key, a tag or a reason says what a value said; with fewer it is a name."""
DELETED = "deleted"
"""The cause where a person did not say that it is false: nothing automatic says it again under another key."""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One rejected value. `cause`: rejected, corrected by putting another value in its place, or deleted. `exact`: it
    is refused as it is, and not in other signs; it has no digest of its words."""

    id: int
    scope: str
    cause: str
    memory_id: int | None
    created_ms: int
    actor: str
    reason: str | None
    lifted_ms: int | None
    exact: int


_COLUMNS = "id, scope, cause, memory_id, created_ms, actor, reason, lifted_ms, words_digest is null"


def lay(
    db: Connection,
    *,
    scope: str,
    key: str,
    value: str,
    cause: str,
    memory_id: int | None,
    actor: str,
    channel: str,
    reason: str | None,
    now_ms: int,
    exact: bool = False,
) -> int:
    """Refuse the value from now on; its id. Twice is once while it stands. `exact`: as it is alone, because the right
    one says it in other signs."""
    standing = matching(db, (scope,), key, value)
    own = next((one for one in standing if one.scope == scope and one.memory_id == memory_id), None)
    if own is not None and (own.cause != DELETED or cause == DELETED) and (exact or not own.exact):
        return own.id
    other = (shape(value) if exact else _other_form(value), None if exact else worded(value))
    db.execute(
        "insert into tombstones (scope, key_digest, value_digest, shape_digest, words_digest, cause, memory_id,"
        " created_ms, actor, channel, reason) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            scope,
            digests.of(db, PURPOSE, canonical(key), now_ms),
            digests.of(db, PURPOSE, canonical(value), now_ms),
            *(None if form is None else digests.of(db, PURPOSE, form, now_ms) for form in other),
            cause,
            memory_id,
            now_ms,
            actor,
            channel,
            reason,
        ),
    )
    return db.last_insert_rowid()


def matching(db: Connection, scopes: Iterable[str], key: str, value: str) -> list[Tombstone]:
    """The tombstones that refuse the value under the key in one of the scopes, the oldest first."""
    if not digests.any_key(db, PURPOSE):
        return []
    same_value = json.dumps(list(digests.under_every_key(db, PURPOSE, [canonical(value), shape(value)])))
    plain = plainly(value)
    plain_value = json.dumps(list(digests.under_every_key(db, PURPOSE, [plain])))
    same_key = json.dumps(list(digests.under_every_key(db, PURPOSE, [canonical(key)])))
    rows = db.execute(
        f"select {_COLUMNS} from tombstones t where t.lifted_ms is null"
        " and t.scope in (select value from json_each(?1))"
        " and ((t.value_digest in (select value from json_each(?2)) or t.shape_digest in (select value from"
        " json_each(?2))) and (?4 or t.key_digest in (select value from json_each(?3)))"
        " or t.words_digest is not null and (t.value_digest in (select value from json_each(?5))"
        " or t.shape_digest in (select value from json_each(?5)))"
        " and (?6 or t.key_digest in (select value from json_each(?3)))) order by t.id",
        (
            *(json.dumps(list(scopes)), same_value, same_key, len(canonical(value)) >= TELLING),
            *(plain_value, len(plain) >= TELLING),
        ),
    )
    return [Tombstone(*row) for row in rows]


def _other_form(value: str) -> str:
    """The second form a value is known in: as it looks, where that is another one, else without what stands around
    its words."""
    looks = shape(value)
    return plainly(value) if looks == canonical(value) else looks


def scopes(db: Connection) -> list[str]:
    """Every scope in which something is refused."""
    return [row[0] for row in db.execute("select distinct scope from tombstones where lifted_ms is null order by 1")]


def said_across(db: Connection, scopes: Iterable[str], key: str, value: str) -> bool:
    """Whether the end of a key and the value behind it say one of the rejected values together."""
    words = worded(key).split()
    ends = [" ".join([*words[at:], worded(value)]) for at in range(len(words))]
    return _rejected_words(db, scopes, [end for end in ends if _tells(end)])


def said_in(db: Connection, scopes: Iterable[str], text: str) -> bool:
    """Whether a text says one of the rejected values of the scopes: a key, a tag, a reason."""
    return _rejected_words(db, scopes, [one for one in runs(text, TELLING) if _tells(one)])


def _tells(words: str) -> bool:
    """Whether words say something where nothing is stated: a bare name does not."""
    return len(words) >= TELLING and words.count(" ") + 1 >= STATED


def _rejected_words(db: Connection, scopes: Iterable[str], texts: list[str]) -> bool:
    if not digests.any_key(db, PURPOSE):
        return False
    held = digests.under_every_key(db, PURPOSE, texts)
    rows = db.execute(
        "select 1 from tombstones where lifted_ms is null and scope in (select value from json_each(?1))"
        " and words_digest in (select value from json_each(?2)) limit 1",
        (json.dumps(list(scopes)), json.dumps(list(held))),
    )
    return bool(held) and bool(list(rows))


def copy(db: Connection, scope: str, to: str) -> None:
    """Refuse in one more scope what is refused in one; nobody's memory there, so that a person's word lifts it."""
    db.execute(
        "insert into tombstones (scope, key_digest, value_digest, shape_digest, words_digest, cause, created_ms, actor,"
        " channel, reason) select ?2, key_digest, value_digest, shape_digest, words_digest, cause, created_ms, actor,"
        " channel, reason from tombstones where scope = ?1 and lifted_ms is null",
        (scope, to),
    )


def of_memory(db: Connection, memory_id: int) -> list[Tombstone]:
    """The tombstones that came from a memory, lifted ones included, the oldest first."""
    rows = db.execute(f"select {_COLUMNS} from tombstones where memory_id = ? order by id", (memory_id,))
    return [Tombstone(*row) for row in rows]


def lift(db: Connection, tombstone_id: int, by: str, now_ms: int) -> bool:
    """Let the value come again. False when it was lifted before."""
    db.execute(
        "update tombstones set lifted_ms = ?, lifted_by = ? where id = ? and lifted_ms is null",
        (now_ms, by, tombstone_id),
    )
    return bool(db.changes())


def count(db: Connection) -> int:
    """How many stand."""
    return int(next(iter(db.execute("select count(*) from tombstones where lifted_ms is null")))[0])
