"""Prompts and calls counted from the raw lines, by rules written down a second time, against what the reader gives.

The rules are those of the table of user records in the description of the format: first match wins. Nothing here comes
from the reader's own classes. Both sides are compared by the words and ids themselves, not by their number alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from recorder.capture.transcript import Cursor
from recorder.models import EventKind, PromptClass
from tests.capture.transcript_lines import (
    SESSION,
    SHARED,
    answer,
    lines,
    queue,
    read_on,
    result,
    said,
    text,
    typed,
    use,
)

TRANSCRIPTS = SHARED / "corpus" / "transcripts"
# Their publisher put one and the same text for every uuid, id, class and word: nothing is left to compare.
TRIMMED = "jazzyalex+agent-sessions/small"
FILES = [path for path in sorted(TRANSCRIPTS.rglob("*.jsonl")) if TRIMMED not in str(path)]
FEWEST = 100
"""Files with a prompt or a pair in them that the comparison covers at the least; the corpus has 122."""

PERSONS = {
    PromptClass.TYPED: "typed",
    None: "typed",  # typed or not, the client does not say: the table counts it among the typed ones
    PromptClass.SDK: "sdk",
    PromptClass.SLASH: "slash",
    PromptClass.BASH: "bash",
    PromptClass.QUEUED: "queued",
}
"""The reader's classes of what a person or a program wrote, and the table's name for each."""

STARTS = [
    ("notification", ("<task-notification>", "<agent-notification>", "<bash-notification>", '{"task_id":')),
    ("teammate", ("<teammate-message",)),
    ("interruption", ("[Request interrupted by user",)),
    ("slash", ("<command-name>", "<command-message>")),
    ("output", ("<local-command-stdout>", "<local-command-stderr>")),
    ("caveat", ("<local-command-caveat>", "Caveat: The messages below")),
    ("hook", ("Operation stopped by hook:",)),
    ("error", ("Unknown skill:", "Unknown slash command:")),
    ("bash", ("<bash-input>",)),
    ("output", ("<bash-stdout>", "<bash-stderr>")),
]


@dataclass
class Counted:
    """What a file holds: (class, hash of the words) of prompts, and ids of calls."""

    prompts: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: set[str] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    results_alone: set[str] = field(default_factory=set)


def digest(text: str) -> str:
    return sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:12]


def raw_records(path: Path) -> Iterator[dict[str, Any]]:
    """The objects on the file's lines, two where two are glued together; what is no JSON is passed over."""
    decoder = json.JSONDecoder(strict=False)
    for line in path.read_text("utf-8", "replace").split("\n"):
        rest = line.strip()
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value
            rest = rest[end:].strip()


def content_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    # Plain strings among the blocks: edge_cases.jsonl has one. The reader passed over them before this count was made.
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]


def between(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def spoken(record: dict[str, Any]) -> tuple[str, str] | None:
    """(class, words) of a user record that a person or a program wrote; None for every other class of the table."""
    blocks = content_of(record)
    if any(block.get("type") == "tool_result" for block in blocks):
        return None
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    editor = [text for text in texts if text.lstrip().startswith(("<ide_opened_file>", "<ide_selection>"))]
    text = texts[-1] if editor and len(texts) > 1 else "\n".join(texts)
    start = text.lstrip()
    if record.get("isCompactSummary") is True:
        return None
    found = next((name for name, starts in STARTS if start.startswith(starts)), "")
    if (record.get("origin") or {}).get("kind") == "task-notification":
        found = "notification"
    if found == "slash":
        return found, f"{between(text, 'command-name')} {between(text, 'command-args')}".strip()
    if found == "bash":
        return found, between(text, "bash-input")
    if found or record.get("isMeta") is True:
        return None
    if start.startswith("<system-reminder>") and text.rstrip().endswith("</system-reminder>"):
        return None
    if record.get("isSidechain") is True or record.get("agentId"):
        return None
    if "planContent" in record or start.startswith("Implement the following plan:"):
        return None
    if not start and not any(block.get("type") in ("image", "document") for block in blocks):
        return None
    words = text.rsplit("<system-reminder>", 1)[0] if text.rstrip().endswith("</system-reminder>") else text
    return "sdk" if str(record.get("entrypoint", "")).startswith("sdk") else "typed", words


def count(path: Path) -> Counted:
    counted = Counted()
    waiting: list[str] = []
    seen: set[tuple[str, str]] = set()
    used: set[str] = set()
    for record in raw_records(path):
        kind, uuid = record.get("type"), record.get("uuid")
        if isinstance(uuid, str):
            # A record logged twice is one. edge_cases.jsonl, made by hand, gives one uuid to different records.
            same = (uuid, json.dumps(record.get("message")))
            if same in seen:
                continue
            seen.add(same)
        if kind == "user":
            if prompt := spoken(record):
                counted.prompts[prompt[0], digest(prompt[1])] += 1
            for block in content_of(record):
                if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                    answered = block["tool_use_id"]
                    (counted.pairs if answered in used else counted.results_alone).add(answered)
        elif kind == "assistant":
            used |= {
                str(block["id"]) for block in content_of(record) if block.get("type") == "tool_use" and "id" in block
            }
        elif kind == "system" and record.get("subtype") == "local_command":
            # Not in the table of user records, and typed all the same: `/mcp` and `/status` stand here since 2.1.12.
            if str(record.get("content", "")).startswith("<command-name>"):
                command = spoken({"message": {"content": record["content"]}})
                assert command is not None
                counted.prompts[command[0], digest(command[1])] += 1
        elif kind == "queue-operation":
            operation, text = record.get("operation"), record.get("content")
            if operation == "enqueue":
                waiting.append(text if isinstance(text, str) else "")
            elif operation == "popAll":
                waiting.clear()
            elif operation in ("dequeue", "remove") and waiting:
                said = waiting.pop(0)
                if operation == "remove" and said and not said.startswith(STARTS[0][1]):
                    counted.prompts["slash" if said.startswith("/") else "queued", digest(said)] += 1
        elif kind == "attachment" and record["attachment"].get("type") == "queued_command":
            if record["attachment"].get("commandMode") == "prompt":
                counted.prompts["queued", digest(record["attachment"]["prompt"])] += 1
    counted.unanswered = used - counted.pairs
    return counted


def read(path: Path) -> Counted:
    """The same from the reader."""
    chunk = read_on(path, Cursor(), {}, final=True)
    counted = Counted()
    for event in {event.key: event for event in chunk.events}.values():
        if event.kind is EventKind.PROMPT and event.agent_id is None and event.klass in PERSONS:
            counted.prompts[PERSONS[event.klass], digest(event.body["text"])] += 1
        elif event.kind is EventKind.TOOL_CALL and event.tool_use_id:
            (counted.pairs if "input" in event.body else counted.results_alone).add(event.tool_use_id)
    counted.unanswered = set(chunk.open_calls)
    return counted


@pytest.mark.skipif(not FILES, reason="needs ../shared")
def test_prompts_and_calls_are_those_that_a_count_of_the_raw_lines_finds() -> None:
    """Where the two differed, in the order found, and who was right.

    The count: commands of `system/local_command` are typed (it knew only user records), a uuid given twice to different
    records is two records, a tool use without an id is none. The reader: plain strings among the blocks are text.
    """
    compared, total = 0, Counter[str]()
    for path in FILES:
        raw, found = count(path), read(path)
        assert found == raw, path
        compared += bool(raw.prompts or raw.pairs)
        total.update(name for name, _ in raw.prompts.elements())
        total.update(pairs=len(raw.pairs), unanswered=len(raw.unanswered), alone=len(raw.results_alone))
    assert compared >= FEWEST
    assert total["typed"] > 200 and total["slash"] > 40 and total["queued"] >= 9 and total["bash"] >= 4
    assert total["pairs"] > 3000 and total["unanswered"] > 5 and total["alone"] > 5


SMALL = [
    typed("plain"),
    said("<command-name>/clear</command-name>\n<command-args></command-args>", 2),
    said([text("<ide_opened_file>a</ide_opened_file>"), text("after the editor")], 3),
    said("<bash-input>ls</bash-input>", 4),
    said("Stop hook feedback: no", 5, isMeta=True),
    said("by a program", 6, entrypoint="sdk-py"),
    said("to an agent", 7, isSidechain=True),
    queue("enqueue", 1, "waits"),
    queue("remove", 2),
    queue("enqueue", 3, "taken back"),
    queue("popAll", 4),
    answer(use(1), n=8),
    answer(use(2), n=9),
    result(2),
    result(3),
]


def test_the_count_itself_finds_what_was_put_in(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_bytes(lines(*SMALL))
    raw = count(path)
    assert Counter(name for name, _ in raw.prompts.elements()) == {
        "typed": 2,
        "slash": 1,
        "bash": 1,
        "sdk": 1,
        "queued": 1,
    }
    assert (raw.pairs, raw.unanswered, raw.results_alone) == ({"toolu_2"}, {"toolu_1"}, {"toolu_3"})
    assert read(path) == raw
