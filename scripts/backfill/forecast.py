"""What a commit would bring, found out without writing anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from recorder.capture import ingest, project, reading, switched
from recorder.capture.transcript import Chunk
from recorder.config import Config
from recorder.gate import strings
from recorder.models import Event, EventKind, PromptClass, Source
from recorder.store import denials, projects, sessions
from recorder.store.db import Connection, blank
from scripts.backfill.known import Known
from scripts.backfill.logs import Left, Log, Session, failure
from scripts.backfill.sources import Sought
from scripts.backfill.taking import is_final

CHARACTERS_A_TOKEN = 3.5
DOLLARS_A_MILLION = 1.0
PRICE = "Claude Haiku 4.5, list price of input tokens, https://claude.com/pricing"

_BY_A_PERSON = frozenset(
    {None, PromptClass.TYPED, PromptClass.QUEUED, PromptClass.SLASH, PromptClass.BASH, PromptClass.SDK}
)


@dataclass(slots=True)
class Part:
    """What waits of one project, or of all. Sessions, files and bytes count where the session began."""

    sessions: set[str] = field(default_factory=set)
    files: int = 0
    size_bytes: int = 0
    events: int = 0
    prompts: int = 0
    tool_calls: int = 0
    earliest_ms: int | None = None
    latest_ms: int | None = None

    def see(self, event: Event) -> None:
        self.events += 1
        self.prompts += event.kind is EventKind.PROMPT and event.agent_id is None and event.klass in _BY_A_PERSON
        self.tool_calls += event.kind is EventKind.TOOL_CALL
        if event.at_ms:
            self.earliest_ms = min(event.at_ms, self.earliest_ms or event.at_ms)
            self.latest_ms = max(event.at_ms, self.latest_ms or event.at_ms)


@dataclass(slots=True)
class Forecast:
    """What waits beyond what was read. `lines` hold `records`, and those = `taken_in` + all of `left_out`."""

    by_project: dict[str | None, Part] = field(default_factory=dict)
    total: Part = field(default_factory=Part)
    lines: int = 0
    records: int = 0
    taken_in: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    closed: Counter[str] = field(default_factory=Counter)
    known: int = 0
    """Events that are in the store, or stand in more than one of the files."""
    characters: int = 0
    soon: list[Session] = field(default_factory=list)
    """Sessions whose files are deleted by age, soon or overdue."""
    problems: list[str] = field(default_factory=list)
    failed: list[Left] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """What a model would read that distils all of it."""
        return round(self.characters / CHARACTERS_A_TOKEN)

    @property
    def dollars(self) -> float:
        return self.tokens / 1_000_000 * DOLLARS_A_MILLION


@dataclass(slots=True)
class Outlook:
    """Looks at logs through a store it does not write to. `db` is open for reading alone, None where there is none.

    Which project a folder would belong to is worked out in a database of its own that knows the same bindings.
    """

    db: Connection | None
    config: Config
    now_ms: int
    _bindings: Connection = field(default_factory=blank)
    _known: Known = field(init=False)
    _projects: dict[tuple[str, str | None], str | None] = field(default_factory=dict)
    _first_cwd: dict[str, str | None] = field(default_factory=dict)
    _stored: dict[str, sessions.Session | None] = field(default_factory=dict)
    _paused: list[tuple[str | None, int, int | None]] = field(default_factory=list)
    _off: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._known = Known(self.db)
        self._off = frozenset(switched.waiting(self.config.home))
        if self.db is not None:
            projects.copy(self.db, self._bindings)
            self._paused = sessions.paused(self.db)

    def unread_bytes(self, logs: Iterable[Log]) -> int:
        """How much of the files was not read yet; nothing of one that cannot be opened."""
        return sum(max(0, log.size_bytes - self._place(log).cursor.offset) for log in logs)

    def is_unread(self, session: Session, sought: Sought) -> bool:
        """Whether a commit would read on in a file of the session, or fail at it."""
        return any(self._goes_on(log, sought.reads[log.path]) for log in session.logs)

    def _goes_on(self, log: Log, read: reading.Read) -> bool:
        place = self._place(log)
        final = is_final(log, self.config, self.now_ms)
        try:
            log.path.stat()
            chunk = read(
                log.path, place.cursor, open_calls=place.calls, source=Source.BACKFILL, final=final, limit_bytes=1
            )
        except Exception:  # said where it is read
            return True
        return chunk.cursor.offset != place.cursor.offset or bool(chunk.events)

    def project_id(self, session_id: str, cwd: str | None) -> str | None:
        """The project that a folder of a session belongs to, as ingest has it: a plain folder is one when the session
        starts there."""
        first_cwd = self._first(session_id, cwd)
        stored = self._session(session_id)
        if cwd is None and stored is not None and stored.project_id is not None:
            return stored.project_id
        cwd = cwd or first_cwd
        if cwd is None:
            return None
        key = (cwd, first_cwd)
        if key not in self._projects:
            found = project.resolve(
                self._bindings,
                cwd,
                now_ms=self.now_ms,
                first_cwd=first_cwd,
                worktrees=self.config.projects.worktrees,
                register=cwd == first_cwd,
            )
            self._projects[key] = found.id if found else None
        return self._projects[key]

    def forecast(self, found: Sequence[Session], sought: Sought, passed: Callable[[int], None]) -> Forecast:
        """What a commit of these sessions would bring. `passed` is told of bytes."""
        forecast = Forecast()
        for session in found:
            if session.deleted_ms(self.now_ms) is not None:
                forecast.soon.append(session)
            part = forecast.by_project.setdefault(self.project_id(session.id, session.cwd), Part())
            for log in session.logs:
                try:
                    self._see_log(forecast, part, log, sought.reads[log.path], passed)
                except Exception as error:
                    forecast.failed.append(failure(log, error))
        return forecast

    def _see_log(
        self, forecast: Forecast, part: Part, log: Log, read: reading.Read, passed: Callable[[int], None]
    ) -> None:
        moved = False
        for chunk, size in self._chunks(log, read):
            for each in (part, forecast.total):
                each.size_bytes += size
                each.files += not moved
                each.sessions.add(log.session_id)
            moved = True
            forecast.lines += chunk.lines
            forecast.records += chunk.seen
            forecast.taken_in += chunk.taken
            forecast.left_out += chunk.skipped
            forecast.problems += chunk.problems
            self._see_events(forecast, ingest.dated(chunk.events, self.now_ms))
            passed(size)

    def _see_events(self, forecast: Forecast, batch: Sequence[Event]) -> None:
        for event in batch:  # what stands before the first folder of its session is of that folder too
            self._first(event.session_id, event.cwd)
        forgotten = denials.forgotten(self.db, batch) if self.db is not None else set()
        opened: list[Event] = []
        for event in batch:
            rule = self._closed_to(event, forgotten)
            if rule is None:
                opened.append(event)
            else:
                forecast.closed[rule] += 1
        before = forecast.total.events
        for event in self._known.new(opened):
            self._see_new(forecast, event)
        forecast.known += len(opened) - (forecast.total.events - before)

    def _see_new(self, forecast: Forecast, event: Event) -> None:
        project_id = self.project_id(event.session_id, event.cwd)
        forecast.by_project.setdefault(project_id, Part()).see(event)
        forecast.total.see(event)
        most = self.config.capture.text_head + self.config.capture.text_tail
        forecast.characters += sum(min(len(text), most) for text in strings(event.body))

    def _chunks(self, log: Log, read: reading.Read) -> Iterator[tuple[Chunk, int]]:
        log.path.stat()
        place = self._place(log)
        cursor, calls = place.cursor, place.calls
        final = is_final(log, self.config, self.now_ms)
        while True:
            chunk = read(log.path, cursor, open_calls=calls, source=Source.BACKFILL, final=final)
            if chunk.cursor.offset != cursor.offset or chunk.events:
                yield chunk, chunk.cursor.offset - cursor.offset
            cursor, calls = chunk.cursor, chunk.open_calls
            if chunk.at_end:
                return

    def _place(self, log: Log) -> reading.Place:
        try:
            return reading.start(self.db, log.path, Source.BACKFILL) if self.db is not None else reading.Place()
        except OSError:  # said where it is read
            return reading.Place()

    def _first(self, session_id: str, cwd: str | None) -> str | None:
        if self._first_cwd.get(session_id) is None:
            stored = self._session(session_id)
            self._first_cwd[session_id] = (stored.first_cwd if stored else None) or cwd
        return self._first_cwd[session_id]

    def _session(self, session_id: str) -> sessions.Session | None:
        if session_id not in self._stored:
            self._stored[session_id] = sessions.get(self.db, session_id) if self.db is not None else None
        return self._stored[session_id]

    def _closed_to(self, event: Event, forgotten: Collection[str]) -> str | None:
        """The rule by which an event is not taken in, as ingest has it: its session was off, recording was paused, or
        it was forgotten."""
        stored = self._session(event.session_id)
        if event.session_id in self._off or (stored is not None and stored.off):
            return "off"
        project_id = self.project_id(event.session_id, event.cwd) if self._paused else None
        for paused_id, from_ms, until_ms in self._paused:
            if paused_id in (None, project_id) and from_ms <= event.at_ms < (until_ms or event.at_ms + 1):
                return "paused"
        return "forgotten" if event.key in forgotten else None
