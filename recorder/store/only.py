"""What a search is narrowed to inside its scope, as values and as SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from recorder.models import Scope
from recorder.store import named, paths, policy

TRIGRAM = 3
"""The index of names finds nothing shorter."""


@dataclass(frozen=True, slots=True)
class Only:
    """What a caller narrows a search to, inside the scope: nothing here can widen it.

    `file`, `branch`, `tool`, `session_id` and `failed` are about events: a memory passes where one event that it stands
    on passes all of them. `trusts`, `namespace` and `tag` are about memories: no event passes.
    Kinds and times are about both.
    """

    namespace: str | None = None
    kinds: tuple[str, ...] = ()
    valid_at_ms: int | None = None
    """What held then."""
    as_of_ms: int | None = None
    """What was recorded and believed then, with the trust of then."""
    trusts: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    """What happened before then."""
    file: str | None = None
    """Named by it: read, written, in its command or among its words. A folder stands for what lies in it."""
    branch: str | None = None
    session_id: str | None = None
    tool: str | None = None
    tag: str | None = None
    failed: bool = False
    """Calls that failed, and errors of the service."""

    @property
    def of_another_time(self) -> bool:
        return self.valid_at_ms is not None or self.as_of_ms is not None

    @property
    def memories_alone(self) -> bool:
        return self.namespace is not None or bool(self.trusts) or self.tag is not None


EVERYTHING = Only()

EVENT_IN_SCOPE = (
    f"e.scope_id in {policy.scope_ids(':project')}"
    " and (:kinds is null or e.kind in (select value from json_each(:kinds)))"
    " and (:as_of is null or e.received_ms <= :as_of)"
)
MEMORY_IN_SCOPE = (
    f"{policy.visible(':project')}"
    " and (:namespace is null or m.namespace = :namespace"
    " or substr(m.namespace, 1, length(:namespace) + 1) = :namespace || '.')"
    " and (:kinds is null or v.kind in (select value from json_each(:kinds)))"
)
ANY_VERSION = "join memories m on m.id = v.memory_id"


def events_in(only: Only) -> str:
    """The condition on events `e` that the caller may see and wants."""
    parts = [EVENT_IN_SCOPE, *_times(only, "e.at_ms"), *_of_events(only)]
    if only.file is not None and len(paths.last_part(only.file)) >= TRIGRAM:
        # Where few hold the name, nothing else is looked at. Evidence does without: for each of its few rows the list
        # would be made anew.
        parts.append("e.id in (select rowid from event_trigrams where event_trigrams match :file_part)")
    return " and ".join(parts if not only.memories_alone else [*parts, "false"])


def memories_in(only: Only) -> str:
    """The condition on `memories m` and `memory_versions v` that the caller may see and wants."""
    parts = [MEMORY_IN_SCOPE, *_times(only, "v.occurred_ms")]
    if only.trusts:
        parts.append("v.trust in (select value from json_each(:trusts))")
    if only.tag is not None:
        parts.append("exists (select 1 from json_each(v.tags) t where t.value = :tag)")
    if stands_on := _of_events(only):
        seen = f"e.scope_id in {policy.scope_ids(':project')} and (:as_of is null or e.received_ms <= :as_of)"
        parts.append(
            "exists (select 1 from memory_evidence x cross join events e on e.id = x.event_id"
            f" where x.version_id = v.id and {' and '.join([seen, *stands_on])})"
        )
    return " and ".join(parts)


def _times(only: Only, column: str) -> list[str]:
    since = [f"{column} >= :since"] if only.since_ms is not None else []
    return since + ([f"{column} < :until"] if only.until_ms is not None else [])


def _of_events(only: Only) -> list[str]:
    parts = []
    if only.session_id is not None:
        parts.append("e.session_id = :session_id")
    if only.tool is not None:
        parts.append("e.tool = :tool collate nocase")
    if only.failed:
        parts.append("(e.ok = 0 or e.kind = 'api_error')")
    if only.branch is not None:
        parts.append("coalesce(e.branch, (select branch from sessions where id = e.session_id)) = :branch")
    if only.file is not None:
        parts.append("names_file(e.narrow, e.cwd, :file)")
    return parts


def versions(only: Only) -> tuple[str, str]:
    """The join of `memory_versions v` with `memories m`, and the condition on both, for what recall may show."""
    if only.of_another_time:
        return ANY_VERSION, policy.condition_then("recall")
    return ANY_VERSION, f"{policy.MAY_STAND} and {policy.condition('recall')}"


def bound(scope: Scope, now_ms: int, only: Only = EVERYTHING) -> dict[str, Any]:
    """The values every scoped statement is bound with."""
    as_of = only.as_of_ms if only.as_of_ms is not None else now_ms if only.of_another_time else None
    return {
        "project": scope.names[-1] if scope.project_id is not None else None,
        "namespace": only.namespace,
        "kinds": json.dumps(only.kinds) if only.kinds else None,
        "now_ms": now_ms,
        "as_of": as_of,
        "valid_at": only.valid_at_ms if only.valid_at_ms is not None else as_of or now_ms,
        "trusts": json.dumps(only.trusts),
        "tag": only.tag,
        "since": only.since_ms,
        "until": only.until_ms,
        "session_id": only.session_id,
        "tool": only.tool,
        "branch": only.branch,
        "file": only.file,
        "file_part": named.any_of([paths.last_part(only.file)]) if only.file is not None else None,
    }
