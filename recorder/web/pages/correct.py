"""What a person does to a memory: each verb with what it reaches, shown before it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from recorder import forget as forgetting
from recorder import gate
from recorder.counted import many
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.gate.queue import digest, home_of
from recorder.models import Memory, Scope
from recorder.recall import reached
from recorder.store import findings, memories, policy, projects, tombstones
from recorder.web.numbers import whole
from recorder.web.pages import frame
from recorder.web.pages.frame import Form, Frame, text
from recorder.web.pages.memories import OUT_OF_TIME, link_of, standing
from worker import brief

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Verb:
    """How a verb is put to a person."""

    name: str
    says: str
    reason: bool
    """Whether a reason is needed."""
    danger: bool = False


VERBS = {
    "approve": Verb(
        "Approve", "This is right: a new version of it, verified by you, told to Claude and in the brief.", False
    ),
    "delete": Verb("Delete", "I do not want to see this: hidden from recall and brief. Restore brings it back.", False),
    "restore": Verb("Restore", "Show it again, as it was before.", False),
    "reject": Verb("Reject", "This is false: its value is refused through every door, in every spelling.", True, True),
    "lift": Verb("Lift the rejection", "Let it be said again: it becomes a candidate.", True),
    "forget": Verb(
        "Forget", "This is private: erased everywhere in what is ours. Nothing brings it back.", False, True
    ),
    "revert": Verb("Revert", "An earlier version was right: its words again, as a new version of yours.", False),
    "pin": Verb("Pin", "This first in the brief.", False),
    "unpin": Verb("Unpin", "No longer first in the brief.", False),
    "give": Verb("Give to a project", "Let it be the project's from now on.", False),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """A verb with what the person looked at."""

    memory: Memory
    reason: str | None
    version: int
    form: FormData


def _approve(page: Frame, wish: Wish) -> gate.Outcome:
    at, why = wish.memory, wish.reason
    return gate.approve(
        page.db,
        at.namespace,
        at.key,
        page.writer_of(at),
        reason=why,
        expected_version=wish.version,
        expected_value=at.value,
    )


def _delete(page: Frame, wish: Wish) -> gate.Outcome:
    at = wish.memory
    return gate.delete(
        page.db, at.namespace, at.key, page.writer_of(at), reason=wish.reason, expected_version=wish.version
    )


def _restore(page: Frame, wish: Wish) -> gate.Outcome:
    return gate.restore(
        page.db, wish.memory.namespace, wish.memory.key, page.writer_of(wish.memory), reason=wish.reason
    )


def _reject(page: Frame, wish: Wish) -> gate.Outcome:
    at = wish.memory
    return gate.reject(
        page.db, at.namespace, at.key, page.writer_of(at), reason=wish.reason or "", expected_version=wish.version
    )


def _lift(page: Frame, wish: Wish) -> gate.Outcome:
    return gate.lift(page.db, wish.memory.namespace, wish.memory.key, page.writer_of(wish.memory), reason=wish.reason)


def _revert(page: Frame, wish: Wish) -> gate.Outcome:
    at, number = wish.memory, _number(text(wish.form, "to"))
    return gate.revert(page.db, at.namespace, at.key, page.writer_of(at), version=number, reason=wish.reason)


def _pin(page: Frame, wish: Wish) -> gate.Outcome:
    return gate.pin(page.db, wish.memory.namespace, wish.memory.key, page.writer_of(wish.memory), pinned=True)


def _unpin(page: Frame, wish: Wish) -> gate.Outcome:
    return gate.pin(page.db, wish.memory.namespace, wish.memory.key, page.writer_of(wish.memory), pinned=False)


def _give(page: Frame, wish: Wish) -> gate.Outcome:
    project_id = text(wish.form, "project")
    if projects.get(page.db, project_id) is None:
        raise NotFound("choose the project it belongs to")
    return gate.give(page.db, wish.memory.namespace, wish.memory.key, project_id, page.writer(Scope(project_id)))


DONE: Mapping[str, Callable[[Frame, Wish], gate.Outcome]] = {
    "approve": _approve,
    "delete": _delete,
    "restore": _restore,
    "reject": _reject,
    "lift": _lift,
    "revert": _revert,
    "pin": _pin,
    "unpin": _unpin,
    "give": _give,
}
"""Forgetting is apart: it leaves no memory to go back to."""

# So that a page of the same path is not taken for a verb.
_VERB = "/memories/{number}/{verb}"


@router.post("/memories/{number}/link")
def link(request: Request, number: int, form: FormData = Form) -> Response:
    """Link the memory with another."""
    with frame.opened(request) as page:
        at = standing(page.db, number, page.now_ms)
        target = (text(form, "namespace").strip(), text(form, "key").strip())
        gate.link(page.db, (at.namespace, at.key), target, text(form, "relation"), page.writer_of(at))
        return frame.back(f"/memories/{number}#relations", "linked")


@router.post("/memories/{number}/unlink")
def unlink(request: Request, number: int, form: FormData = Form) -> Response:
    """Take a link away."""
    with frame.opened(request) as page:
        one = link_of(page.db, _number(text(form, "link")))
        gate.unlink(page.db, one.id, page.writer_of(standing(page.db, number, page.now_ms)))
        return frame.back(f"/memories/{number}#relations", "unlinked")


@router.get(_VERB)
def ask(request: Request, number: int, verb: str) -> Response:
    """What the verb reaches, and a form that does it."""
    with frame.opened(request) as page:
        return _asked(page, standing(page.db, number, page.now_ms), verb)


def _asked(page: Frame, at: Memory, verb: str, problem: str = "", reason: str = "", status: int = 200) -> Response:
    if verb not in VERBS:
        raise NotFound(f"there is no way to {verb[:40]!r} a memory")
    model = {
        "memory": at,
        "verb": verb,
        "how": VERBS[verb],
        "digest": digest(at.value),
        "reaches": PREVIEWS[verb](page, at) if verb in PREVIEWS else [],
        "plan": _plan(page, at) if verb == "forget" else None,
        "old": _earlier(page, at) if verb == "revert" else None,
        "problem": problem,
        "reason": reason,
    }
    return page.show("correct.html", model, status)


@router.post(_VERB)
def do(request: Request, number: int, verb: str, form: FormData = Form) -> Response:
    """Do it, if what was looked at still stands."""
    with frame.opened(request) as page:
        at = standing(page.db, number, page.now_ms)
        reason = text(form, "reason").strip()
        if verb in VERBS and VERBS[verb].reason and not reason:
            return _asked(page, at, verb, "Say why: the reason is kept in the history.", status=400)
        wish = Wish(at, reason or None, _number(text(form, "version")), form)
        if at.version != wish.version or text(form, "digest") not in ("", digest(at.value)):
            return changed(page, at, wish.version, f"/memories/{number}/{verb}")
        if verb == "forget":
            return _forget(page, wish)
        if verb not in DONE:
            raise NotFound(f"there is no way to {verb[:40]!r} a memory")
        try:
            outcome = DONE[verb](page, wish)
        except Conflict:
            return changed(page, standing(page.db, number, page.now_ms), wish.version, f"/memories/{number}/{verb}")
        if outcome.action == "refused":
            raise GateRefused("refused", outcome.reason)
        return frame.back(f"/memories/{number}", told(page, verb, at, outcome))


def told(page: Frame, verb: str, at: Memory, outcome: gate.Outcome) -> str:
    """The word for what was done; another where recall does not say so yet."""
    if verb not in ("approve", "delete", "restore", "reject", "lift", "revert"):
        return outcome.action
    kept = [outcome.memory] if outcome.memory and verb in ("approve", "restore", "lift", "revert") else []
    gone = [at.value] if verb in ("delete", "reject") and not _said_elsewhere(page, at) else []
    found = reached.check(page.db, home_of(at), kept, gone, page.now_ms)
    return outcome.action if found.holds else "lingers" if found.lingering else "not_reached"


def _said_elsewhere(page: Frame, at: Memory) -> bool:
    """Whether another memory of the scope says the very same, and goes on saying it."""
    rows = memories.for_brief(page.db, home_of(at).project_id, page.now_ms)
    return any(one.id != at.id and gate.canonical(one.value) == gate.canonical(at.value) for one in rows)


def changed(page: Frame, at: Memory, looked_at: int, again: str) -> Response:
    """The page that says that something else stands there by now, with the difference."""
    old = memories.version(page.db, at.id, looked_at)
    model = {"memory": at, "old": old.value if old else "", "again": again, "looked_at": looked_at}
    return page.show("changed.html", model, 409)


def _forget(page: Frame, wish: Wish) -> Response:
    at = wish.memory
    writer = page.writer_of(at)
    planned = gate.plan(page.db, at.namespace, at.key, writer)
    done, _ = forgetting.everywhere(page.db, page.config, planned, writer, reason=wish.reason)
    brief.write_all(page.db, page.config, page.now_ms)
    return frame.back("/memories", "pending" if done.state == "pending" else "forgotten")


def _plan(page: Frame, at: Memory) -> dict[str, Any]:
    planned = gate.plan(page.db, at.namespace, at.key, page.writer_of(at), at_once=True)
    return {
        "estimate": planned.estimate,
        "reached": forgetting.counted(gate.reached(planned)),
        "also": [one for one in planned.memories if one.id != at.id],
        "hidden": planned.derived,
        "unreached": forgetting.unreached(page.db, page.config, planned),
    }


def _earlier(page: Frame, at: Memory) -> Memory:
    number = _number(page.given("version"))
    found = memories.version(page.db, at.id, number)
    if found is None:
        raise NotFound(f"there is no version {number} of {at.namespace}/{at.key}")
    return found


def _told_now(page: Frame, at: Memory) -> list[str]:
    said = [name for name in ("recall", "brief") if policy.tells(name, at, page.now_ms)]
    late = OUT_OF_TIME.get(policy.out_of_time(at, page.now_ms))
    return [
        f"Claude is told it now, in {' and '.join(said)}"
        if said
        else f"Claude is not told it now{f': {late}' if late else ''}"
    ]


def _of_delete(page: Frame, at: Memory) -> list[str]:
    open_about = len(findings.about(page.db, at.id))
    waits = [f"About it, and left open: {many(open_about, 'finding')}"] if open_about else []
    hid, spared = gate.goes_with(page.db, at, at.value, spare=True)
    return [
        *_told_now(page, at),
        "Its versions, history and evidence stay",
        *(f"Hidden with it, because it says the same: {one.namespace}/{one.key}" for one in hid[:500]),
        *(f"You say the same here, and it stays: {one.namespace}/{one.key}" for one in spared[:500]),
        *waits,
    ]


def _of_restore(page: Frame, at: Memory) -> list[str]:
    by = memories.deleted_by(page.db, at.id)
    lifted_first = any(one.cause != tombstones.DELETED for one in gate.against(page.db, at))
    back = "You said since that this is not so: lift that first" if lifted_first else f"It comes back as {at.trust}"
    return [f"It is {at.state}" + (f", hidden by {by}" if by else ""), back]


def _of_reject(page: Frame, at: Memory) -> list[str]:
    drawn = gate.drawn_from(page.db, at.id)[:500]
    same = gate.saying_the_same(page.db, at, at.value)[:500]
    scope = at.project_id or "your own namespace"
    return [
        *_told_now(page, at),
        f"The value is refused under every key of {scope}, whoever says it, until you lift it",
        "Its evidence stays, so that it can be looked at again",
        *(f"Hidden with it, because it says the same: {one.namespace}/{one.key}" for one in same),
        *(f"Hidden with it, because drawn from it: {one.namespace}/{one.key}" for one in drawn),
    ]


def _of_lift(page: Frame, at: Memory) -> list[str]:
    standing_ones = [one for one in tombstones.of_memory(page.db, at.id) if one.lifted_ms is None]
    back = memories.get(page.db, memories.hidden_by(page.db, f"suppressed:{at.id}")[:500])
    return [
        f"What ends: {many(len(standing_ones), 'refusal')}",
        *(f"Back with it: {one.namespace}/{one.key}" for one in back),
    ]


PREVIEWS: Mapping[str, Callable[[Frame, Memory], list[str]]] = {
    "approve": _told_now,
    "delete": _of_delete,
    "restore": _of_restore,
    "reject": _of_reject,
    "lift": _of_lift,
}


def _number(given: str) -> int:
    found = whole(given)
    return -1 if found is None else found
