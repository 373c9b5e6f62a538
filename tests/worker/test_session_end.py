"""From the hooks and the transcript of one session to its memories, as soon as the session ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recorder.capture import spool
from recorder.config import Config
from recorder.models import Scope, Trust
from recorder.store import events, jobs, memories, sessions
from recorder.store.db import connect
from tests.makers import T0, bash, hook_input, project_folder, prompt, stop
from tests.worker.written import record
from worker import held

SAID = "Always run the linter with ruff check before committing"


def lines(cwd: str) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make test"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3 passed"}
    return [
        record("user", "u1", SAID, at_ms=T0, cwd=cwd, promptId="p1", promptSource="typed"),
        record("assistant", "u2", [use], at_ms=T0 + 10, cwd=cwd),
        record("user", "u3", [result], at_ms=T0 + 20, cwd=cwd, promptId="p1", toolUseResult={"stdout": "3 passed"}),
        record("assistant", "u4", [{"type": "text", "text": "All is well."}], at_ms=T0 + 30, cwd=cwd),
    ]


def played(config: Config, folder: Path, cwd: str) -> None:
    """A session's hooks in the spool and its transcript under `folder`."""
    path = folder / "-project" / "s1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines(cwd)))
    hooks = [
        hook_input("SessionStart", source="startup", cwd=cwd),
        prompt(SAID, cwd=cwd),
        bash("make test", "3 passed", cwd=cwd),
        stop(cwd=cwd),
        hook_input("SessionEnd", reason="other", cwd=cwd),
    ]
    spool.prepare(config.spool)
    for n, fields in enumerate(hooks):
        dropped = config.spool / "new" / f"{n}.json"
        dropped.write_text(json.dumps(fields | {"transcript_path": str(path)}))


def test_a_finished_session_is_distilled_by_one_drain(config: Config, own_home: Path) -> None:
    cwd = str(project_folder(own_home))
    played(config, own_home / ".claude" / "projects", cwd)
    held.drain_once(config)
    db = connect(config.db_path)
    project = events.of_session(db, "s1")[0].project_id
    found = {memory.value: memory.trust for memory in memories.listing(db, Scope(project))}
    assert found[SAID] is Trust.VERIFIED
    assert any("make test" in value for value in found)
    session = sessions.get(db, "s1")
    assert session is not None and session.closed_ms is not None
    assert {row["state"] for row in jobs.listing(db)} == {"done"}
    db.close()


@pytest.mark.parametrize("place", ["elsewhere", ".claude/not-projects"])
def test_a_transcript_that_is_not_claudes_own_makes_nobody_the_author_of_a_rule(
    config: Config, own_home: Path, place: str
) -> None:
    cwd = str(project_folder(own_home))
    played(config, own_home / place, cwd)
    held.drain_once(config)
    db = connect(config.db_path)
    project = events.of_session(db, "s1")[0].project_id
    assert {memory.trust for memory in memories.listing(db, Scope(project))} == {Trust.CANDIDATE}
    db.close()
