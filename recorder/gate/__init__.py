"""The one door through which a memory changes."""

from recorder.canonical import canonical
from recorder.gate.address import scope_of
from recorder.gate.decide import propose, strings, tell
from recorder.gate.links import link, unlink
from recorder.gate.verbs import DERIVED, approve, delete, lift, pin, reject, restore, revert
from recorder.gate.writer import Outcome, Redact, Writer, redact_here

__all__ = [
    "DERIVED",
    "Outcome",
    "Redact",
    "Writer",
    "approve",
    "canonical",
    "delete",
    "lift",
    "link",
    "pin",
    "propose",
    "redact_here",
    "reject",
    "restore",
    "revert",
    "scope_of",
    "strings",
    "tell",
    "unlink",
]
