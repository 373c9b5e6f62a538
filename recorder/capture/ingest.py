"""Events into rows and jobs, once each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recorder.capture import excerpt, project, switched
from recorder.config import Config
from recorder.models import Event, EventKind, PromptClass, Source
from recorder.store import denials, events, health, jobs, projects, sessions
from recorder.store.db import Connection, transaction

# A hook notes when it ran, the transcript when the record was made: the same call lies this close together.
SAME_CALL_MS = 60_000

# A clock that is wrong by more is not believed.
AHEAD_MS = 86_400_000

CLOSES_TURN = frozenset({EventKind.TURN_END, EventKind.API_ERROR})
# A hook is run for each of these; for what is typed while Claude works, or starts with a slash, for some.
HOOKED_PROMPTS = frozenset({None, PromptClass.TYPED, PromptClass.SDK})
EMBEDDED = frozenset({EventKind.PROMPT, EventKind.ASSISTANT, EventKind.TOOL_CALL, EventKind.SUMMARY})

# The same last words reach us from a hook and from the transcript.
SPOKEN = frozenset({EventKind.ASSISTANT, EventKind.TURN_END, EventKind.SUBAGENT_END})

# The client may write its last lines after SessionEnd: `/exit` itself was one of them (seen in 2.1.197).
LAST_LINES_MS = 3_000

DISTIL = "distil"
CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a batch: how many events were new, seen before, or left out by which rule."""

    new: int = 0
    seen: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Ready:
    """A redacted event with its words and its packed body: all that needs no database.

    `cwd` is the folder as it came: what redaction leaves of a path may be another's.
    """

    event: Event
    cwd: str | None
    excerpt: str
    narrow: str
    files: list[tuple[str, str]]
    packed: events.Packed


@dataclass(frozen=True, slots=True)
class _Placed:
    """What is ready, and where it belongs."""

    ready: Ready
    event: Event
    project_id: str | None


def subject(session_id: str, prompt_id: str | None) -> str:
    """What the job of a turn is called; session ids hold no line break."""
    return f"{session_id}\n{prompt_id or ''}"


def make_ready(batch: Sequence[Event], redact: Callable[[Event], Event]) -> list[Ready]:
    """The events as they will be stored."""
    # One act over the whole batch after the other: the rules of redaction fill the processor's cache.
    clean = [excerpt.own(event) for event in [redact(event) for event in batch]]
    words = [excerpt.excerpt(event) for event in clean]
    packed = [events.encode(event.body, said) for event, said in zip(clean, words, strict=True)]
    return [
        Ready(event, given.cwd, said, excerpt.narrow(event), excerpt.files(event), body)
        for given, event, said, body in zip(batch, clean, words, packed, strict=True)
    ]


def take(
    db: Connection,
    batch: Sequence[Event],
    *,
    now_ms: int,
    redact: Callable[[Event], Event],
    config: Config,
    but_turn: str = "",
    also: Callable[[], None] | None = None,
    run_id: int | None = None,
) -> Taken:
    """Redact a batch and store it, as `store` does."""
    ready = make_ready(batch, redact)
    return store(db, ready, now_ms=now_ms, config=config, but_turn=but_turn, also=also, run_id=run_id)


def store(
    db: Connection,
    batch: Sequence[Ready],
    *,
    now_ms: int,
    config: Config,
    but_turn: str = "",
    also: Callable[[], None] | None = None,
    run_id: int | None = None,
) -> Taken:
    """Store a batch in one transaction, with the jobs it gives rise to.

    `but_turn` names a turn no job is asked for, because the caller is that job. `also` runs inside the transaction:
    what must be committed with the events, such as how far a transcript was read. `run_id` is the backfill's.
    """
    left_out: Counter[str] = Counter()
    switched.settle(db, config.home, now_ms)
    resolver = _Resolver(db, config, now_ms, batch)
    project_ids = [resolver.project_id(ready.event, ready.cwd) for ready in batch]
    with transaction(db):
        # Inside: what is forgotten between a look and the commit would come in.
        batch = _without_forgotten(db, batch, now_ms)
        found = dated([ready.event for ready in batch], now_ms)
        placed = [_Placed(*one) for one in zip(batch, found, project_ids, strict=True)]
        before = {name: sessions.get(db, name) for name in {event.session_id for event in found}}
        closed_to = _closed_to(db, before, denials.forgotten(db, found, now_ms))
        scope_ids = {p: projects.scope_id(db, p) for p in {item.project_id for item in placed} if p is not None}
        kept: list[_Placed] = []
        for item in placed:
            rule = closed_to(item)
            if rule is not None:
                left_out[rule] += 1
                continue
            kept.append(item)
        _see_sessions(db, kept, before)
        fresh = _store_all(db, kept, scope_ids, now_ms, run_id)
        _ask_for_jobs(db, fresh, now_ms, config, but_turn)
        if also is not None:
            also()
    return Taken(len(fresh), len(kept) - len(fresh), left_out)


def _without_forgotten(db: Connection, batch: Sequence[Ready], now_ms: int) -> Sequence[Ready]:
    """The batch with `[forgotten]` in the place of what was forgotten and stands inside other words. What says nothing
    else is left as it is, to be left out."""
    given = [ready.event for ready in batch]
    blank = denials.blanked(db, given, now_ms)
    for key in denials.forgotten(db, [event for event in given if event.key in blank], now_ms):
        blank.pop(key, None)
    if not blank:
        return batch
    return [
        replace(make_ready([blank[ready.event.key]], lambda event: event)[0], cwd=ready.cwd)
        if ready.event.key in blank
        else ready
        for ready in batch
    ]


class _Resolver:
    """Folders to projects for one batch. A session began in the first folder that is known of it, whichever of its
    records says so: a title or a summary may stand before, without one."""

    def __init__(self, db: Connection, config: Config, now_ms: int, batch: Sequence[Ready]) -> None:
        self.db, self.config, self.now_ms = db, config, now_ms
        self.known: dict[tuple[str, str | None, bool], str | None] = {}
        self.sessions = {name: sessions.get(db, name) for name in {ready.event.session_id for ready in batch}}
        self.first = {name: session.first_cwd for name, session in self.sessions.items() if session is not None}
        for ready in batch:
            self.first[ready.event.session_id] = self.first.get(ready.event.session_id) or ready.cwd

    def project_id(self, event: Event, cwd: str | None) -> str | None:
        first_cwd = self.first[event.session_id]
        if cwd is None:
            session = self.sessions[event.session_id]
            if session is not None and session.project_id is not None:
                return session.project_id
            cwd = first_cwd
        if cwd is None:
            return None
        register = event.kind is EventKind.SESSION_START or cwd == first_cwd
        key = (cwd, first_cwd, register)
        if key not in self.known:
            found = project.resolve(
                self.db,
                cwd,
                now_ms=self.now_ms,
                first_cwd=first_cwd,
                worktrees=self.config.projects.worktrees,
                register=register,
            )
            self.known[key] = found.id if found else None
        return self.known[key]


def dated(batch: Sequence[Event], now_ms: int) -> Sequence[Event]:
    """The events, each from a time that is yet to come dated as the one before it in its session: it would be the
    newest of all for as long as that, and keep its session open."""
    if all(event.at_ms <= now_ms + AHEAD_MS for event in batch):
        return batch
    known: dict[str, int] = {}
    for event in reversed(batch):
        if event.at_ms <= now_ms + AHEAD_MS:
            known[event.session_id] = event.at_ms
    found = []
    for event in batch:
        if event.at_ms > now_ms + AHEAD_MS:
            event = replace(event, at_ms=known.get(event.session_id, now_ms))
        known[event.session_id] = event.at_ms
        found.append(event)
    return found


def _closed_to(
    db: Connection, before: Mapping[str, sessions.Session | None], forgotten: Collection[str]
) -> Callable[[_Placed], str | None]:
    """The rule by which an event must not be taken in: its session was off, recording was paused, or it was
    forgotten."""
    spans = sessions.paused(db)

    def rule(item: _Placed) -> str | None:
        session = before[item.event.session_id]
        if session is not None and session.off:
            return "off"
        for project_id, from_ms, until_ms in spans:
            if project_id not in (None, item.project_id):
                continue
            if from_ms <= item.event.at_ms and (until_ms is None or item.event.at_ms < until_ms):
                return "paused"
        return "forgotten" if item.event.key in forgotten else None

    return rule


def _see_sessions(db: Connection, batch: Iterable[_Placed], before: Mapping[str, sessions.Session | None]) -> None:
    by_session: dict[str, list[_Placed]] = {}
    for item in batch:
        by_session.setdefault(item.event.session_id, []).append(item)
    for session_id, items in by_session.items():
        of_events = [item.event for item in items]
        on_main = [event for event in of_events if event.agent_id is None]
        first = next((item for item in items if item.event.cwd), None)
        known = before[session_id]
        sessions.see(
            db,
            session_id,
            first_ms=min(event.at_ms for event in of_events),
            last_ms=max(event.at_ms for event in of_events),
            cwd=first.event.cwd if first else None,
            project_id=first.project_id if first else None,
            transcript_path=next((e.transcript_path for e in on_main if _says_where(e, session_id)), None),
            found_in=next((e.transcript_path for e in on_main if e.transcript_path), None),
            branch=next((e.branch for e in reversed(of_events) if e.branch), None),
            hook_events=sum(event.source is Source.HOOK for event in of_events),
        )
        if known is not None and known.first_cwd is None and first is not None and first.project_id is not None:
            events.adopt(db, session_id, first.project_id, projects.scope_id(db, first.project_id), EMBEDDED)
        for event in of_events:
            # A title with a leaf names the session of that leaf, mostly another one (clients 1.0 to 2.1.22).
            if event.kind is EventKind.TITLE and event.body.get("text") and "leaf_uuid" not in event.body:
                sessions.entitle(db, session_id, str(event.body["text"])[:200])


def _says_where(event: Event, session_id: str) -> bool:
    """Whether the event knows the session's transcript: a hook does; a file may hold copies of other sessions."""
    named = event.transcript_path
    if named is None or event.source is Source.HOOK:
        return named is not None
    return os.path.splitext(os.path.basename(named))[0] == session_id  # a tenth of the time of PurePath.stem


def _store_all(
    db: Connection, batch: Sequence[_Placed], scope_ids: Mapping[str, int], now_ms: int, run_id: int | None
) -> list[_Placed]:
    """Insert what is new and sight the rest; the new ones. What is known is looked up once for the whole batch."""
    known = events.known(db, [item.event for item in batch])
    missed_by_hooks = _missed_by_hooks(db, batch)
    last_id = next_id = events.last_id(db)
    fresh: list[_Placed] = []
    sights: list[tuple[int, Event, object]] = []
    files: list[tuple[int, str, str]] = []
    vectors: list[tuple[str, int, int]] = []
    for item in batch:
        event, ready = item.event, item.ready
        if not known.first_time(event):
            continue
        event_id = known.id_of(event) or copied(db, event)
        if event_id is None:
            event_id = next_id = next_id + 1
            events.insert(
                db,
                event,
                project_id=item.project_id,
                scope_id=scope_ids.get(item.project_id) if item.project_id else None,
                received_ms=now_ms,
                excerpt=ready.excerpt,
                narrow=ready.narrow,
                healed=missed_by_hooks(event),
                packed=ready.packed,
                event_id=event_id,
            )
            sights.append((event_id, event, None))
            fresh.append(item)
            files += ((event_id, path, action) for path, action in ready.files)
            if ready.excerpt and item.project_id and event.kind in EMBEDDED:
                vectors.append(("event", event_id, event.at_ms))
        else:
            sights.append((event_id, event, _extra(event)))
            events.learn(db, event_id, event)
        known.add(event, event_id)
    events.sight_all(db, sights, run_id)
    events.add_files(db, files)
    events.queue_vectors(db, vectors)
    if fresh:
        events.index(db, last_id)
    spoken = {(e.session_id, e.prompt_id) for e in (item.event for item in fresh) if e.kind in SPOKEN}
    for session_id, prompt_id in spoken:
        events.hush_repeats(db, session_id, prompt_id)
    return fresh


def copied(db: Connection, event: Event) -> int | None:
    """The event this one is a copy of: a fork, a resume or a snapshot repeats records under another session."""
    if event.source is Source.HOOK:
        return None
    if event.tool_use_id is not None:
        for known, at_ms, record_ms in events.ids_of_tool_use(db, event.tool_use_id, event.tool, event.session_id):
            if record_ms == event.at_ms or (record_ms == 0 and abs(at_ms - event.at_ms) <= SAME_CALL_MS):
                return known
    if event.kind is EventKind.PROMPT and event.prompt_id is not None and event.agent_id is None:
        said = event.body.get("text")
        for known in events.ids_of_prompt(db, event.prompt_id, event.session_id):
            if [found.body.get("text") for found in events.get(db, [known])] == [said]:
                return known
    return None


def _missed_by_hooks(db: Connection, batch: Iterable[_Placed]) -> Callable[[Event], bool]:
    """Whether a hook should have carried an event: from when they were registered, else where one has spoken."""
    since = health.recording_since(db)
    everywhere = health.EVERYWHERE in since
    hooked = set() if everywhere else sessions.with_hooks(db, {item.event.session_id for item in batch})

    def missed(event: Event) -> bool:
        if event.source is Source.HOOK or event.agent_id is not None or not _carried_by_hooks(event):
            return False
        since_ms = health.since_ms(since, event.cwd)
        return event.session_id in hooked if since_ms is None else event.at_ms >= since_ms

    return missed


def _carried_by_hooks(event: Event) -> bool:
    """Whether a hook is run for such a thing for certain.

    Source: client 2.1.197: none for a call that was refused, never valid or cut off, nor for local commands, `!bash`
    and what the client itself puts in. Some of these have one, but the transcript does not say which.
    """
    if event.kind is EventKind.TOOL_CALL:
        return event.ok is True
    return event.kind is EventKind.PROMPT and event.klass in HOOKED_PROMPTS


def _extra(event: Event) -> dict[str, str] | None:
    found = {"class": event.klass.value if event.klass else None, "message_id": event.message_id}
    kept = {name: value for name, value in found.items() if value is not None}
    return kept or None


def _ask_for_jobs(db: Connection, fresh: Sequence[_Placed], now_ms: int, config: Config, but_turn: str) -> None:
    """A turn is distilled when it closes or falls silent; a session is closed when it ends or falls silent."""
    turn_idle_ms = int(config.worker.turn_idle_minutes * 60_000)
    session_idle_ms = int(config.worker.session_idle_minutes * 60_000)
    closed = sessions.closed(db, {item.event.session_id for item in fresh})
    wishes: dict[tuple[str, str], tuple[int, bool]] = {}
    front: set[str] = set()
    ended: dict[str, str] = {}

    def hasten(session_id: str, but: str = "") -> None:
        """Nothing more comes for the session's other turns."""
        jobs.hasten(db, DISTIL, session_id + "\n", due_ms=now_ms, but=but)
        for kind, name in wishes:
            if kind == DISTIL and name.startswith(session_id + "\n") and name != but:
                wishes[kind, name] = (now_ms, False)

    for event in (item.event for item in fresh):
        if event.kind in (EventKind.STATEMENT, EventKind.INJECTION):
            continue
        # What a transcript adds happened before it was read: it opens nothing again and puts nothing off.
        live = event.source is Source.HOOK
        if event.source is not Source.BACKFILL:
            front.add(event.session_id)
        if event.kind is EventKind.SESSION_END:
            sessions.close(db, event.session_id, event.at_ms, str(event.body.get("reason") or "") or None)
            closed.add(event.session_id)
            hasten(event.session_id)
            # Read at once what is there, before a fork can copy it; and again when the last lines are written.
            wishes[DISTIL, subject(event.session_id, event.prompt_id)] = (now_ms, live)
            wishes[CLOSE, event.session_id] = (now_ms + LAST_LINES_MS, live)
            continue
        if live:
            closed.discard(event.session_id)
        over = event.session_id in closed
        silent_since = min(event.at_ms, now_ms)
        turn = subject(event.session_id, event.prompt_id)
        if turn != but_turn:
            due_ms = now_ms if over or _closes_turn(event) else silent_since + turn_idle_ms
            wishes[DISTIL, turn] = (due_ms, live)
        if live and event.kind is EventKind.PROMPT and event.agent_id is None and ended.get(event.session_id) != turn:
            ended[event.session_id] = turn
            hasten(event.session_id, but=turn)
        wishes[CLOSE, event.session_id] = (now_ms if over else silent_since + session_idle_ms, live)
    for (kind, name), (due_ms, later) in wishes.items():
        behind = name.partition("\n")[0] not in front
        jobs.ask(db, kind, name, due_ms=due_ms, now_ms=now_ms, later=later, behind=behind)


def _closes_turn(event: Event) -> bool:
    return event.kind in CLOSES_TURN and event.agent_id is None and not event.body.get("background_tasks")
