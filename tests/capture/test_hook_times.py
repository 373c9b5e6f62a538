"""How long our hooks took, where the client wrote it down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recorder.capture import reading
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Source
from recorder.store import events, hook_times
from recorder.store.db import Connection
from tests.capture.transcript_lines import record, typed
from tests.makers import T0

OURS = "sh '/home/user/.recorder/hooks/capture.sh' wake"
AT_MS = 1_777_629_602_000


def summary(n: int, *infos: object) -> dict[str, object]:
    return record("system", n, subtype="stop_hook_summary", hookInfos=list(infos), hookCount=len(infos))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    spoke = {"type": "hook_success", "hookEvent": "SessionStart", "durationMs": 31, "content": "a brief"}
    lines = [
        typed("Run the tests"),
        record("attachment", 1, attachment=spoke | {"command": "python3 /home/user/.recorder/hooks/brief.py"}),
        summary(2, {"command": OURS, "durationMs": 7}, {"command": "notify-send done", "durationMs": 900}),
        summary(3, {"command": OURS}, {"command": OURS, "durationMs": "7"}, {"command": OURS, "durationMs": -1}, None),
        record("system", 4, subtype="stop_hook_summary", hookInfos="none"),
    ]
    file = tmp_path / "0a0b0c0d-0000-4000-8000-000000000001.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def test_what_our_hooks_took_is_kept_once_and_what_others_took_is_not(
    db: Connection, config: Config, path: Path
) -> None:
    copy = path.with_name("0a0b0c0d-0000-4000-8000-000000000002.jsonl")
    copy.write_bytes(path.read_bytes())
    for file in (path, path, copy):
        reader = reading.Reader(db, T0, Redactor(config.capture).event, config, source=Source.BACKFILL)
        reading.catch_up(reader, file)
    kept = list(db.execute("select hook, took_ms from hook_times order by took_ms"))
    assert kept == [("capture.sh", 7), ("brief.py", 31)]
    assert hook_times.between(db, AT_MS - 60_000, AT_MS + 60_000, 10)[0][1] == 7
    assert hook_times.between(db, 0, AT_MS - 60_000, 10) == []
    assert "capture.sh" not in "".join(event.excerpt for event in events.listing(db))
