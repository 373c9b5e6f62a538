"""Who asks over HTTP, what they may do, and the store as they see it."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from fastapi import Request

from recorder import gate, redaction
from recorder.config import Config
from recorder.errors import GateRefused, NotFound
from recorder.models import Channel, Scope
from recorder.store import projects, tokens
from recorder.store.db import Connection, connect
from recorder.store.tokens import Rights
from recorder.web import access
from recorder.web.tokens import digest

FORM_FIELD = "form_token"
FORM_HEADER = "x-recorder-form"


class Kind(StrEnum):
    """How somebody came in."""

    PERSON = "person"
    """A browser that came in through a link."""
    TOKEN = "token"


ORDER = tuple(Rights)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    kind: Kind
    rights: Rights
    actor: str
    """`dashboard:<session>` or `api:<fingerprint>`: what history and audit call it."""
    project_id: str | None = None
    """The project a token was minted for."""
    everywhere: bool = False
    """Whether it may name any project: a person, and whoever holds the home's own token."""
    form: str = ""
    """What the forms of a person's pages carry."""

    @property
    def is_person(self) -> bool:
        return self.kind is Kind.PERSON

    def may(self, rights: Rights) -> bool:
        return ORDER.index(self.rights) >= ORDER.index(rights)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every route works with; it stands in `app.state.here`."""

    config: Config
    clock_ms: Callable[[], int]
    readonly: bool = False


def here(request: Request) -> Surroundings:
    """The surroundings of the service, as a dependency."""
    found: Surroundings = request.app.state.here
    return found


def caller_of(request: Request) -> Caller:
    """Who asks, as a dependency: the guard has let nobody through without saying who it is."""
    found: Caller = request.state.caller
    return found


@contextmanager
def opened(config: Config) -> Iterator[Connection]:
    """The store, for one request: a connection belongs to one thread."""
    db = connect(config.db_path)
    try:
        yield db
    finally:
        db.close()


def holder(config: Config, token: str) -> Caller | None:
    """Who holds a token; None for one that opens nothing."""
    if access.is_homes(config.home, token):
        return Caller(Kind.TOKEN, Rights.ADMIN, "api:home", everywhere=True)
    with opened(config) as db:
        # The digest is looked up, not compared: how long that takes tells nothing about the token.
        found = tokens.find(db, digest(token))
    if found is None:
        return None
    return Caller(Kind.TOKEN, Rights(found.rights), f"api:{found.fingerprint}", found.project_id)


def scope_of(db: Connection, caller: Caller, project: str | None = None) -> Scope:
    """What the caller sees: the person's own namespace, and the project it was let in for or names.

    Raises: NotFound for a project that is not there or not the caller's, in the same words.
    """
    if project is None or project == caller.project_id:
        return Scope(caller.project_id)
    known = projects.get(db, project) if caller.everywhere else None
    if known is None:
        raise NotFound(f"there is no project {project[:80]!r} here")
    return Scope(known.id)


def writer(caller: Caller, scope: Scope, now_ms: int, config: Config) -> gate.Writer:
    """Who changes something in the scope; secrets are taken out by the worker where one lives."""
    channel = Channel.PERSON if caller.is_person else Channel.API
    return gate.Writer(channel, caller.actor, scope, now_ms, redact=redaction.by_worker(config.home))


async def form_checked(request: Request) -> None:
    """Let no form pass that another page may have sent, as a dependency of every page.

    Raises: GateRefused.
    """
    if request.method in ("GET", "HEAD"):
        return
    caller = caller_of(request)
    given = (await request.form()).get(FORM_FIELD)
    check_form(request, caller, given if isinstance(given, str) else "")


def check_form(request: Request, caller: Caller, given: str) -> None:
    """Let a person's change pass only where a page of theirs sent it.

    Raises: GateRefused.
    """
    if not access.from_own_page(request.headers) or not hmac.compare_digest(given.encode(), caller.form.encode()):
        raise GateRefused("form", "this form is not of a page that is open now: load the page again")
