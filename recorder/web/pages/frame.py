"""What every page stands in: the open store, the person's choice of project, and how an answer looks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import FormData

from recorder import gate
from recorder.config import Config
from recorder.errors import GateRefused
from recorder.gate import queue
from recorder.models import Memory, Scope
from recorder.store import browse, policy, projects
from recorder.store.db import Connection
from recorder.web import access, asking
from recorder.web.pages import shown

CHOICE = "project"
EVERY = "*"
HERE = Path(__file__).resolve().parent.parent
NAV = (
    ("/", "Live"),
    ("/sessions", "Sessions"),
    ("/memories", "Memories"),
    ("/review", "Review"),
    ("/timeline", "Timeline"),
    ("/charts", "Charts"),
    ("/lifecycle", "Export and backup"),
    ("/settings", "Settings"),
    ("/audit", "Audit"),
)
SAID: Mapping[str, str] = {
    "created": "Created.",
    "superseded": "Saved as a new version.",
    "labelled": "Saved as a new version: the words stay.",
    "corroborated": "It says so already; your word was added to what it stands on.",
    "unchanged": "Nothing to change: it stands like that already.",
    "approved": "Approved: it is verified now.",
    "rejected": "Rejected: its value is refused from now on.",
    "lifted": "Lifted: it may be said again.",
    "deleted": "Deleted: hidden from recall and brief. Restore brings it back.",
    "restored": "Restored.",
    "reverted": "The earlier version is in force again.",
    "pinned": "Pinned: first in the brief.",
    "unpinned": "No longer pinned.",
    "forgotten": "Forgotten: no byte of it is left in what is ours.",
    "pending": "Hidden from everybody; some bytes wait until another program lets go of the store.",
    "kept": "Decided: it is kept.",
    "finding": "Put before you in the review.",
    "linked": "Linked.",
    "unlinked": "The link is gone.",
    "given": "It belongs to the project from now on.",
    "synced": "Claude's own memory files were read.",
    "imported": "Imported.",
    "exported": "Exported.",
    "backed_up": "A backup was made and looked through.",
    "lingers": "Decided; but another memory says the same, and recall still tells it: search for it, decide that too.",
    "not_reached": "Decided, but recall does not say so yet: run `recorder reindex`, then look again.",
    "tried": "Tried again.",
}
"""What a page says after a change; an address names one of these, never a text."""

ALONE_CSS = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:18vh auto;"
    "padding:0 1.2rem;overflow-wrap:anywhere}h1{font-size:1.4rem}"
)
_environment = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
_environment.filters |= shown.FILTERS | {"out_of_time": policy.out_of_time}
_environment.globals |= {"difference": shown.difference}


@dataclass(frozen=True, slots=True)
class Frame:
    """One request of a person."""

    request: Request
    db: Connection
    config: Config
    caller: asking.Caller
    now_ms: int
    readonly: bool
    scope: Scope | None
    """What is looked at; None: every project."""

    def show(self, template: str, model: Mapping[str, Any], status: int = 200) -> Response:
        """The page."""
        path = self.request.url.path
        return _rendered(
            template,
            {
                "nav": [(href, name, path == href or (href != "/" and path.startswith(href))) for href, name in NAV],
                "projects": projects.listing(self.db),
                "chosen": self.scope.project_id if self.scope else None,
                "waiting": browse.waiting(self.db),
                "form_field": asking.FORM_FIELD,
                "form_token": self.caller.form,
                "readonly": self.readonly,
                "said": SAID.get(self.request.query_params.get("said", "")),
                "unsaid": self.request.query_params.get("said") in ("lingers", "not_reached"),
                "path": path,
                "here": path + (f"?{self.request.url.query}" if self.request.url.query else ""),
                "now_ms": self.now_ms,
                "query": "",
                **model,
            },
            status,
        )

    def given(self, name: str, most: int = 400) -> str:
        """What the address says under a name, without outer spaces."""
        return self.request.query_params.get(name, "")[:most].strip()

    def writer(self, scope: Scope) -> gate.Writer:
        """The person as who changes something in a scope."""
        return asking.writer(self.caller, scope, self.now_ms, self.config)

    def writer_of(self, memory: Memory) -> gate.Writer:
        """The person as who changes a memory, where it belongs."""
        return self.writer(queue.home_of(memory))

    def project_name(self, project_id: str | None) -> str:
        """What a project is called; its id where it is not known."""
        found = projects.get(self.db, project_id) if project_id else None
        return found.name if found else project_id or ""


@contextmanager
def opened(request: Request) -> Iterator[Frame]:
    """The frame of a request, while the store is open.

    Raises: GateRefused for who is no person.
    """
    here, caller = asking.here(request), asking.caller_of(request)
    if not caller.is_person:
        raise GateRefused("person", "the pages are for a person: `recorder up` prints a link that lets a browser in")
    with asking.opened(here.config) as db:
        scope = _chosen(db, request.cookies.get(access.cookie_name(here.config.home, CHOICE)))
        yield Frame(request, db, here.config, caller, here.clock_ms(), here.readonly, scope)


def _chosen(db: Connection, cookie: str | None) -> Scope | None:
    if cookie == EVERY:
        return None
    known = projects.get(db, cookie) if cookie else None
    latest = known.id if known else browse.latest_project(db)
    return Scope(latest) if latest else None


async def form_of(request: Request) -> AsyncIterator[FormData]:
    """What a page of the person's sent, as a dependency; its files are closed behind it.

    Raises: GateRefused.
    """
    await asking.form_checked(request)
    form = await request.form()
    yield form
    await form.close()


Form = Depends(form_of)


def text(form: FormData, name: str) -> str:
    """A field of a form; browsers send line ends as CR LF."""
    found = form.get(name)
    return found.replace("\r\n", "\n") if isinstance(found, str) else ""


def back(address: str, said: str = "", **more: str) -> Response:
    """Go on with a page, after a change."""
    query = urlencode({name: value for name, value in {"said": said, **more}.items() if value})
    path, mark, anchor = address.partition("#")
    joint = "&" if "?" in path else "?"
    return RedirectResponse(f"{path}{joint + query if query else ''}{mark}{anchor}", status_code=303)


def own_path(given: str) -> str:
    """An address of ours, or the first page: no form leads elsewhere."""
    plain = given.startswith("/") and not given.startswith(("//", "/\\")) and given.isprintable()
    return given if plain and "\\" not in given else "/"


def entered(request: Request) -> Response:
    """The page that leads on by itself, for who came in from a page of another site."""
    return _alone("entered.html", {}, 200)


def trouble(request: Request, status: int, code: str, message: str) -> Response:
    """The page that says what went wrong."""
    return _alone("failed.html", {"status": status, "message": message}, status)


def _alone(template: str, model: Mapping[str, Any], status: int) -> Response:
    """A page for somebody who may not be let in yet: its few rules of style stand in it; nothing else is allowed."""
    page = _rendered(template, {"style": Markup(ALONE_CSS), **model}, status)
    named = b64encode(sha256(ALONE_CSS.encode()).digest()).decode()
    page.headers["content-security-policy"] = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{named}'; form-action 'none'; base-uri 'none';"
        " frame-ancestors 'none'"
    )
    return page


def _rendered(template: str, model: Mapping[str, Any], status: int) -> Response:
    page = _environment.get_template(template).render(model)
    return HTMLResponse(page.encode("utf-8", "replace"), status)
