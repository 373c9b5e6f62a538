"""What was forgotten does not come back with the past, not even beside the events."""

from __future__ import annotations

import pytest

from tests.backfill.past import DAY_MS, NOW_MS, Past, session_id
from tests.worker.written import record, turn, write

RULE = "Always deploy through gatewayfrog nine"


def rows_with(past: Past, word: str) -> list[tuple[str, str]]:
    """(table, column) of every text in the store that holds a word."""
    db = past.terminal.db()
    try:
        columns = list(
            db.execute(
                "select t.name, c.name from pragma_table_list t join pragma_table_info(t.name) c"
                " where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite_%'"
            )
        )
        sql = "select 1 from {} where instr(lower(cast({} as text)), ?) limit 1"
        return [(table, name) for table, name in columns if list(db.execute(sql.format(table, name), (word,)))]
    finally:
        db.close()


@pytest.fixture
def forgotten(past: Past) -> Past:
    """A home in which a rule that was typed in an old session is forgotten."""
    past.session(1, said=RULE)
    past.commit()
    past.terminal.run("drain")
    key = next(one["key"] for one in past.terminal.ok("list") if one["value"].startswith("Always deploy"))
    assert past.terminal.run("forget", "project", key, "--yes").code == 0
    assert rows_with(past, "gatewayfrog") == []
    return past


def test_forgotten_words_stay_out_of_how_far_a_transcript_was_read(forgotten: Past) -> None:
    common = {"sessionId": session_id(2), "timestamp": "2026-01-02T00:00:00.000Z"}
    lines = [
        *turn(2, "go on", "ls", at_ms=NOW_MS - DAY_MS, cwd=forgotten.project, sessionId=session_id(2)),
        {"type": "ai-title", "aiTitle": RULE, "sessionId": session_id(2)},
        {"type": "summary", "summary": RULE, "leafUuid": "u2d"},
        {"type": "queue-operation", "operation": "enqueue", "content": RULE, **common},
        {"type": "queue-operation", "operation": "enqueue", "content": f"do it: {RULE}", **common},
    ]
    write(forgotten.claude / "projects" / "-p" / f"{session_id(2)}.jsonl", lines, changed_ms=NOW_MS - DAY_MS)
    assert forgotten.commit()["events"]["new"] > 0
    assert rows_with(forgotten, "gatewayfrog") == []


def test_a_branch_that_holds_forgotten_words_is_not_stored(forgotten: Past) -> None:
    line = record("user", "u3", "go on", at_ms=NOW_MS - DAY_MS, cwd=forgotten.project, sessionId=session_id(3))
    branch = "always-deploy-through-gatewayfrog-nine"
    write(
        forgotten.claude / "projects" / "-p" / f"{session_id(3)}.jsonl",
        [line | {"gitBranch": branch, "promptSource": "typed", "promptId": "p3"}],
        changed_ms=NOW_MS - DAY_MS,
    )
    assert forgotten.commit()["events"]["new"] == 1
    assert rows_with(forgotten, "gatewayfrog") == []


def test_a_title_that_is_written_again_is_one_event(past: Past) -> None:
    title = {"type": "ai-title", "aiTitle": "Mend the gate", "sessionId": session_id(4)}
    path = past.session(4)
    write(path, [title, title], changed_ms=NOW_MS - DAY_MS)
    assert past.commit()["events"]["new"] == 4
    write(path, [title], changed_ms=NOW_MS - DAY_MS)
    assert past.commit()["events"] == {"new": 0, "seen": 0, "left_out": {}}
    assert rows_with(past, "mend the gate")
