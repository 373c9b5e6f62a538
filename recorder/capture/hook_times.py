"""What a transcript's record says of how long our hooks took."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from recorder.models import HookTime

OURS = re.compile(r"hooks[/\\](capture\.sh|capture\.py|brief\.py|lessons\.py)\b")
LONGEST_MS = 86_400_000


def of_record(fields: Mapping[str, Any], ref: str, at_ms: int) -> list[HookTime]:
    """Ours among the hooks of a `stop_hook_summary` (`hookInfos`), or of an attachment `hook_*`; `ref` is where the
    record stands.

    Source: transcripts of 2.1.197.
    """
    infos = fields.get("hookInfos")
    attachment = fields.get("attachment")
    given = infos if isinstance(infos, list) else [attachment]
    found = []
    for number, one in enumerate(given):
        command, took_ms = (one.get("command"), one.get("durationMs")) if isinstance(one, dict) else (None, None)
        ours = OURS.search(command) if isinstance(command, str) else None
        if ours and isinstance(took_ms, int) and not isinstance(took_ms, bool) and 0 <= took_ms <= LONGEST_MS:
            digest = sha256(f"{ref}:{number}".encode("utf-8", "backslashreplace")).digest()
            found.append(HookTime(int.from_bytes(digest[:7]), at_ms, ours[1], took_ms))
    return found
