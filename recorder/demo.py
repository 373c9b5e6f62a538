"""A small sample session of ours through the real hook: captured, distilled, recalled, shown."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recorder import selftest
from recorder.config import Config
from recorder.counted import many
from recorder.models import Recall
from recorder.recall import rank
from recorder.recall import scope as scopes
from recorder.store import events, memories
from recorder.store.db import connect

QUESTION = "how are the tests run"
SESSION = "demo-session"


@dataclass(frozen=True, slots=True)
class Played:
    """What the sample session became."""

    home: Path | None
    """None when it is gone again."""
    story: tuple[str, ...]
    found: Recall

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        hits = [asdict(hit) for hit in self.found.hits]
        return {
            "home": str(self.home) if self.home else None,
            "story": list(self.story),
            "arms": dict(self.found.arms),
            "hits": hits,
        }


def inputs(folder: str) -> Iterable[Mapping[str, Any]]:
    """The hook inputs of the sample session, as Claude Code 2.1.197 writes them."""
    common = {
        "session_id": SESSION,
        "transcript_path": f"{folder}/none.jsonl",
        "cwd": folder,
        "prompt_id": "demo-prompt",
    }
    yield common | {"hook_event_name": "SessionStart", "source": "startup"}
    said = "Always run the tests with `uv run pytest -q`, never with plain pytest. Then fix the failing parser test."
    yield common | {"hook_event_name": "UserPromptSubmit", "prompt": said}
    yield common | {
        "hook_event_name": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_use_id": "toolu_demo_1",
        "tool_input": {"command": "uv run pytest -q"},
        "error": "Exit code 1\nFAILED tests/test_parser.py::test_empty - ValueError: empty input\n1 failed, 11 passed",
    }
    yield common | {
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_use_id": "toolu_demo_2",
        "tool_input": {
            "file_path": f"{folder}/parser.py",
            "old_string": "raise ValueError('empty input')",
            "new_string": "return []",
        },
        "tool_response": {"filePath": f"{folder}/parser.py", "structuredPatch": []},
    }
    yield common | {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_use_id": "toolu_demo_3",
        "tool_input": {"command": "uv run pytest -q"},
        "tool_response": {"stdout": "............\n12 passed in 0.31s", "stderr": "", "interrupted": False},
    }
    yield common | {"hook_event_name": "Stop", "last_assistant_message": "The parser returns [] for empty input now."}
    yield common | {"hook_event_name": "SessionEnd", "reason": "other"}


def play(source_root: Path, now_ms: int, *, keep: bool = False) -> Played:
    """Play the sample session into a new home under the temporary folder, which is gone afterwards unless kept.

    Raises: RecorderError when a part of the chain does not work.
    """
    home = Path(tempfile.mkdtemp(prefix="recorder-demo-"))
    try:
        story, found = _play(home, source_root, now_ms)
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)
    if not keep:
        return Played(None, ("a sample session in a home of its own", *story), found)
    return Played(home, (f"a sample session, kept in {home}", *story), found)


def _play(home: Path, source_root: Path, now_ms: int) -> tuple[tuple[str, ...], Recall]:
    folder = home / "project"
    (folder / ".git").mkdir(parents=True)
    config = Config(home=home / ".recorder")
    sent = 0
    for fields in inputs(str(folder)):
        selftest.send(source_root / "hooks" / "capture.sh", config.home, fields)
        sent += 1
    selftest.drain(config)
    db = connect(config.db_path)
    try:
        scope = scopes.of_directory(db, str(folder), now_ms=now_ms)
        found = rank.recall(
            db, QUESTION, scope, k=3, vector=None, vector_status="unavailable: the demo asks words alone", now_ms=now_ms
        )
        learnt = [f"  {m.key}: {m.value} ({m.trust})" for m in memories.listing(db, scope)]
        story = (
            f"captured: {many(sent, 'hook input')} through the real hook, {many(events.count(db), 'event')}",
            f"distilled: {many(len(learnt), 'memory', 'memories')}",
            *learnt,
            f"recalled: {QUESTION}?",
        )
    finally:
        db.close()
    return story, found
