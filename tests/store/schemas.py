"""Databases as earlier schemas left them, with a row in every table and some that belong to nothing any more."""

from __future__ import annotations

import json
import os
from pathlib import Path

from recorder.store import events, indexes
from recorder.store.db import Connection, connect_copy, migrations

NUMBERS = [number for number, _ in migrations()]
T0 = 1_780_000_000_000
WITH_SCOPE_WORDS = 5
WORDS_WITHOUT_SCOPE = (
    "create virtual table event_words using fts5"
    " (excerpt, content='events', content_rowid='id', tokenize='porter unicode61')"
)


def filled(path: Path, schema: int) -> Connection:
    """A database that was made and filled at this schema, and never saw a later one."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = connect_copy(path)
    db.execute("pragma page_size = 8192; pragma auto_vacuum = incremental").get
    db.execute("pragma journal_mode = wal").get
    for number, sql in migrations():
        if number <= schema:
            db.execute(sql)
            db.pragma("user_version", number)
    if schema < WITH_SCOPE_WORDS:
        db.execute(WORDS_WITHOUT_SCOPE)
        db.execute(indexes.EVENT_TABLES["event_trigrams"])
        for sql in indexes.MEMORY_TABLES.values():
            db.execute(sql)
    else:
        indexes.assert_shapes(db)
    _fill(db)
    if schema >= 4:  # whose code says so itself
        db.execute("update memories set state = 'deleted' where deleted_ms is not null")
    return db


def _fill(db: Connection) -> None:
    db.execute("pragma foreign_keys = off")
    project = "old-00000001"
    body = json.dumps({"text": "Always use uv in this project"}).encode()
    for sql, *rows in (
        ("insert into scopes (id, name) values (?, ?)", (2, project)),
        (
            "insert into projects (id, identity, name, root, created_ms) values (?, ?, ?, ?, ?)",
            (project, "root:/home/user/old", "old", "/home/user/old", T0),
        ),
        ("insert into project_roots (root, project_id, bound_ms) values (?, ?, ?)", ("/home/user/old", project, T0)),
        ("insert into project_aliases (identity, project_id) values (?, ?)", ("remote:host/old", project)),
        (
            "insert into sessions (id, project_id, started_ms, last_ms) values (?, ?, ?, ?)",
            ("s1", project, T0, T0),
        ),
        (
            "insert into events (id, key, kind, session_id, project_id, scope_id, at_ms, received_ms, excerpt, body,"
            " codec, body_hash) values (?, ?, 'prompt', ?, ?, 2, ?, ?, ?, ?, 'json', x'')",
            (1, "p:s1:1", "s1", project, T0, T0, "Always use uv in this project", body),
            (2, "p:gone:1", "gone", "never-known", T0, T0, "of a session nobody knows", body),
        ),
        (
            "insert into sightings (event_id, source, ref, uuid, session_id, at_ms) values (?, 'hook', ?, ?, 's1', ?)",
            (1, "r1", "u1", T0),
            (99, "r99", "u99", T0),
        ),
        ("insert into files (event_id, path, action) values (?, ?, 'read')", (1, "a.py"), (98, "b.py")),
        (
            "insert into cursors (path, session_id, offset, prefix_hash, read_ms) values (?, 's1', 5, 'h', ?)",
            ("/nowhere/s1.jsonl", T0),
        ),
        ("insert into open_calls (path, tool_use_id, event) values (?, 't1', '{}')", ("/nowhere/s1.jsonl",)),
        (
            "insert into jobs (kind, subject, state, due_ms, created_ms) values ('distil', ?, ?, ?, ?)",
            ("s1\n1", "done", T0, T0),
            ("gone\n1", "queued", T0, T0),
        ),
        (
            "insert into memories (id, namespace, key, scope_id, project_id, version_id, created_ms, deleted_ms,"
            " deleted_by) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (1, "user", "preference.old", 1, None, 1, T0, None, None),
            (2, f"project.{project}", "command.test", 2, project, 2, T0, T0 + 5, "person"),
            (3, f"project.{project}", "of.nothing", 2, project, 77, T0, None, None),
        ),
        (
            "insert into memory_versions (id, memory_id, version, value, kind, trust, origin, channel, source,"
            " occurred_ms, recorded_ms)"
            " values (?, ?, 1, ?, 'preference', 'verified', 'user_said', 'person', 'x', ?, ?)",
            (1, 1, "I prefer uv to pip", T0, T0),
            (2, 2, "pytest -q", T0, T0),
            (9, 55, "a version of no memory", T0, T0),
        ),
        (
            "insert into memory_evidence (version_id, event_id, quote, session_id) values (?, ?, ?, 's1')",
            (1, 1, "Always use uv in this project"),
            (1, 97, "a quote of nothing"),
        ),
        (
            "insert into memory_history (memory_id, version_id, action, channel, actor, at_ms, content)"
            " values (?, ?, 'created', 'person', 'terminal', ?, '{\"events\": [1]}')",
            (1, 1, T0),
            (2, 2, T0),
        ),
        ("insert into memory_refs (memory_id, how, who, at_ms) values (?, 'read', 'x', ?)", (1, T0)),
        (
            "insert into findings (kind, memory_id, proposal, created_ms) values ('conflict', ?, ?, ?)",
            (1, '{"value": "pip", "evidence": [{"event_id": 1}]}', T0),
            (96, "{}", T0),
        ),
        (
            "insert into relations (from_id, to_id, relation, created_ms, actor) values (?, ?, 'about', ?, 'x')",
            (1, 2, T0),
            (1, 95, T0),
        ),
        ("insert into keys (purpose, secret, created_ms) values ('audit', x'00', ?)", (T0,)),
        (
            "insert into embeddings (owner, owner_id, window, scope_id, model, content_hash, vector)"
            " values (?, ?, 0, 2, 'm', 'h', zeroblob(384))",
            ("event", 1),
            ("event", 94),
        ),
        ("insert into embed_queue (owner, owner_id, at_ms) values (?, ?, ?)", ("memory", 1, T0), ("event", 93, T0)),
        ("insert into pauses (project_id, from_ms, until_ms) values (?, ?, ?)", (None, T0, T0 + 1)),
        ("insert into counters (name, value) values ('left_out_off', ?)", (3,)),
    ):
        for row in rows:
            db.execute(sql, row)
    if db.pragma("user_version") < WITH_SCOPE_WORDS:
        db.execute("insert into event_words (rowid, excerpt) select id, excerpt from events")
        db.execute("insert into event_trigrams (rowid, narrow) select id, narrow from events")
    else:
        events.index(db, 0)
    for name in indexes.MEMORY_TABLES:
        indexes.fill_memories(db, name)
