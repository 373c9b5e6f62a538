"""What is told of a memory in one scope: nothing that names another project, or a session of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from recorder.models import Memory, Scope
from recorder.store import sessions
from recorder.store.db import Connection

TASK = "task:"
ELSEWHERE = "task:elsewhere"

_ADDRESS = re.compile(r"\b(?:project|claude)\.([\w-]+)[\w.-]*(?:/[^\s,;]+)?")


def memories(db: Connection, found: Sequence[Memory], scope: Scope) -> list[Memory]:
    """The memories as the scope may know them: another project that one was proposed in is None, a session of one
    `task:elsewhere`."""
    apart = _apart(db, [one.source for one in found], scope)
    return [
        replace(
            one,
            home_project_id=one.home_project_id if one.home_project_id in ("", scope.project_id) else None,
            source=ELSEWHERE if one.source in apart else one.source,
        )
        for one in found
    ]


def memory(db: Connection, found: Memory, scope: Scope) -> Memory:
    """One memory as the scope may know it."""
    return memories(db, [found], scope)[0]


def lines(db: Connection, found: Sequence[dict[str, Any]], scope: Scope) -> list[dict[str, Any]]:
    """Lines of a history, or of who read it, with `task:elsewhere` for a session of another project, no id of it and
    of its events, and no address there."""
    named = [str(line.get(name) or "") for line in found for name in ("actor", "who")]
    named += [f"{TASK}{line['session_id']}" for line in found if line.get("session_id")]
    apart = _apart(db, named, scope)
    strange = sessions.events_elsewhere(db, [i for line in found for i in line.get("events", ())], scope)
    return [_line(line, apart, strange) | _reason(line, scope) for line in found]


def _line(line: dict[str, Any], apart: set[str], strange: set[int]) -> dict[str, Any]:
    changed: dict[str, Any] = {name: ELSEWHERE for name in ("actor", "who") if line.get(name) in apart}
    if line.get("session_id") and f"{TASK}{line['session_id']}" in apart:
        changed["session_id"] = None
    if "events" in line:
        changed["events"] = [i for i in line["events"] if i not in strange]
    return line | changed


def _reason(line: dict[str, Any], scope: Scope) -> dict[str, Any]:
    reason = line.get("reason")
    if not isinstance(reason, str):
        return {}
    return {"reason": _ADDRESS.sub(lambda at: at[0] if at[1] == scope.project_id else "elsewhere", reason)}


def _apart(db: Connection, who: Sequence[str], scope: Scope) -> set[str]:
    """Those of the writers that are sessions of another project."""
    asked = [one.removeprefix(TASK) for one in who if one.startswith(TASK)]
    return {f"{TASK}{id}" for id in sessions.elsewhere(db, asked, scope)}
