"""Records of a transcript as the client writes them, and readings of whole files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recorder.capture import transcript
from recorder.capture.transcript import Chunk, Cursor
from recorder.models import Event

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
FIXTURES = SHARED / "claude_code" / "fixtures"
SESSION = "0a0b0c0d-0000-4000-8000-000000000001"

Line = dict[str, Any]


def record(kind: str, n: int = 1, **fields: Any) -> Line:
    return {
        "type": kind,
        "uuid": f"uuid-{kind}-{n}",
        "timestamp": f"2026-05-01T10:00:{n % 60:02d}.000Z",
        "sessionId": SESSION,
        "cwd": "/home/user/project",
        "gitBranch": "main",
        "version": "2.1.197",
        "isSidechain": False,
        "entrypoint": "cli",
        **fields,
    }


def said(text: Any, n: int = 1, **fields: Any) -> Line:
    return record("user", n, message={"role": "user", "content": text}, **fields)


def typed(text: str, n: int = 1, **fields: Any) -> Line:
    return said(text, n, promptId=f"prompt-{n}", promptSource="typed", **fields)


def answer(*blocks: Line, n: int = 1, **fields: Any) -> Line:
    return record("assistant", n, message={"id": f"msg-{n}", "content": list(blocks)}, **fields)


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def use(n: int = 1, tool: str = "Bash", **given: Any) -> Line:
    return {"type": "tool_use", "id": f"toolu_{n}", "name": tool, "input": given or {"command": f"echo {n}"}}


def result(n: int = 1, content: Any = "out", structured: Any = None, **block: Any) -> Line:
    more = {} if structured is None else {"toolUseResult": structured}
    return said([{"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": content, **block}], 30 + n, **more)


def lines(*records: Line) -> bytes:
    return b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in records)


def read_on(path: Path, cursor: Cursor, calls: dict[str, Event], **how: Any) -> Chunk:
    """One read to the end, the cursor carried through JSON as the store does."""
    whole: Chunk | None = None
    while True:
        chunk = transcript.read(path, cursor, open_calls=calls, **how)
        cursor = Cursor(chunk.cursor.offset, json.loads(json.dumps(chunk.cursor.state)))
        calls = chunk.open_calls
        if whole is not None:
            chunk.events[:0] = whole.events
            chunk.skipped += whole.skipped
            chunk.problems[:0] = whole.problems
            chunk.seen += whole.seen
            chunk.taken += whole.taken
            chunk.lines += whole.lines
        whole = chunk
        if chunk.at_end:
            return chunk


def read_all(path: Path, content: bytes, **how: Any) -> Chunk:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    chunk = read_on(path, Cursor(), {}, **how)
    assert chunk.seen == chunk.taken + sum(chunk.skipped.values())
    return chunk


def the_event(path: Path, *records: Line) -> Event:
    (event,) = read_all(path, lines(*records)).events
    return event


def queue(operation: str, n: int, content: str | None = None) -> Line:
    more = {} if content is None else {"content": content}
    return {
        "type": "queue-operation",
        "operation": operation,
        "timestamp": f"2026-05-01T10:01:{n:02d}.000Z",
        "sessionId": SESSION,
        **more,
    }


def absorbed(words: str, n: int) -> Line:
    attachment = {
        "type": "queued_command",
        "prompt": words,
        "commandMode": "prompt",
        "timestamp": f"2026-05-01T10:01:{n:02d}.000Z",
    }
    return record("attachment", n, attachment=attachment)
