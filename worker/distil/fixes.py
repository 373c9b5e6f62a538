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
        r"^.*\b(?:forbidden because|make it a constant|Expect \w+ permissions|[Uu]se .{3,60} instead|"
        r"is deprecated|should be|must be|do not use)\b.*$",
    ),
    ("linter code", r"^.*\b(?:SIM|PLR|PLW|B|UP|RUF|ANN|PTH|TRY|DTZ|G|SA|S)\d{3,4}\b.*$"),
    (
        "configuration",
        r"^.*\b(?:[Uu]nrecognized (?:key|option|argument)|[Uu]nknown (?:option|key|flag|field|argument)|"
        r"[Ii]nvalid (?:option|configuration|key)|unexpected argument)\b.*$",
    ),
    (
        "missing tool",
        r"^.*(?:command not found|: not found$|is not recognized as|No module named|ModuleNotFoundError|"
        r"Cannot find module|executable file not found).*$",
    ),
    (
        "git",
        r"^fatal: .*(?:already used by worktree|already checked out|protected branch|"
        r"not possible to fast-forward|refusing to).*$",
    ),
    (
        "environment",
        r"^.*\b(?:EADDRINUSE|address already in use|permission denied|EACCES|Connection refused|"
        r"ECONNREFUSED|requires (?:python|node|go)|unsupported engine|externally-managed-environment)\b.*$",
    ),
)
_TELLING = tuple((name, re.compile(words, re.M)) for name, words in TELLING)
# True for a minute while code is being written.
PASSING = re.compile(
    r"\bundefined:|declared and not used|imported and not used|unused (?:import|variable)|F401|F841|"
    r"is not defined|unexpected indent|SyntaxError|"
    r"cannot find symbol|expected .{1,20}, (?:got|found)|Would reformat|I001|E501|W291|W293"
)
LINTER = re.compile(r"\((?:[a-z]+)\)$|\b[A-Z]{1,4}\d{3,4}\b")
NO_FIX = re.compile(r"^(?:import |from \S+ import|\"[\w./-]+\"$|//(?!\s*nolint)|#(?!\s*(?:noqa|type:)))")
WRITES = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
LONG_LINE = 240
LONG_FIX = 160
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


def _changed_lines(event: StoredEvent) -> list[str]:
    """The lines an edit brought in that are short enough to say, as they stand but for their indentation."""
    given = event.body.get("input")
    if not isinstance(given, Mapping):
        return []
    new, old = given.get("new_string"), given.get("old_string")
    if not isinstance(new, str) or not isinstance(old, str):
        return []
    before = set(old.splitlines())
    fresh = [line.strip() for line in new.splitlines() if line not in before]
    return [line for line in fresh if 3 < len(line) <= LONG_FIX and not NO_FIX.match(line)]


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
    return line[:160].rstrip(". ")


def _resolution(failure: Failure, later: list[StoredEvent]) -> Found | None:
    edits: list[StoredEvent] = []
    for at, event in enumerate(later[:WINDOW]):
        if event.tool in WRITES and event.ok:
            edits.append(event)
            continue
        good = [step for step in shell.steps(event) if step.succeeded]
        for failed in failure.steps:
            step = next((step for step in good if _same_work(failed, step)), None)
            if step is None or (not edits and failed.shown == step.shown):
                continue
            edit = _related(failure.line, edits)
            if (edits and edit is None) or (edit and _was_undone(*edit, later[at:])):
                return None
            return _found(failure, step, event, edit)
    return None


def _names(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Za-z][a-z]{2,}|[A-Z]{2,}\d*|[a-z]{3,}", text)} - subjects.STOP


def _related(error: str, edits: list[StoredEvent]) -> tuple[StoredEvent, str] | None:
    """The edited line that the error speaks of, the one with most names of it; the later one of equals.

    When no line does, but all edits are in one file: the last of them and an empty line.
    """
    words = _names(error)
    best: tuple[int, StoredEvent, str] | None = None
    for event in edits:
        for line in _changed_lines(event):
            shared = len(words & _names(line))
            if shared and (best is None or shared >= best[0]):
                best = (shared, event, line)
    if best:
        return best[1], best[2]
    return (edits[-1], "") if len({_path(event) for event in edits}) == 1 else None


def _was_undone(edit: StoredEvent, line: str, later: list[StoredEvent]) -> bool:
    """True when a write after the success took the line away again, or, where no line is known, touched the file."""
    for event in later:
        given = event.body.get("input")
        if event.tool not in WRITES or not event.ok or not isinstance(given, Mapping) or _path(event) != _path(edit):
            continue
        old, new = given.get("old_string"), given.get("new_string")
        if not line or (isinstance(old, str) and isinstance(new, str) and line in old and line not in new):
            return True
    return False


def _key(error: str) -> str:
    """`fix.<rule of the linter>` where one is named, else the error's words without the values in it."""
    named = re.search(r"\(([a-z][\w-]+)\)$|\b([A-Z]{1,4}\d{3,4})\b", error)
    if named:
        return f"fix.{(named[1] or named[2]).lower()}"
    return f"fix.{subjects.slug(error)}"


def _failed_step(failure: Failure) -> shell.Step:
    """The step of a chain that failed: the linter for a linter's line, else the last one."""
    lints = [step for step in failure.steps if (what := commands.purpose(step.line)) and what.kind == "lint"]
    return lints[0] if lints and LINTER.search(failure.line) else failure.steps[-1]


def _found(failure: Failure, step: shell.Step, success: StoredEvent, edit: tuple[StoredEvent, str] | None) -> Found:
    failed = _failed_step(failure)
    error = _short(failure.line)
    if edit:
        value = (
            f"`{failed.shown}` failed with: {error}. Fixed in {_path(edit[0])}{f': `{edit[1]}`' if edit[1] else '.'}"
        )
    else:
        value = f"`{failed.shown}` failed with: {error}. What works: `{step.shown}`"
    quotes = [(failure.event, failure.line), *([edit] if edit and edit[1] else []), (success, step.line)]
    return Found(
        rule="fix",
        key=_key(error),
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
