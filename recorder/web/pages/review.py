"""What waits for a person, item by item, and what they decide about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from recorder import gate
from recorder import review as decided
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.gate import queue
from recorder.gate.queue import Item, Side
from recorder.models import Memory
from recorder.review import Decision
from recorder.store import browse, memories
from recorder.web.numbers import whole
from recorder.web.pages import frame
from recorder.web.pages.frame import Form, Frame, text

router = APIRouter()
SHOWN = 30
MOST_SKIPPED = 100_000
COUNTED = 1_000
BESIDE = ("refusal", "forget")
KINDS = {
    "candidates": ("candidate",),
    "disputed": ("disputed",),
    "conflicts": ("conflict", "contradiction"),
    "duplicates": ("duplicate",),
    "wishes": queue.WISHES,
}
"""What a person can look at by itself."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to decide. `key`: the letter for it; `value`: whether the right words go with it."""

    verb: str
    name: str
    key: str = ""
    value: bool = False
    danger: bool = False


OF_MEMORIES = (
    Choice("approve", "Approve", "a"),
    Choice("reject", "Reject", "r", danger=True),
    Choice("edit", "Save as edited", "e", value=True),
    Choice("delete", "Delete", "d"),
)
OF_PAIRS = (
    Choice("keep_old", "Keep old", "1"),
    Choice("keep_new", "Keep new", "2"),
    Choice("keep_both", "Keep both", "b"),
    Choice("remove_both", "Remove both", "x", danger=True),
    Choice("manual", "Merge into this", "e", value=True),
)
OF_WISHES = {
    "delete_proposal": (Choice("keep_old", "Keep it", "1"), Choice("keep_new", "Let it be deleted", "2")),
    "label_proposal": (Choice("keep_old", "Leave it", "1"), Choice("keep_new", "Change it so", "2")),
}
ONE_AT_A_TIME = "Decided before, or gone: look at what is here now."


@dataclass(frozen=True, slots=True)
class Card:
    """An item as it is put to the person."""

    item: Item
    choices: tuple[Choice, ...]
    words: str
    """What a field for the right words begins with."""
    memory: Memory | None

    @property
    def versions(self) -> tuple[int, int]:
        """What is looked at: 0 where there is none, or where it is a proposal, which never changes."""
        sides = (self.item.old, self.item.new)
        old, new = (side.version or 0 if side else 0 for side in sides)
        return old, new


@router.get("/review")
def review(request: Request) -> Response:
    """Everything that waits in the chosen project, or everywhere."""
    with frame.opened(request) as page:
        skip, kind = whole(page.given("skip")) or 0, page.given("kind")
        wanted = KINDS.get(kind, ())
        items = queue.waiting(
            page.db, page.scope, page.now_ms, limit=None if wanted else min(skip, MOST_SKIPPED) + SHOWN + 1
        )
        found = [one for one in items if one.kind not in BESIDE and (not wanted or one.kind in wanted)]
        skip = min(skip, max(len(found) - 1, 0) // SHOWN * SHOWN)  # the last page, where what was on it is decided
        shown = found[skip : skip + SHOWN]
        model = {
            "cards": [card(page, item) for item in shown],
            "refusals": [one for one in items if one.kind == "refusal"],
            "forgets": [one for one in items if one.kind == "forget"],
            "at": page.given("at"),
            "skip": skip,
            "behind": skip + SHOWN if len(found) > skip + SHOWN else None,
            "before": max(skip - SHOWN, 0) if skip else None,
            "kind": kind if wanted else "",
            "kinds": list(KINDS),
            "counted": len(found) if wanted else browse.waiting(page.db, page.scope, most=COUNTED),
            "most": COUNTED,
        }
        return page.show("review.html", model)


def card(page: Frame, item: Item) -> Card:
    """The item with what can be decided about it."""
    if item.kind in ("refusal", "forget"):
        return Card(item, (), "", None)
    choices = OF_WISHES.get(item.kind, OF_PAIRS if item.id.startswith("f") else OF_MEMORIES)
    sides = [side.value for side in (item.old, item.new) if side is not None]
    found = memories.get(page.db, [int(item.id[1:])]) if item.id.startswith("m") else []
    if not found and item.old is not None:
        at = memories.find(page.db, *_address(item.old))
        found = [at] if at else []
    words = "\n".join(dict.fromkeys(sides))
    # What is longer than a memory may be is no beginning for one.
    return Card(item, choices, words if len(words) <= gate.VALUE_LIMIT else "", found[0] if found else None)


@router.post("/review/refusals")
def lift(request: Request, form: FormData = Form) -> Response:
    """Lift what a refusal was about: of what was refused nothing is kept, so the person says where it stood."""
    with frame.opened(request) as page:
        namespace, key = text(form, "namespace").strip(), text(form, "key").strip()
        at = memories.find(page.db, namespace, key)
        if at is None:
            raise NotFound(f"there is no memory {namespace}/{key} here")
        reason = _reason(form)
        outcome = gate.lift(page.db, namespace, key, page.writer_of(at), reason=reason)
        return frame.back(f"/memories/{at.id}", outcome.action)


@router.post("/review/forgets")
def finish(request: Request, form: FormData = Form) -> Response:
    """Try again what is not forgotten to the last byte."""
    with frame.opened(request) as page:
        gate.finish_forgets(page.db, page.now_ms)
        return frame.back("/review", "tried")


@router.post("/review/{name}")
def decide(request: Request, name: str, form: FormData = Form) -> Response:
    """Do what was decided, if what was looked at still stands, and go on with what comes next."""
    with frame.opened(request) as page:
        item, place = queue.item(page.db, name), _place(form)
        looked_at = (whole(text(form, "old_version")) or 0, whole(text(form, "new_version")) or 0)
        if item is None or item.kind not in (text(form, "kind"), "candidate", "disputed"):
            return page.show("decided.html", {"message": ONE_AT_A_TIME}, 409)
        if _digests(item) != (text(form, "old"), text(form, "new")):
            return _changed(page, item, looked_at, place)
        verb, words = text(form, "verb"), text(form, "value")
        version = looked_at[0] if name.startswith("m") else None
        decision = Decision(verb, _reason(form), words if verb in ("edit", "manual") else "", version)
        try:
            done = decided.decide(page.db, item, decision, page.writer(item.scope))
        except Conflict:
            again = queue.item(page.db, name)
            if again is None:
                return page.show("decided.html", {"message": ONE_AT_A_TIME}, 409)
            return _changed(page, again, looked_at, place)
        if done.reached is not None and not done.reached.holds:
            return frame.back("/review", "lingers" if done.reached.lingering else "not_reached", **place)
        return frame.back("/review", done.action.rpartition(": ")[2], at=text(form, "next"), **place)


def _changed(page: Frame, item: Item, looked_at: tuple[int, int], place: Mapping[str, str]) -> Response:
    """The item as it is now, and of each side what it said when it was looked at."""
    before: list[Mapping[str, Any]] = []
    for side, number in zip((item.old, item.new), looked_at, strict=True):
        if side is None:
            continue
        at = memories.find(page.db, *_address(side)) if side.version is not None else None
        old = memories.version(page.db, at.id, number) if at else None
        before.append({"side": side, "old": old.value if old else side.value, "version": number})
    return page.show("review_changed.html", {"card": card(page, item), "before": before, **place}, 409)


def _place(form: FormData) -> dict[str, str]:
    """Where in the list the card was, so that who decides goes on there."""
    of = text(form, "of")
    return {"kind": of if of in KINDS else "", "skip": str(whole(text(form, "skip")) or "")}


def _digests(item: Item) -> tuple[str, str]:
    old, new = (side.digest if side else "" for side in (item.old, item.new))
    return old, new


def _address(side: Side) -> tuple[str, str]:
    namespace, _, key = side.address.partition("/")
    return namespace, key


def _reason(form: FormData) -> str:
    """Why.

    Raises: GateRefused where nothing is said.
    """
    reason = text(form, "reason").strip()
    if not reason:
        raise GateRefused("reason", "say why: the reason is kept in the history")
    return reason
