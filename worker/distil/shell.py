"""A Bash call read as the commands in it: which ran, and whether it is known that they succeeded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from recorder.models import EventKind, StoredEvent
from worker.distil.proposed import strings

LONG_COMMAND = 200
SEPARATOR = re.compile(r"\s*(&&|\|\||;|\n)\s*")
PIPE = re.compile(r"\s*(?:2>&1\s*)?\|\s*(?:tail|head|cat|tee|less|sed|awk|sort|grep -v)\b.*\Z", re.S)
REDIRECT = re.compile(r"\s+(?:2>&1|2>/dev/null|>/dev/null|&>/dev/null|</dev/null)\b|\s+(?:2>&1)")
QUIETED = re.compile(r"\|\||;\s*(?:true|echo|exit 0|:)\b|\|\s*(?!(?:tail|head|cat|tee)\b)")
PASSED = re.compile(
    r"\bpassed\b|\bok\s+\S+|\b0 (?:issues|errors|problems|failures|failed)\b|\bno (?:issues|errors|"
    r"problems)\b|all checks passed|success|"
    r"\bdone\b|build succeeded|finished|compiled|✓|✔|test result: ok|\bPASS\b|formatted|unchanged|up to date",
    re.I,
)
FAILED = re.compile(
    r"\bFAIL(?:ED|URE)?\b|\b[1-9]\d* (?:failed|failures?|errors?|problems?)\b|\bERROR\b|"
    r"Traceback \(most|^error(?:\[\w+\])?:|command not found|"
    r"No such file or directory|exit (?:code|status) [1-9]|✗|✘|× ",
    re.M,
)
ENVIRONMENT = re.compile(r"^(?:source|\.)\s+\S+|^export \w+=\S+$|^(?:cd|pushd)\s+\S+$")


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a call."""

    line: str
    """As typed: a literal part of the call's input, without pipe and redirection."""
    shown: str
    """What to type to have it again, with the environment it needs."""
    succeeded: bool
    background: bool


def command_of(event: StoredEvent) -> str:
    """The command line of a Bash call; empty for everything else."""
    if event.kind is not EventKind.TOOL_CALL or event.tool != "Bash":
        return ""
    given = event.body.get("input")
    command = given.get("command") if isinstance(given, Mapping) else None
    return command if isinstance(command, str) else ""


def output_of(event: StoredEvent) -> str:
    """Everything the call gave back."""
    return "\n".join(strings([event.body.get("error"), event.body.get("result")]))


def _split(command: str) -> list[tuple[str, str]]:
    """(part, separator before it), quotes respected only so far that a quoted separator gives up on the call."""
    parts: list[tuple[str, str]] = []
    pieces = SEPARATOR.split(command.strip())
    separator = ""
    for piece in pieces:
        if SEPARATOR.fullmatch(piece) or piece in ("&&", "||", ";", "\n"):
            separator = piece.strip() or ";"
        elif piece.strip():
            parts.append((piece.strip(), separator))
            separator = ";"
    if any(part.count('"') % 2 or part.count("'") % 2 or "<<" in part for part, _ in parts):
        return []
    return parts


def _relative(directory: str, cwd: str | None) -> str | None:
    """A `cd` worth repeating: None when it goes to where the call ran anyway or to a place on this machine."""
    bare = directory.strip("\"'").rstrip("/")
    if cwd and (bare == cwd.rstrip("/") or bare == "."):
        return None
    if cwd and bare.startswith(cwd.rstrip("/") + "/"):
        return bare[len(cwd.rstrip("/")) + 1 :]
    return None if bare.startswith(("/", "~", "$")) or bare.startswith("..") else bare


def steps(event: StoredEvent) -> list[Step]:
    """The commands of a Bash call, in order."""
    command = command_of(event)
    if not command or len(command) > 4 * LONG_COMMAND:
        return []
    given = event.body.get("input")
    background = isinstance(given, Mapping) and given.get("run_in_background") is True
    inner = command.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    output = output_of(event)
    parts = _split(inner)
    chained = all(separator in ("", "&&") for _, separator in parts)
    prefix: list[str] = []
    found = []
    for part, _ in parts:
        bare = REDIRECT.sub("", PIPE.sub("", part)).strip()
        if ENVIRONMENT.match(bare):
            verb, _, rest = bare.partition(" ")
            if verb in ("cd", "pushd"):
                inside = _relative(rest, event.cwd)
                if inside:
                    prefix.append(f"cd {inside}")
            elif not rest.strip().startswith(("/", "~", "$")):
                prefix.append(bare)
            continue
        masked = bool(QUIETED.search(part)) or bool(PIPE.search(part)) or not chained
        sure = bool(PASSED.search(output)) and not FAILED.search(output) if masked else not _says_failed(output)
        found.append(Step(bare, " && ".join([*prefix, bare]), event.ok is True and sure, background))
    return [step for step in found if len(step.line) <= LONG_COMMAND]


def _says_failed(output: str) -> bool:
    return bool(re.match(r"\s*(?:Error: )?Exit code [1-9]", output))
