"""How a transcript may begin: what stands before the first ordinary record costs nothing of what follows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recorder.models import EventKind, StoredEvent
from recorder.store import events, sessions
from tests.backfill.past import DAY_MS, NOW_MS, Past, session_id
from tests.worker.written import write

ID = {"sessionId": session_id(1)}
BEFORE: dict[str, dict[str, Any]] = {
    "summary": {"type": "summary", "summary": "Sorting a list", "leafUuid": "x"},
    "ai-title": {"type": "ai-title", "aiTitle": "Sorting a list", **ID},
    "custom-title": {"type": "custom-title", "customTitle": "Sorting a list", **ID},
    "pr-link": {"type": "pr-link", "prNumber": 7, "prUrl": "https://git.test/7", **ID},
}


def begun(past: Past, first: Sequence[dict[str, Any]], cwd: str = "", days_old: float = 1.0) -> Path:
    """Session 1, with some records before the ordinary ones."""
    path = past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl"
    return write(path, [*first, *past.records(1, cwd=cwd)], changed_ms=NOW_MS - int(days_old * DAY_MS))


def stored(past: Past) -> tuple[sessions.Session, list[StoredEvent], set[int | None]]:
    """Session 1, its events, and the scopes of these."""
    db = past.terminal.db()
    try:
        session = sessions.get(db, session_id(1))
        assert session is not None
        scopes = {scope for (scope,) in db.execute("select scope_id from events")}
        return session, events.of_session(db, session_id(1)), scopes
    finally:
        db.close()


@pytest.mark.parametrize("kind", BEFORE)
@pytest.mark.parametrize("where", ["repository", "plain", "deleted"])
def test_a_record_without_a_folder_at_the_start_is_of_the_sessions_project(
    past: Past, own_home: Path, kind: str, where: str
) -> None:
    folder = {"repository": past.project, "plain": str(own_home / "plain"), "deleted": "/nowhere/gone"}[where]
    if where == "plain":
        Path(folder).mkdir()
    begun(past, [BEFORE[kind]], folder)
    said = past.terminal.ok("backfill")["projects"]
    past.commit()
    session, found, scopes = stored(past)
    assert session.project_id is not None and session.first_cwd == folder
    assert {event.project_id for event in found} == {session.project_id} and len(found) == 4
    assert len(scopes) == 1 and None not in scopes
    assert [(part["project"], part["events"]) for part in said] == [(session.project_id, 4)]


def test_what_was_read_before_the_folder_was_known_is_of_it_once_it_is(past: Past) -> None:
    path = past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl"
    away = {"type": "system", "subtype": "away_summary", "content": "You were sorting a list", "uuid": "a0", **ID}
    write(path, [*BEFORE.values(), away], changed_ms=NOW_MS - DAY_MS)
    past.commit()
    session, found, scopes = stored(past)
    assert session.project_id is None and len(found) == 5 and scopes == {None}
    begun(past, [], "/nowhere/gone")
    past.commit()
    session, found, scopes = stored(past)
    assert session.project_id is not None and len(found) == 8
    assert {event.project_id for event in found} == {session.project_id} and None not in scopes
    db = past.terminal.db()
    waiting = {event_id for (event_id,) in db.execute("select owner_id from embed_queue where owner = 'event'")}
    db.close()
    assert {event.id for event in found if event.kind is EventKind.SUMMARY and event.uuid == "a0"} <= waiting
    assert {event.id for event in found if event.kind is EventKind.PROMPT} <= waiting


@pytest.mark.parametrize(
    "first", [b"\n" * 1_000_000, b'{"type":"mode","mode":"normal"}\n' * 500, b'{"type":"permission-mode"}\n' * 500]
)
def test_a_session_is_known_however_late_its_first_ordinary_record_stands(past: Past, first: bytes) -> None:
    path = begun(past, [], days_old=0.5)
    path.write_bytes(first + path.read_bytes())
    found = past.terminal.ok("backfill")
    assert (found["events"], found["not_read"]) == (3, [])
    assert past.commit()["events"]["new"] == 3


def test_a_session_that_only_chose_its_mode_is_claudes(past: Past) -> None:
    path = past.claude / "projects" / "-x" / f"{session_id(2)}.jsonl"
    write(path, [{"type": "mode", "mode": "normal"}], changed_ms=NOW_MS)
    said = past.terminal.ok("backfill")
    assert (said["not_read"], said["records"], said["events"]) == ([], 1, 0)


def test_a_time_that_is_yet_to_come_is_not_the_newest_and_keeps_nothing_open(past: Past) -> None:
    lines = past.records(1, turns=2)
    for line in lines[2:5]:
        line["timestamp"] = "9999-12-31T23:59:59.000Z"
    write(past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl", lines, changed_ms=NOW_MS - DAY_MS)
    assert past.terminal.ok("backfill")["latest_ms"] < NOW_MS
    past.commit()
    past.terminal.ok("drain")
    session, found, _ = stored(past)
    assert session.closed_ms is not None and session.last_ms < NOW_MS
    assert [event.id for event in found] == sorted(event.id for event in found)
    assert past.terminal.ok("status")["last_event_ms"] < NOW_MS
    assert "recorder resume" not in past.terminal.run("status").out


def test_a_branch_that_holds_a_secret_stands_nowhere_in_the_store(past: Past) -> None:
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    path = past.claude / "projects" / "-x" / f"{session_id(1)}.jsonl"
    write(path, past.records(1, gitBranch=f"fix/{secret}"), changed_ms=NOW_MS - DAY_MS)
    past.commit()
    db = past.terminal.db()
    states = [json.loads(state) for (state,) in db.execute("select state from cursors")]
    db.execute("pragma wal_checkpoint(truncate)").get
    db.close()
    assert [state["branch"].startswith("fix/[redacted") for state in states] == [True]
    assert not [
        file for file in past.terminal.home.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()
    ]
