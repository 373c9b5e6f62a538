"""Every column that may hold text, and what becomes of words in it that are forgotten."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from recorder.counted import many
from recorder.store.db import Connection

MARK = "[forgotten]"


class Sought(Protocol):
    """What is looked for in texts."""

    def in_text(self, text: str) -> bool:
        """Whether a text holds it."""

    def in_bytes(self, raw: bytes) -> bool:
        """Whether the content of a file, or JSON, holds it."""


# event, memory, finding: the event, the memory's version or the finding goes as a whole, whoever looks for it.
# row: the row goes. null: the column is emptied. mark: `[forgotten]` takes its place. json: strings inside are emptied.
# kept: a path, an id or who wrote it, by which other rows are found or which may never change: it is named.
# word: a word, a number or a digest of ours, or an id of a row of ours.
TREATED: Mapping[str, str] = {
    "audit": "actor kept, channel word, action word, subject kept, detail_digest word, reason kept, previous word,"
    " digest word",
    "claude_entries": "path kept, name kept, namespace kept, key kept, hash word",
    "claude_files": "path kept, folder kept, stamp word, session_id kept",
    "claude_syncs": "report json",
    "copies": "path kept, what word",
    "counters": "name word, note null",
    "cursors": "path kept, session_id kept, prefix_hash word, state json, tail_hash word",
    "deny_rules": "what word, digest word, actor mark, reason null",
    "embed_queue": "owner word",
    "embeddings": "owner word, model word, content_hash word, vector word",
    "events": "key kept, kind word, session_id kept, project_id word, prompt_id kept, tool_use_id kept, agent_id kept,"
    " class word, tool null, cwd kept, branch null, excerpt event, narrow event, body event, codec word,"
    " body_hash word",
    "files": "path row, action word",
    "findings": "kind word, project_id word, proposal finding, state word, disposition word, reason finding, pair word",
    "forgets": "state word, actor mark, reason null, reached word, unreached json, subject word, events_left word",
    "hook_times": "hook word",
    "jobs": "kind word, subject row, state word, outcome null, error null",
    "keys": "purpose word, secret word",
    "memories": "namespace kept, key memory, project_id word, home_project_id word, deleted_by kept, state word",
    "memory_evidence": "quote event, session_id kept",
    "memory_history": "action word, channel word, actor kept, reason null, content null",
    "memory_refs": "how word, who mark, session_id null",
    "memory_versions": "value memory, kind word, trust word, origin word, channel word, source memory, tags memory,"
    " valid_from_precision word, valid_to_precision word",
    "open_calls": "path kept, tool_use_id kept, event row",
    "pauses": "project_id word",
    "project_aliases": "identity kept, project_id word",
    "project_roots": "root kept, project_id word",
    "projects": "id word, identity kept, name mark, root kept, merged_into word",
    "relations": "relation row, actor mark, channel word",
    "taken_back": "path kept",
    "tokens": "digest word, project_id word, rights word",
    "runs": "name kept, state word, asked json, found json",
    "scopes": "name word",
    "sessions": "id kept, project_id word, first_cwd kept, transcript_path kept, end_reason null, title null,"
    " branch null",
    "sightings": "source word, ref kept, uuid kept, session_id kept, extra null",
    "tombstones": "scope word, key_digest word, value_digest word, shape_digest word, words_digest word, cause word,"
    " actor mark, channel word, reason null, lifted_by mark",
}


def treated() -> dict[tuple[str, str], str]:
    """(table, column) → what becomes of words in it."""
    pairs = {table: [one.split() for one in told.split(",")] for table, told in TREATED.items()}
    return {(table, column): how for table, columns in pairs.items() for column, how in columns}


def columns(db: Connection) -> set[tuple[str, str]]:
    """Every (table, column) of the schema that may hold text. The search tables are made of others."""
    rows = db.execute(
        "select t.name, c.name from pragma_table_list t join pragma_table_info(t.name) c"
        " where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite_%'"
        " and lower(c.type) not in ('integer', 'real')"
    )
    return set(rows)


def erase(db: Connection, sought: Sought) -> None:
    """Take what is looked for out of every column that is not found by what it belongs to."""
    for (table, column), how in treated().items():
        if how not in ("row", "null", "mark", "json"):
            continue
        for text in _holding(db, table, column, sought):
            if how == "row":
                db.execute(f"delete from {table} where {column} = ?", (text,))
                continue
            instead = {"null": None, "mark": MARK}.get(how)
            if how == "json":
                instead = json.dumps(_without(json.loads(text), sought), ensure_ascii=True)
            db.execute(f"update {table} set {column} = ? where {column} = ?", (instead, text))


def left(db: Connection, sought: Sought) -> list[str]:
    """What holds it and stays, in words: paths, ids and who wrote something."""
    found = []
    for (table, column), how in treated().items():
        if how == "kept" and (texts := _holding(db, table, column, sought)):
            found.append(f"{table}.{column} of the database, {many(len(texts), 'time')}: things are found by it")
    return found


def _holding(db: Connection, table: str, column: str, sought: Sought) -> list[str]:
    rows = db.execute(f"select distinct {column} from {table} where {column} is not null and {column} <> ''")
    texts = (text for (text,) in rows if isinstance(text, str))
    return [text for text in texts if sought.in_text(text) or sought.in_bytes(text.encode("utf-8", "replace"))]


def _without(value: Any, sought: Sought) -> Any:
    if isinstance(value, str):
        return "" if sought.in_text(value) else value
    if isinstance(value, list):
        return [_without(item, sought) for item in value]
    if isinstance(value, dict):
        return {key: _without(item, sought) for key, item in value.items() if not sought.in_text(key)}
    return value
