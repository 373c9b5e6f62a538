"""What is said of a memory beside its words, in words."""

from __future__ import annotations

from recorder import dates
from recorder.models import Memory, Precision, Proposal


def differences(current: Memory, wanted: Proposal) -> str:
    """What becomes of each label that changes; nothing where none does."""
    before, after = _told(current), _told(wanted)
    return "; ".join(f"{name}: {before[name]} → {after[name]}" for name in after if before[name] != after[name])


def _told(one: Memory | Proposal) -> dict[str, str]:
    return {
        "kind": one.kind.value,
        "tags": ", ".join(one.tags) or "none",
        "importance": f"{one.importance:g}",
        "holds from": dates.shown(one.valid_from_ms, one.valid_from_precision) or "the beginning",
        "until": dates.shown(one.valid_to_ms, one.valid_to_precision) or "open",
        "expires": dates.shown(one.expires_ms, Precision.MS) or "never",
    }
