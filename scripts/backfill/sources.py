"""Whose logs are read: one entry a tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recorder.capture import reading, transcript
from recorder.config import Config
from scripts.backfill import claude_code
from scripts.backfill.logs import Found


@dataclass(frozen=True, slots=True)
class LogSource:
    """A tool's logs: where they lie, and how one is read.

    `find` looks in the tool's own places, or in the files and folders it is given; `read` is called as
    `transcript.read` is, and must be importable by name: other processes may call it.
    """

    name: str
    find: Callable[[Config, Sequence[Path]], Found]
    read: reading.Read


CLAUDE_CODE = LogSource("Claude Code", claude_code.find, transcript.read)

SOURCES: tuple[LogSource, ...] = (CLAUDE_CODE,)


@dataclass(frozen=True, slots=True)
class Sought:
    """What all sources found: logs, each with its source's `read`, and what none of them takes."""

    logs: Found
    reads: dict[Path, reading.Read] = field(default_factory=dict)


def find(config: Config, paths: Sequence[Path], sources: Sequence[LogSource] = SOURCES) -> Sought:
    """The logs of every source, in their own places or in those given. The first source to know a file has it.

    Raises: NotFound for a given path that is not there.
    """
    sought = Sought(Found())
    for source in sources:
        found = source.find(config, paths)
        for log in found.logs:
            if log.path not in sought.reads:
                sought.reads[log.path] = source.read
                sought.logs.logs.append(log)
        sought.logs.left.extend(found.left)
    # What one source does not know as its own may be another's.
    sought.logs.left[:] = [one for one in dict.fromkeys(sought.logs.left) if one.path not in sought.reads]
    return sought
