"""The one door through which a memory changes."""

from recorder.canonical import canonical
from recorder.gate.address import scope_of
from recorder.gate.bereft import bereave, left
from recorder.gate.conflicts import consolidate, sweep
from recorder.gate.decide import VALUE_LIMIT, propose, strings, tell
from recorder.gate.drawn import DERIVED, drawn_from
from recorder.gate.forget import before, carry_out, forget, forget_events
from recorder.gate.hiding import goes_with
from recorder.gate.labels import Labels, between, expiry_left, label
from recorder.gate.links import link, unlink
from recorder.gate.merged import merge
from recorder.gate.reach import AT_ONCE_EVENTS, Plan, plan, plan_events, reached
from recorder.gate.same import saying_the_same
from recorder.gate.settle import DISPOSITIONS, Settled, settle
from recorder.gate.told import differences
from recorder.gate.tombs import against
from recorder.gate.turning import turn_due
from recorder.gate.verbs import approve, delete, give, lift, pin, reject, restore, revert, withdraw
from recorder.gate.writer import CONFLICTS, Outcome, Redact, Writer, redact_here
from recorder.store.erase import Forgotten
from recorder.store.erase import finish as finish_forgets

__all__ = [
    "AT_ONCE_EVENTS",
    "CONFLICTS",
    "DERIVED",
    "DISPOSITIONS",
    "Forgotten",
    "Labels",
    "Outcome",
    "Plan",
    "Redact",
    "Settled",
    "VALUE_LIMIT",
    "Writer",
    "against",
    "approve",
    "before",
    "between",
    "bereave",
    "canonical",
    "carry_out",
    "consolidate",
    "delete",
    "differences",
    "drawn_from",
    "expiry_left",
    "finish_forgets",
    "forget",
    "forget_events",
    "give",
    "goes_with",
    "label",
    "left",
    "lift",
    "link",
    "merge",
    "pin",
    "plan",
    "plan_events",
    "propose",
    "reached",
    "redact_here",
    "reject",
    "restore",
    "revert",
    "saying_the_same",
    "scope_of",
    "settle",
    "strings",
    "sweep",
    "tell",
    "turn_due",
    "unlink",
    "withdraw",
]
