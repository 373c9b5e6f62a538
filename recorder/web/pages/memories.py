"""What is remembered: found, listed, and one memory with all that it stands on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData

from recorder import claude_auto, dates, doctor, embed, redaction
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.gate.queue import digest, home_of
from recorder.models import Channel, EventKind, Hit, Memory, MemoryKind, Order, Scope, State, Trust
from recorder.recall import filters, neighbours, rank
from recorder.store import browse, claude_files, memories, policy, projects, relations
from recorder.store.db import Connection
from recorder.store.only import Only
from recorder.web.numbers import whole
from recorder.web.pages import frame, plot
from recorder.web.pages.frame import Form, Frame

router = APIRouter()
ROWS = 50
HITS = 40
UNTOLD = (Trust.REJECTED, Trust.DISPUTED)
PROJECTS_ASKED = 40
"""Every project is asked by itself: so many on one page, the latest first …"""
ASKING_S = 1.5
"""… as long as that takes no longer; the next page goes on."""
LINES = 60
REFS = 40
NARROWING = ("since", "until", "file", "branch", "session", "tool", "failed", "order")
"""What a search is narrowed with besides what the list is."""
UNDECIDED = 50
DEPTH = 2
OUT_OF_TIME = {"expired": "it has expired", "ended": "its time is over", "not yet": "its time has not come"}
"""What `policy.out_of_time` says, in a sentence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One hit with the memory it is, where it is one."""

    hit: Hit
    memory: Memory | None

    @property
    def number(self) -> int:
        return int(self.hit.id[1:])


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a memory's history, with what it changed."""

    said: Mapping[str, Any]
    before: str | None
    revertible: bool

    @property
    def changed(self) -> bool:
        return self.said["value"] is not None and self.said["value"] != self.before


@router.get("/memories")
def listing(request: Request) -> Response:
    """Memories by namespace, or what recall finds."""
    with frame.opened(request) as page:
        question = page.given("q", 2_000)
        only = browse.Only(
            namespace=page.given("namespace") or None,
            kind=_one_of(MemoryKind, page.given("kind")),
            trust=_one_of(Trust, page.given("trust")),
            tag=page.given("tag") or None,
            hidden=page.given("state") == "hidden",
        )
        model: dict[str, Any] = {
            "only": only,
            "query": question,
            "namespaces": browse.namespaces(page.db, page.scope),
            "kinds": list(MemoryKind),
            "trusts": list(Trust),
            "sync": doctor.claude_memory(page.db),
            "undecided": browse.undecided(page.db, UNDECIDED),
            "undecided_files": claude_files.undecided_files(page.db),
            "arms": {},
            "answers": [],
            "rows": [],
            "more": None,
            "looked": None,
            "given": {name: page.given(name) for name in NARROWING},
            "orders": list(Order),
            "by_words": False,
            "narrowed": any(page.given(name) for name in (*NARROWING, "namespace", "kind", "trust", "tag")),
        }
        if question and (only.hidden or only.trust in UNTOLD):
            # Recall tells nobody of these: their own words are looked through.
            untold = browse.memory_page(page.db, page.scope, _worded(only, question), after=None, limit=ROWS)
            model |= {"rows": untold, "by_words": True}
        elif question:
            model |= found(page, question, only)
        else:
            after = _after(page.given("after", 1_000))
            rows = browse.memory_page(page.db, page.scope, only, after=after, limit=ROWS + 1)
            last = rows[ROWS - 1] if len(rows) > ROWS else None
            more = f"{last.recorded_ms}:{last.id}:{last.namespace}" if last else None
            model |= {"rows": rows[:ROWS], "more": more, "begun": after is not None}
        return page.show("memories.html", {"begun": False, **model})


@dataclass(frozen=True, slots=True)
class Looked:
    """Where a search looked: in so many of the projects there are, from which on, and how the page goes on."""

    asked: int
    start: int
    of: int
    more: str | None
    """The address of the next page."""

    @property
    def everywhere(self) -> bool:
        return self.start == 0 and self.more is None


def found(page: Frame, question: str, only: browse.Only) -> dict[str, Any]:
    """What recall answers where it is asked, and which arms could look."""
    vector, status = embed.of_question(page.db, page.config, question)
    narrowed, order = _narrowed(page, only)
    scopes = _asked(page, only)
    start = min(whole(page.given("from")) or 0, len(scopes) - 1)
    begun = time.monotonic()
    hits: dict[str, Hit] = {}
    arms: dict[str, str] = {}
    asked = 0
    for scope in scopes[start : start + PROJECTS_ASKED]:
        if asked and time.monotonic() - begun > ASKING_S:
            break
        answer = rank.recall(
            page.db,
            question,
            scope,
            k=HITS,
            vector=vector,
            vector_status=status,
            now_ms=page.now_ms,
            only=narrowed,
            order=order,
        )
        asked += 1
        arms |= answer.arms
        for hit in answer.hits:
            if hit.id not in hits or hit.score > hits[hit.id].score:
                hits[hit.id] = hit
    ordered = sorted(hits.values(), key=lambda hit: -hit.score)[:HITS]
    if order is not Order.RELEVANCE:
        ordered.sort(key=lambda hit: hit.occurred_ms, reverse=order is Order.NEWEST)
    known = {one.id: one for one in memories.get(page.db, [int(h.id[1:]) for h in ordered if h.type == "memory"])}
    answers = [Answer(hit, known.get(int(hit.id[1:])) if hit.type == "memory" else None) for hit in ordered]
    if (only.trust or only.tag) and not any(page.given(name) for name in NARROWING):
        # Where recall says that nothing answers, what holds the words is told all the same.
        worded = browse.memory_page(page.db, page.scope, _worded(only, question), after=None, limit=HITS)
        there = {one.number for one in answers}
        answers += [_plainly(one) for one in worded if one.id not in there]
    after = start + asked
    more = f"/memories?{urlencode({**page.request.query_params, 'from': after})}" if after < len(scopes) else None
    return {"answers": answers[:HITS], "arms": arms, "looked": Looked(asked, start, len(scopes), more)}


def _asked(page: Frame, only: browse.Only) -> list[Scope]:
    """Whom a search asks: the project chosen, the one whose namespace is chosen, or each, those of the latest sessions
    first."""
    if page.scope:
        return [page.scope]
    known = [one["id"] for one in projects.listing(page.db)]
    root, _, rest = (only.namespace or "").partition(".")
    if root in ("project", "claude"):
        meant = [id for id in known if rest == id or rest.startswith(f"{id}.")]
        return [Scope(id) for id in meant] or [Scope(None)]
    latest = browse.recent_projects(page.db, len(known))
    return [Scope(id) for id in dict.fromkeys([*latest, *known])] or [Scope(None)]


def _worded(only: browse.Only, question: str) -> browse.Only:
    return replace(only, words=tuple(question.split()[:20]))


def _plainly(memory: Memory) -> Answer:
    """A memory that holds the words, where no arm of recall came to it."""
    text = Hit("memory", f"m{memory.id}", 0.0, memory.value, memory.kind.value, memory.recorded_ms)
    return Answer(text, memory)


def _narrowed(page: Frame, only: browse.Only) -> tuple[Only, Order]:
    """What the form narrows recall to, and the order it asks for.

    Raises: GateRefused for what says nothing.
    """
    given = {name: page.given(name) or None for name in NARROWING}
    order = given.pop("order")
    trust = only.trust if only.trust in filters.TRUSTS else None
    failed = given.pop("failed") is not None
    try:
        return (
            replace(
                filters.read(namespace=only.namespace, kind=only.kind, trust=trust, failed=failed, **given),
                tag=only.tag,
            ),
            filters.order(order),
        )
    except filters.FilterError as error:
        raise GateRefused("parameter", str(error)) from None


@router.post("/memories/_sync")
def sync(request: Request, form: FormData = Form) -> Response:
    """Read Claude's own memory files now."""
    with frame.opened(request) as page:
        if claude_auto.sync(page.db, page.config, page.now_ms, redaction.by_worker(page.config.home)) is None:
            raise Conflict("another sync did not end within a minute: try again")
        return frame.back("/memories", "synced")


@router.get("/memories/{number}")
def memory(request: Request, number: int) -> Response:
    """One memory: what it says, why, since when, and who was told."""
    with frame.opened(request) as page:
        return page.show("memory.html", model(page, standing(page.db, number, page.now_ms)))


def standing(db: Connection, number: int, now_ms: int) -> Memory:
    """The memory with this number, hidden ones included.

    Raises: NotFound, of what was forgotten too.
    """
    rows = memories.get(db, [number], now_ms=now_ms) if 0 < number < 2**63 else []
    if not rows or not policy.shows("address", rows[0].trust, rows[0].state):
        raise NotFound(f"there is no memory m{number} here")
    return rows[0]


def model(page: Frame, found: Memory) -> dict[str, Any]:
    """What the page of a memory shows."""
    db, scope = page.db, home_of(found)
    evidence = memories.evidence(db, found.version_id)
    links, near = neighbours.reach(db, scope, found.id, DEPTH, page.now_ms)
    ends = {int(hit.id[1:]): hit for hit in near}
    channel = memories.channel_of(db, found.version_id)
    return {
        "memory": found,
        "digest": digest(found.value),
        "channel": channel,
        "project": page.project_name(found.project_id or found.home_project_id or None),
        "decidable": memories.visible(db, found, scope),
        "hidden_by": memories.deleted_by(db, found.id),
        "evidence": evidence,
        "because": because(found, channel, [event.kind for event, _ in evidence], page.now_ms),
        "lines": history(db, found)[:LINES],
        "refs": memories.refs(db, found.id, limit=REFS),
        "links": links,
        "ends": ends,
        "graph": plot.graph(found.id, {found.id: found.key, **{n: hit.key or "" for n, hit in ends.items()}}, links),
        "from_text": dates.shown(found.valid_from_ms, found.valid_from_precision),
        "to_text": dates.shown(found.valid_to_ms, found.valid_to_precision),
        "auto": found.namespace.startswith("claude."),
        "in_brief": policy.tells("brief", found, page.now_ms),
        "in_recall": policy.tells("recall", found, page.now_ms),
        "active": found.state is State.ACTIVE,
    }


def history(db: Connection, found: Memory) -> list[Line]:
    """Every revision, the latest first, each with what stood before it."""
    lines: list[Line] = []
    before: str | None = None
    for said in memories.history(db, found.id):
        number = said["version"]
        lines.append(Line(said, before, number is not None and 0 < number != found.version))
        before = said["value"] if said["value"] is not None else before
    return lines[::-1]


def because(found: Memory, channel: Channel, kinds: list[EventKind], now_ms: int) -> str:
    """Why it is believed, in a sentence."""
    approved = channel is Channel.PERSON and not found.source.startswith(("dashboard:", "terminal"))
    who = {
        Channel.PERSON: "You approved it" if approved else "You said so yourself",
        Channel.USER_SAID: "You typed it in a prompt",
        Channel.OBSERVED: "It was seen to work",
        Channel.AGENT: "Claude proposed it",
        Channel.API: "A program with a token wrote it",
        Channel.IMPORT: "It came with an import",
        Channel.CLAUDE_AUTO: "It stands in one of Claude's own memory files",
    }[channel]
    seen = f"in {found.sessions} session{'s' if found.sessions != 1 else ''}" if found.sessions else "nowhere else"
    shown = f"{len(kinds)} quote{'s' if len(kinds) != 1 else ''} below"
    trust = {
        Trust.VERIFIED: "so it is verified",
        Trust.CANDIDATE: "so it is a candidate until you approve it",
        Trust.DISPUTED: "and it contradicts something, so it is told to nobody until you decide",
        Trust.REJECTED: "and you said that it is false",
    }[found.trust]
    return f"{who}; {shown}, found {seen}; {trust}{_told(found, now_ms)}."


def _told(found: Memory, now_ms: int) -> str:
    """Whether Claude is told it, where its trust alone does not say so."""
    if found.trust not in (Trust.VERIFIED, Trust.CANDIDATE):
        return ""
    if policy.tells("recall", found, now_ms):
        return ", and told to Claude" if found.trust is Trust.VERIFIED else ""
    why = f"it is {found.state}" if found.state is not State.ACTIVE else OUT_OF_TIME[policy.out_of_time(found, now_ms)]
    return f", but not told to Claude: {why}"


def link_of(db: Connection, number: int) -> relations.Relation:
    """The link with this number.

    Raises: NotFound.
    """
    one = relations.get(db, number)
    if one is None:
        raise NotFound(f"there is no link {number} here")
    return one


def _one_of(names: type[StrEnum], given: str) -> str | None:
    return given if given in list(names) else None


def _after(given: str) -> tuple[str, int, int] | None:
    at_ms, _, rest = given.partition(":")
    number, _, namespace = rest.partition(":")
    at, one = whole(at_ms, signed=True), whole(number)
    return (namespace, at, one) if at is not None and one is not None and namespace else None
