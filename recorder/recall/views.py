"""What a session or turn was about, read off its events: views, never memories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from recorder.capture import excerpt
from recorder.capture.blocks import without_blocks
from recorder.models import EventKind, PromptClass, StoredEvent

TITLE_CHARS = 80
LINE_CHARS = 160
MOST = 20
PERSONS = frozenset({PromptClass.TYPED, PromptClass.QUEUED, PromptClass.SDK, PromptClass.SLASH, None})

_SENTENCE = re.compile(r"^.+?[.!?…](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Touched:
    """A file of the session, how often it was read and written."""

    path: str
    reads: int
    writes: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in short. Lists are in the order of first appearance and hold at most 20; `more` counts the rest."""

    title: str
    prompts: tuple[str, ...]
    files: tuple[Touched, ...]
    commands: tuple[str, ...]
    failures: tuple[str, ...]
    outcome: str
    """The last words of the assistant; empty when there are none."""
    from_ms: int | None
    to_ms: int | None
    more: Mapping[str, int]


def line(text: str, most: int) -> str:
    """The text on one line, cut at a word with an ellipsis when it is longer than `most`."""
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    cut = flat[: most - 1]
    head, _, _ = cut.rpartition(" ")
    return (head if len(head) > most // 2 else cut).rstrip(" ,;:") + "…"


def _is_persons(event: StoredEvent) -> bool:
    return event.kind is EventKind.PROMPT and event.agent_id is None and event.klass in PERSONS


def title(turn: Iterable[StoredEvent]) -> str:
    """The first sentence of what the person asked, at most 80 characters; empty when no person spoke."""
    for event in turn:
        words = without_blocks(event.text) if _is_persons(event) else ""
        first = next((part.strip() for part in words.splitlines() if part.strip()), "")
        if first:
            sentence = _SENTENCE.match(first)
            return line(sentence.group() if sentence else first, TITLE_CHARS)
    return ""


def files(events: Iterable[StoredEvent]) -> tuple[Touched, ...]:
    """The files that tool calls read and wrote, as their payloads name them; nothing that was only talked about."""
    counts: dict[str, list[int]] = {}
    for event in events:
        for path, action in excerpt.files(event):
            counts.setdefault(_shown(path, event.cwd), [0, 0])[action == "write"] += 1
    return tuple(Touched(path, reads, writes) for path, (reads, writes) in counts.items())


def commands(events: Iterable[StoredEvent]) -> tuple[str, ...]:
    """The command lines that succeeded, each once."""
    return tuple(dict.fromkeys(found for event in events if event.ok is True and (found := _command(event))))


def failures(events: Iterable[StoredEvent]) -> tuple[str, ...]:
    """Failed calls and errors of the service, each on one line: what was tried, then the first line of the error."""
    found: dict[str, None] = {}
    for event in events:
        if event.kind is EventKind.TOOL_CALL and event.ok is False:
            found.setdefault(line(f"{_command(event) or event.tool or 'tool'}: {_error(event)}", LINE_CHARS))
        elif event.kind is EventKind.API_ERROR:
            found.setdefault(line(f"API error: {event.text}".rstrip(": "), LINE_CHARS))
    return tuple(found)


def outcome(events: Iterable[StoredEvent]) -> str:
    """The last words of the assistant on the main thread, on one line."""
    kinds = (EventKind.ASSISTANT, EventKind.TURN_END)
    texts = [event.text for event in events if event.kind in kinds and event.agent_id is None and event.text.strip()]
    return line(texts[-1], 2 * LINE_CHARS) if texts else ""


def summary(events: list[StoredEvent]) -> Summary:
    """The session in short, from its events in file order; every list empty for a session without events."""
    asked = tuple(dict.fromkeys(words for event in events if (words := title([event]))))
    named = [event.text for event in events if event.kind is EventKind.TITLE and event.text.strip()]
    touched, ran, failed = files(events), commands(events), failures(events)
    lists = {"prompts": asked, "files": touched, "commands": ran, "failures": failed}
    return Summary(
        title=line(named[-1], TITLE_CHARS) if named else (asked[0] if asked else ""),
        prompts=asked[:MOST],
        files=touched[:MOST],
        commands=ran[:MOST],
        failures=failed[:MOST],
        outcome=outcome(events),
        from_ms=min((event.at_ms for event in events), default=None),
        to_ms=max((event.at_ms for event in events), default=None),
        more={name: len(found) - MOST for name, found in lists.items() if len(found) > MOST},
    )


def _command(event: StoredEvent) -> str:
    given = event.body.get("input")
    command = given.get("command") if isinstance(given, Mapping) and event.tool == "Bash" else None
    return line(command, LINE_CHARS) if isinstance(command, str) else ""


def _error(event: StoredEvent) -> str:
    error = event.body.get("error")
    lines = [part.strip() for part in error.splitlines() if part.strip()] if isinstance(error, str) else []
    if len(lines) > 1 and re.fullmatch(r"(?:Error: )?Exit code \d+", lines[0]):
        return lines[1]
    return lines[0] if lines else "failed"


def _shown(path: str, cwd: str | None) -> str:
    inside = f"{cwd.rstrip('/')}/" if cwd else ""
    return path[len(inside) :] if inside and path.startswith(inside) else path
