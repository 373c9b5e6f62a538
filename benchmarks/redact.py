"""How fast an event is redacted: `python benchmarks/redact.py`."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recorder import config
from recorder.capture.redact import Redactor
from recorder.models import Event, EventKind, Source

SHARED = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "transcripts"
SIZE_BYTES = 12_000_000
WORDS = (
    "the test fails because the queue is closed before the worker drains it so we keep the lease until commit and "
    "import json from pathlib import Path def take(db, events): return None # tokens are counted once per message"
).split()


def event(number: int, body: dict[str, Any]) -> Event:
    return Event(f"t:s:{number}", EventKind.TOOL_CALL, "s", number, Source.TRANSCRIPT, body, cwd="/home/user/project")


def made(rng: random.Random) -> Iterable[tuple[Event, int]]:
    """Tool calls of two kinds and some prose, about 2 KB each."""
    size = number = 0
    while size < SIZE_BYTES:
        lines = [" ".join(rng.choices(WORDS, k=10)) for _ in range(rng.randint(4, 50))]
        uid = f"{rng.getrandbits(128):032x}"
        body = {
            "input": {"command": f"pytest -q tests/test_{number}.py", "description": "Run the tests"},
            "result": {"stdout": "\n".join(lines), "stderr": "", "interrupted": False, "uuid": uid},
        }
        text = len(json.dumps(body))
        yield event(number, body), text
        size += text
        number += 1


def corpus() -> Iterable[tuple[Event, int]]:
    """Whole records of real transcripts; a size is that of the raw line."""
    size = 0
    for path in sorted(SHARED.rglob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines()):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                body = {key: record[key] for key in ("message", "toolUseResult", "content") if key in record}
                yield event(number, body), len(line)
                size += len(line)
        if size > SIZE_BYTES:
            return


def measured(name: str, events: list[tuple[Event, int]]) -> None:
    redactor = Redactor(config.Capture())
    redactor.text("load the rules first")
    changed = 0
    started = time.process_time()
    for one, _ in events:
        changed += redactor.event(one).body != one.body
    seconds = time.process_time() - started
    bodies = [json.dumps(one.body) for one, _ in events]
    started = time.process_time()
    for body in bodies:
        json.loads(body)
    parsing = time.process_time() - started
    megabytes = sum(size for _, size in events) / 1e6
    print(
        f"{name}: {len(events)} events, {megabytes:.1f} MB, {changed} changed, {megabytes / seconds:.0f} MB/s;"
        f" parsing the same as JSON {megabytes / parsing:.0f} MB/s"
    )


if __name__ == "__main__":
    measured("made", list(made(random.Random(7))))
    if SHARED.exists():
        measured("corpus", list(corpus()))
