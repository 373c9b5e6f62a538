"""Error → fix pairs: what failed in a turn, what was changed, and that the same command then succeeded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from recorder.models import Channel, EventKind, MemoryKind, StoredEvent
from worker.distil import commands, shell, subjects
from worker.distil.answers import is_refused
from worker.distil.proposed import Found

# Error lines that teach something about the project or its tools, first match wins; `lesson` goes into the key.
TELLING: tuple[tuple[str, str], ...] = (
    (
        "linter rule",
        r"^.*\b(?:forbidden because|make it a constant|Expect \w+ permissions|[Uu]se .{3,60} instead|is deprecated|should be|must be|do not use)\b.*$",
    ),
    ("linter code", r"^.*\b(?:SIM|PLR|PLW|B|UP|RUF|ANN|PTH|TRY|DTZ|G|SA|S)\d{3,4}\b.*$"),
    (
        "configuration",
        r"^.*\b(?:[Uu]nrecognized (?:key|option|argument)|[Uu]nknown (?:option|key|flag|field|argument)|[Ii]nvalid (?:option|configuration|key)|unexpected argument)\b.*$",
    ),
    (
        "missing tool",
        r"^.*(?:command not found|: not found$|is not recognized as|No module named|ModuleNotFoundError|Cannot find module|executable file not found).*$",
    ),
    (
        "git",
        r"^fatal: .*(?:already used by worktree|already checked out|protected branch|not possible to fast-forward|refusing to).*$",
    ),
    (
        "environment",
        r"^.*\b(?:EADDRINUSE|address already in use|permission denied|EACCES|Connection refused|ECONNREFUSED|requires (?:python|node|go)|unsupported engine|externally-managed-environment)\b.*$",
    ),
)
_TELLING = tuple((name, re.compile(words, re.M)) for name, words in TELLING)
# True for a minute while code is being written.
PASSING = re.compile(
    r"\bundefined:|declared and not used|imported and not used|unused (?:import|variable)|F401|F841|is not defined|unexpected indent|SyntaxError|"
    r"cannot find symbol|expected .{1,20}, (?:got|found)|Would reformat|I001|E501|W291|W293"
)
WRITES = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
LONG_LINE = 240
WINDOW = 40
"""Calls after which a success is no longer taken for the end of the failure."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed call with the line that says why."""

    event: StoredEvent
    at: int
    line: str
    steps: tuple[shell.Step, ...]


def _error_line(text: str) -> str | None:
    for _, words in _TELLING:
        for match in words.finditer(text):
            line = match.group().strip()
            if line and len(line) <= LONG_LINE and not PASSING.search(line):
                return line
    return None


def _failure(event: StoredEvent, at: int) -> Failure | None:
    if event.kind is not EventKind.TOOL_CALL or event.tool != "Bash" or event.ok is not False or is_refused(event):
        return None
    line = _error_line(shell.output_of(event))
    return Failure(event, at, line, tuple(shell.steps(event))) if line else None


def _same_work(failed: shell.Step, step: shell.Step) -> bool:
    """True when both are the same command, or serve the same purpose by other means."""
    if failed.line == step.line:
        return True
    one, other = commands.purpose(failed.line), commands.purpose(step.line)
    if one and other:
        return one.kind == other.kind
    return failed.line.split()[:2] == step.line.split()[:2] and len(failed.line.split()) > 1


def _changed_line(event: StoredEvent) -> str | None:
    """The first line an edit brought in, short enough to say."""
    given = event.body.get("input")
    if not isinstance(given, Mapping):
        return None
    new, old = given.get("new_string"), given.get("old_string")
    if not isinstance(new, str) or not isinstance(old, str):
        return None
    before = set(old.splitlines())
    fresh = [line.strip() for line in new.splitlines() if line not in before and len(line.strip()) > 3]
    return next((line for line in fresh if len(line) <= 160 and not line.startswith(("import ", "from "))), None)


def _path(event: StoredEvent) -> str:
    given = event.body.get("input")
    path = given.get("file_path") if isinstance(given, Mapping) else None
    if not isinstance(path, str):
        return ""
    if event.cwd and path.startswith(event.cwd.rstrip("/") + "/"):
        return path[len(event.cwd.rstrip("/")) + 1 :]
    return "/".join(path.split("/")[-2:])


def _short(line: str) -> str:
    """The error without place and decoration, for the key and the sentence."""
    line = re.sub(r"^(?:/bin/)?(?:ba|z)?sh: (?:line \d+: )?(?:\d+: )?|^\(eval\):\d+: ", "", line)
    line = re.sub(r"^\S+?:\d+(?::\d+)?:\s*", "", line)
    return line[:160]


def _resolution(failure: Failure, later: list[StoredEvent]) -> Found | None:
    edits: list[tuple[StoredEvent, str]] = []
    for event in later[:WINDOW]:
        if event.tool in WRITES and event.ok:
            fresh = _changed_line(event)
            if fresh:
                edits.append((event, fresh))
            continue
        good = [step for step in shell.steps(event) if step.succeeded]
        for failed in failure.steps:
            step = next((step for step in good if _same_work(failed, step)), None)
            if step is None or (not edits and failed.shown == step.shown):
                continue
            return _found(failure, failed, step, event, edits)
    return None


def _related(line: str, edits: list[tuple[StoredEvent, str]]) -> tuple[StoredEvent, str] | None:
    """The edit that the error speaks of: by file name, else by a shared word; else the last one."""
    for event, fresh in edits:
        if _path(event).rsplit("/", 1)[-1] in line:
            return event, fresh
    words = set(subjects.content_words(line))
    shared = [(len(words & set(subjects.content_words(fresh))), n) for n, (_, fresh) in enumerate(edits)]
    best = max(shared, default=(0, -1))
    return edits[best[1]] if best[0] else (edits[-1] if edits else None)


def _found(
    failure: Failure, failed: shell.Step, step: shell.Step, success: StoredEvent, edits: list[tuple[StoredEvent, str]]
) -> Found:
    edit = _related(failure.line, edits)
    error = _short(failure.line)
    if edit:
        value = f"`{failed.shown}` failed with: {error}. Fixed in {_path(edit[0])}: `{edit[1]}`"
    else:
        value = f"`{failed.shown}` failed with: {error}. What works: `{step.shown}`"
    quotes = [(failure.event, failure.line), *([edit] if edit else []), (success, step.line)]
    return Found(
        rule="fix",
        key=f"fix.{subjects.slug(error)}",
        value=value,
        kind=MemoryKind.PROCEDURAL,
        channel=Channel.OBSERVED,
        quotes=tuple(quotes),
        confidence=0.6,
        importance=0.6,
        tags=("fix",),
    )


def fixes(turn: list[StoredEvent]) -> list[Found]:
    """The failures of the turn that were overcome in it, each with what did it."""
    calls = [event for event in turn if event.kind is EventKind.TOOL_CALL]
    failures = [failure for at, event in enumerate(calls) if (failure := _failure(event, at))]
    found = [_resolution(failure, calls[failure.at + 1 :]) for failure in failures]
    return [one for one in found if one]
