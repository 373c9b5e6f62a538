"""The public transcripts, whole, through the command."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from recorder.capture import transcript
from recorder.store import events
from recorder.store.db import connect
from tests.backfill.past import Past

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "transcripts"

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared")


def counted(path: Path) -> tuple[int, int, Counter[str]]:
    """(lines, records, records by the rule that leaves them out) of a file, read on its own."""
    lines = records = 0
    rules: Counter[str] = Counter()
    cursor, calls = transcript.Cursor(), {}
    while True:
        chunk = transcript.read(path, cursor, open_calls=calls, final=True)
        lines, records, rules = lines + chunk.lines, records + chunk.seen, rules + chunk.skipped
        assert chunk.seen == chunk.taken + sum(chunk.skipped.values()), path
        cursor, calls = chunk.cursor, chunk.open_calls
        if chunk.at_end:
            assert cursor.offset == path.stat().st_size or "unfinished" in rules, path
            return lines, records, rules


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The transcripts as of yesterday: the last line of a file that was just written may still grow."""
    copied = shutil.copytree(CORPUS, tmp_path / "transcripts")
    for path in copied.rglob("*.jsonl"):
        path.chmod(0o600)
        os.utime(path, (time.time() - 86_400,) * 2)
    return copied


def test_every_public_transcript_comes_in_once_and_every_record_is_accounted_for(past: Past, corpus: Path) -> None:
    said = past.terminal.ok("backfill", str(corpus))
    found = past.commit(str(corpus))
    assert found["failed"] == found["not_read"] == []
    paths = [path for path in corpus.rglob("*.jsonl") if path.name != "journal.jsonl" and path.stat().st_size]
    assert found["files"] == said["files"] == len(paths)
    lines, records, rules = 0, 0, Counter[str]()
    for path in paths:
        own = counted(path)
        # A blank line and a torn piece count as one record; glued records make more of a line.
        assert own[1] >= own[0], path
        lines, records, rules = lines + own[0], records + own[1], rules + own[2]
    for told in (said, found):
        assert (told["lines"], told["records"], Counter(told["left_out"])) == (lines, records, rules)
        assert told["taken"] == records - sum(rules.values())
    taken = found["events"]
    assert (taken["new"], taken["seen"]) == (said["events"], said["events_known"]) and taken["left_out"] == {}
    db = connect(past.terminal.home / "recorder.db")
    assert events.count(db) == taken["new"] == len(set(past.keys()))
    db.close()
    assert past.commit(str(corpus))["events"] == {"new": 0, "seen": 0, "left_out": {}}
    undone = past.terminal.ok("backfill", "--undo", found["run"], "--commit")
    assert undone["events"] == taken["new"] and past.keys() == []
