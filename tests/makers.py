"""Small events and turns for tests."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recorder.capture import ingest, wire
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Event
from recorder.store import events
from recorder.store.db import Connection, transaction

T0 = 1_790_000_000_000
_names = itertools.count()


def hook_input(event: str, *, session: str = "s1", cwd: str = "/home/user/project", **fields: Any) -> dict[str, Any]:
    """One hook input as the client writes it (2.1.197)."""
    return {
        "session_id": session,
        "transcript_path": f"/nowhere/{session}.jsonl",
        "cwd": cwd,
        "hook_event_name": event,
        **fields,
    }


def prompt(text: str, *, prompt_id: str = "p1", **more: Any) -> dict[str, Any]:
    return hook_input("UserPromptSubmit", prompt=text, prompt_id=prompt_id, permission_mode="default", **more)


def bash(command: str, output: str = "", *, use: str = "toolu_1", prompt_id: str = "p1", **more: Any) -> dict[str, Any]:
    return hook_input(
        "PostToolUse",
        tool_name="Bash",
        tool_input={"command": command},
        tool_response={"stdout": output, "stderr": "", "interrupted": False, "isImage": False},
        tool_use_id=use,
        prompt_id=prompt_id,
        duration_ms=5,
        **more,
    )


def stop(*, prompt_id: str = "p1", **more: Any) -> dict[str, Any]:
    fields = {"stop_hook_active": False, "last_assistant_message": "Done.", "background_tasks": [], "session_crons": []}
    return hook_input("Stop", prompt_id=prompt_id, **(fields | more))


def event_of(fields: dict[str, Any], *, at_ms: int = T0, name: str | None = None) -> Event:
    """The event of a hook input, as if it had come through the spool."""
    found = wire.parse(json.dumps(fields).encode(), name=name or f"{next(_names)}.json", received_ms=at_ms)
    assert found is not None
    return found


def take(db: Connection, config: Config, events: Sequence[Event], *, now_ms: int = T0) -> ingest.Taken:
    """Store events the way the worker does."""
    return ingest.take(db, events, now_ms=now_ms, redact=Redactor(config.capture).event, config=config)


def project_folder(home: Path, name: str = "project") -> Path:
    """A folder that is a project of its own: it has a `.git`."""
    folder = home / name
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("[core]\n\tbare = false\n")
    return folder


def add_filler(db: Connection, count: int) -> None:
    """So many events of no project that say nothing of interest."""
    with transaction(db):
        last = events.last_id(db)
        db.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)"
            " insert into events (key, kind, session_id, at_ms, received_ms, excerpt, body, codec, body_hash)"
            " select 'filler' || i, 'tool_call', s.id, ?2, ?2, 'filler', x'7b7d', 'json', ''"
            " from n, (select id from sessions order by id limit 1) s",
            (count, T0),
        )
        events.index(db, last)
