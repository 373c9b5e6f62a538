"""Job kind → what is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from recorder import gate
from recorder.capture import ingest, reading, transcript
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.counted import many
from recorder.errors import RetryLater
from recorder.models import EventKind, Job, Scope, StoredEvent
from recorder.store import events, health, jobs, memories, sessions
from recorder.store.db import Connection, transaction
from worker import cited, conflicts
from worker.distil import distil
from worker.reconcile import RECONCILE

# What a turn may look back at, in events.
LOOK_BACK = 200
# Pieces of a long transcript, about 4 MB each, that are read before others have their turn.
PIECES_AT_ONCE = 2
# Of a prompt the transcript tells so soon, or hardly ever.
TOLD_WITHIN_MS = 10_000
LOOK_AGAIN_MS = 500
AHEAD_MS = 1_000
"""A clock that was set since, or another machine's, is further ahead."""
# In so much of a transcript stands where its session began.
BEGINNING_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Context:
    """What every handler is given: the database, the settings, the redaction and the time."""

    db: Connection
    config: Config
    redactor: Redactor
    now_ms: int
    patient: bool = True
    """Whether a turn may wait a moment for what its transcript says of it."""


Handler = Callable[[Context, Job], str]


def distil_turn(context: Context, job: Job) -> str:
    """Read the session's transcript to its end, then put what the turn teaches before the gate.

    What waits behind all else came by a backfill, and its transcript is the backfill's to read. The outcome says what
    came of it: `empty`, or how many proposals were taken and refused.

    Raises: RetryLater where the transcript does not tell of the prompt yet, which alone says that a person typed it.
    """
    db = context.db
    session_id, _, prompt_id = job.subject.partition("\n")
    if not job.behind:
        read_session(context, session_id, but_turn=job.subject)
    if not context.config.distil.enabled:
        return "off"
    session = sessions.get(db, session_id)
    turn = events.of_turn(db, session_id, prompt_id)
    if session is None or not turn:
        return "empty"
    if context.patient and not job.behind and _is_untold(context, session, turn):
        raise RetryLater(LOOK_AGAIN_MS)
    if named := cited.ids(turn):
        with transaction(db):
            memories.note_used(db, named, session_id, prompt_id, context.now_ms)
    project_id = next((event.project_id for event in turn if event.project_id), session.project_id)
    if project_id is None:
        return "no project"
    before = events.before(db, session_id, turn[0].at_ms, limit=LOOK_BACK)
    found = distil(turn, project_id=project_id, typed_verified=context.config.distil.typed_is_verified, before=before)
    taken = refused = 0
    for proposed in found:
        outcome = gate.propose(
            db,
            proposed.proposal,
            gate.Writer(
                proposed.channel,
                proposed.proposal.source,
                Scope(project_id),
                context.now_ms,
                typed_is_verified=context.config.distil.typed_is_verified,
                redact=context.redactor.texts,
            ),
        )
        refused += outcome.action == "refused"
        taken += outcome.action in ("created", "corroborated", "superseded")
    return f"taken {taken}, refused {refused} of {len(found)}" if found else "empty"


def _is_untold(context: Context, session: sessions.Session, turn: Sequence[StoredEvent]) -> bool:
    """Whether hooks told of a prompt moments ago that Claude Code has not written down yet. It writes when it finds the
    time: on a busy machine after the turn's end."""
    path = Path(session.transcript_path) if session.transcript_path else None
    since_ms = context.now_ms - turn[-1].at_ms
    if path is None or not -AHEAD_MS <= since_ms < TOLD_WITHIN_MS:  # dated ahead it would wait as long as that
        return False
    asked = [event for event in turn if event.kind is EventKind.PROMPT and event.agent_id is None]
    return any(event.uuid is None for event in asked) and reading.is_claudes(path, context.config) and path.is_file()


def close_session(context: Context, job: Job) -> str:
    """Read what is left of the transcript, let calls without a result enter, and close the session.

    Raises: RetryLater when the session went on meanwhile.
    """
    db, session_id = context.db, job.subject
    session = sessions.get(db, session_id)
    if session is None or session.off:
        return "nothing to close"
    if not job.behind:
        read_session(context, session_id)
        session = sessions.get(db, session_id) or session
    silent_ms = int(context.config.worker.session_idle_minutes * 60_000)
    # One dated years ahead by an earlier version would stay open for as long.
    ahead = session.last_ms > context.now_ms + ingest.AHEAD_MS
    still_ms = 0 if ahead else session.last_ms + silent_ms - context.now_ms
    if session.closed_ms is None and still_ms > 0:
        raise RetryLater(still_ms)
    waiting = reading.give_up_waiting(_reader(context), session_id)
    with transaction(db):
        sessions.close(db, session_id, context.now_ms)
        jobs.hasten(db, ingest.DISTIL, session_id + "\n", due_ms=context.now_ms)
    return f"closed, {many(waiting, 'call')} without a result" if waiting else "closed"


def read_unspoken(context: Context, job: Job) -> str:
    """Take in what stands in a transcript and no hook told of; its session is then closed as any other.

    Raises: RetryLater after a few megabytes, for the rest.
    """
    db, path = context.db, Path(job.subject)
    session = sessions.get(db, path.stem)
    if session is not None and session.off:
        return "off"
    if not _recorded_there(context, path):
        return "not of a folder where hooks are registered"
    new = _read(_reader(context), path, path.stem)
    if sessions.get(db, path.stem) is not None:
        with transaction(db):
            jobs.ask(db, ingest.CLOSE, path.stem, due_ms=context.now_ms, now_ms=context.now_ms, later=False)
    return f"new {new}"


HANDLERS: Mapping[str, Handler] = {
    ingest.DISTIL: distil_turn,
    ingest.CLOSE: close_session,
    gate.CONFLICTS: lambda context, _: conflicts.look(context.db, context.now_ms),
    RECONCILE: read_unspoken,
}


def _recorded_there(context: Context, path: Path) -> bool:
    """Whether the transcript is Claude Code's own, of a session that began where hooks are registered."""
    since = health.recording_since(context.db)
    if not reading.is_claudes(path, context.config) or not path.is_file():
        return False
    if health.EVERYWHERE in since:
        return True
    begun = transcript.read(path, transcript.Cursor(), open_calls={}, limit_bytes=BEGINNING_BYTES).events
    cwd = next((event.cwd for event in begun if event.cwd), None)
    return health.since_ms(since, cwd) is not None


def read_session(context: Context, session_id: str, *, but_turn: str = "") -> int:
    """Take in what the session's transcripts hold beyond what was read; how many events were new.

    Raises: RetryLater after a few megabytes, for the rest.
    """
    session = sessions.get(context.db, session_id)
    if session is None or session.off or session.transcript_path is None:
        return 0
    return _read(replace(_reader(context), but_turn=but_turn), Path(session.transcript_path), session_id)


def _read(reader: reading.Reader, main: Path, session_id: str) -> int:
    new = pieces = 0
    files = {str(path): path for path in reading.session_files(main)}
    # Each turn asks, and mostly nothing was added: sizes say so at once.
    known = sessions.standing(reader.db, dict.fromkeys(files, session_id))
    for path in (path for name, path in files.items() if path.stat().st_size != known[name].offset):
        for step in reading.steps(reader, path, session_id):
            new, pieces = new + step.taken.new, pieces + 1
            if pieces == PIECES_AT_ONCE:
                raise RetryLater(0)
    return new


def _reader(context: Context) -> reading.Reader:
    return reading.Reader(context.db, context.now_ms, context.redactor.event, context.config)
