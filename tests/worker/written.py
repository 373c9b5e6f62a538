"""Transcripts as the client writes them (2.1.197)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def record(kind: str, uuid: str, content: Any, *, at_ms: int, cwd: str, **more: Any) -> dict[str, Any]:
    """One line of a transcript."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    common = {"uuid": uuid, "parentUuid": None, "timestamp": at, "sessionId": "s1", "cwd": cwd, "version": "2.1.197"}
    message = {"role": kind, "content": content} | ({"id": f"msg_{uuid}"} if kind == "assistant" else {})
    return common | {"type": kind, "isSidechain": False, "entrypoint": "cli", "message": message} | more


def turn(n: int, said: str, command: str, *, at_ms: int, cwd: str, **more: Any) -> list[dict[str, Any]]:
    """A typed prompt, a command that went well, and an answer."""
    use = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "3 passed", "is_error": False}
    ids = {"promptId": f"p{n}"}
    typed, ran = ids | {"promptSource": "typed"}, ids | {"toolUseResult": {"stdout": "3 passed"}}
    return [
        record("user", f"u{n}a", said, at_ms=at_ms, cwd=cwd, **typed, **more),
        record("assistant", f"u{n}b", [use], at_ms=at_ms + 10, cwd=cwd, **more),
        record("user", f"u{n}c", [result], at_ms=at_ms + 20, cwd=cwd, **ran, **more),
        record("assistant", f"u{n}d", [{"type": "text", "text": "All is well."}], at_ms=at_ms + 30, cwd=cwd, **more),
    ]


def write(path: Path, records: Iterable[Mapping[str, Any]], *, changed_ms: int, torn: str = "") -> Path:
    """The records at the end of the file, which was last changed then; `torn` begins a line that does not end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(dict(line)) + "\n" for line in records) + torn)
    os.utime(path, (changed_ms / 1000, changed_ms / 1000))
    return path
