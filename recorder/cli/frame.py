"""What every command stands in: the caller, the open store, and how answers look."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recorder import config
from recorder.config import Config
from recorder.counted import many as many
from recorder.errors import GateRefused, NotFound, RecorderError
from recorder.gate import Writer
from recorder.models import Channel, Scope
from recorder.recall import fence
from recorder.recall import scope as scopes
from recorder.store.db import Connection, DatabaseError, connect

app = typer.Typer(
    name="recorder",
    help="A passive capture recorder for Claude Code: what happened, what was learnt from it, and how to put it right.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Answers(Console):
    """Standard output; when whoever reads it has seen enough, the command ends in peace."""

    def on_broken_pipe(self) -> NoReturn:
        _reader_left()


out = Answers(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Project = Annotated[
    Path | None, typer.Option("--project", help="A folder of the project meant; this one when left out.", metavar="DIR")
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; kept in the history.")]


@dataclass(frozen=True, slots=True)
class Desk:
    """One command's surroundings."""

    db: Connection
    config: Config
    now_ms: int
    environ: Mapping[str, str]

    @property
    def by_agent(self) -> bool:
        return by_agent(self.environ)

    @property
    def channel(self) -> Channel:
        return Channel.AGENT if self.by_agent else Channel.PERSON

    @property
    def actor(self) -> str:
        session = self.environ.get("CLAUDE_CODE_SESSION_ID")
        return f"task:{session or 'unknown'}" if self.by_agent else "terminal"

    def writer(self, scope: Scope) -> Writer:
        """Who changes something from here."""
        return Writer(self.channel, self.actor, scope, self.now_ms)

    def scope(self, project: Path | None, *, register: bool = False) -> Scope:
        """What a caller in the folder sees; Claude sees the project it runs in, as its memory server does.

        Raises: NotFound for a folder that is neither there nor known, GateRefused when Claude names another project.
        """
        if self.by_agent:
            return self._own_scope(project, register=register)
        if project is None:
            return self._resolve(os.getcwd(), register=register)
        folder = os.path.abspath(project)
        found = self._resolve(folder, register=register and os.path.isdir(folder))
        if found.project_id is None and not os.path.isdir(folder):
            raise NotFound(f"there is no folder {project}")
        return found

    def address_scope(self, project: Path | None, *, register: bool = False) -> Scope:
        """The same for somebody who names a memory: a person finds there what nobody knows the project of, too."""
        return replace(self.scope(project, register=register), undecided=not self.by_agent)

    def projects(self, meant: str | None = None) -> list[str | None]:
        """What a list is about: the project meant, None for every one; for Claude its own, or nothing outside one."""
        if not self.by_agent:
            return [meant]
        own = self.scope(None).project_id
        return [] if own is None else [own]

    def _own_scope(self, project: Path | None, *, register: bool) -> Scope:
        own = self._resolve(self.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd(), register=register)
        if project is not None and self._look(os.path.abspath(project)) != own:
            raise GateRefused(
                "scope", f"{project} is not of the project Claude Code runs in: ask in a terminal outside Claude Code"
            )
        return own

    def _look(self, folder: str) -> Scope:
        """The scope of a folder, of which nothing is noted."""
        self.db.pragma("query_only", True)
        try:
            return self._resolve(folder)
        finally:
            self.db.pragma("query_only", False)

    def _resolve(self, folder: str, *, register: bool = False) -> Scope:
        return scopes.of_directory(
            self.db, folder, now_ms=self.now_ms, worktrees=self.config.projects.worktrees, register=register
        )


def by_agent(environ: Mapping[str, str]) -> bool:
    """A terminal is a person's, except where Claude Code runs the command (it sets CLAUDECODE, 2.1.197)."""
    return bool(environ.get("CLAUDECODE"))


def only_a_person(does: str) -> None:
    """Nothing, at a person's terminal.

    Raises: GateRefused where Claude Code runs the command.
    """
    if by_agent(os.environ):
        raise GateRefused("ceiling", f"only a person {does}: do it in a terminal outside Claude Code")


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000


def settings() -> Config:
    """The settings in force; their warnings go to stderr."""
    found = config.load(os.environ)
    for warning in found.warnings:
        err.print(Text(f"warning: {warning}"))
    return found


@contextmanager
def desk() -> Iterator[Desk]:
    """The open store and who asks."""
    found = settings()
    db = connect(found.db_path)
    try:
        yield Desk(db, found, now_ms(), os.environ)
    finally:
        db.close()


def guarded(run: Callable[[], Any]) -> int:
    """The exit code of a run: 1 with one line on stderr when something of ours went wrong, 2 for wrong use."""
    try:
        run()
    except (RecorderError, DatabaseError) as error:
        return _failed(str(error))
    except OSError as error:
        return _failed(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    return 0


def _failed(reason: str) -> int:
    err.print(Text(f"recorder: {fence.line(reason)}"))
    return 1


def _reader_left() -> NoReturn:
    # Python would complain once more when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def plain(text: str) -> str:
    """Stored text as a terminal may show it: no control sequences, nothing invisible."""
    return fence.clean(text)


def when(at_ms: int | None) -> str:
    """Local date and time, to the minute."""
    if at_ms is None:
        return "-"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1000))


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    try:
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _reader_left()


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows for a person."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(str(cell))) for cell in row))
    out.print(table)
