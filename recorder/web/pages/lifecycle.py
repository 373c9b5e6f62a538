"""The store as a whole: exports, imports shown before they are taken in, and backups."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile

from recorder.canonical import canonical
from recorder.errors import FileRefused
from recorder.lifecycle import backup as backups
from recorder.lifecycle import export as exports
from recorder.lifecycle import imports, shape
from recorder.lifecycle.shape import Read
from recorder.models import Scope, State, Trust
from recorder.store import copies, memories, projects
from recorder.store.db import Connection
from recorder.web.pages import frame
from recorder.web.pages.frame import Form, Frame, text

router = APIRouter()
ROWS_SHOWN = 200
UPLOADS_KEPT = 2


@dataclass(frozen=True, slots=True)
class Change:
    """What the file says at one address, against what stands there. `what`: new, same, differs, hidden."""

    what: str
    address: str
    stands: str
    says: str


@router.get("/lifecycle")
def lifecycle(request: Request) -> Response:
    """What was put where."""
    with frame.opened(request) as page:
        return page.show("lifecycle.html", _model(page))


def _model(page: Frame) -> dict[str, Any]:
    return {
        "backups": backups.listing(page.config.backups_dir)[::-1][:30],
        "folder": page.config.backups_dir,
        "exports": copies.noted(page.db, "export")[::-1][:30],
        "size": copies.size_bytes(page.db),
        "summary": None,
    }


@router.post("/lifecycle/backup")
def back_up(request: Request, form: FormData = Form) -> Response:
    """Copy the store, and look the copy through."""
    with frame.opened(request) as page:
        backups.make(page.db, page.config.backups_dir, made_by="person", now_ms=page.now_ms)
        return frame.back("/lifecycle", "backed_up")


@router.post("/lifecycle/export")
def export(request: Request, form: FormData = Form) -> Response:
    """An export of the chosen project or of everything, as a download; no copy of it stays here."""
    with frame.opened(request) as page:
        project_id = text(form, "project") or None
        if project_id is not None and projects.get(page.db, project_id) is None:
            raise FileRefused(f"there is no project {project_id[:80]!r}")
        _, content = exports.sealed(page.db, project_id=project_id, now_ms=page.now_ms)
        name = f"recorder-{project_id or 'all'}.json"
        return Response(
            content, media_type="application/json", headers={"Content-Disposition": f'attachment; filename="{name}"'}
        )


@router.post("/lifecycle/import")
def look(request: Request, form: FormData = Form) -> Response:
    """What the file would change; nothing is taken in yet."""
    with frame.opened(request) as page:
        given = form.get("file")
        if not isinstance(given, UploadFile) or not given.filename:
            raise FileRefused("choose a file that `recorder export` wrote")
        raw = given.file.read(shape.LIMIT_BYTES + 1)
        found = shape.read(raw, given.filename[:80])
        name = sha256(raw).hexdigest()
        waiting = _uploads(request)
        waiting[name] = raw
        while len(waiting) > UPLOADS_KEPT:
            waiting.popitem(last=False)
        changes = differences(page.db, found)
        counts = {what: sum(one.what == what for one in changes) for what in ("new", "differs", "same", "hidden")}
        shown = [one for one in changes if one.what != "same"][:ROWS_SHOWN]
        own = found.intact and exports.is_ours(page.db, found.canonical, found.seal.signature)
        model = {"name": name, "file": given.filename[:80], "changes": shown, "counts": counts, "own": own}
        return page.show("import.html", model)


@router.post("/lifecycle/import/take")
def take(request: Request, form: FormData = Form) -> Response:
    """Take in the file that was looked at."""
    with frame.opened(request) as page:
        raw = _uploads(request).pop(text(form, "name"), None)
        if raw is None:
            raise FileRefused("the file is no longer at hand: choose it again")
        summary = imports.take(
            page.db,
            shape.read(raw, "the file"),
            skip=text(form, "mode") == "skip",
            actor=page.caller.actor,
            now_ms=page.now_ms,
            redact=page.writer(Scope(None)).redact,
        )
        return page.show("lifecycle.html", _model(page) | {"summary": summary})


def differences(db: Connection, found: Read) -> list[Change]:
    """Address by address, what the file says and what stands. Of projects that are called otherwise here, as new."""
    changes = []
    for entry in found.content.memories:
        says = entry.in_force.value
        current = memories.find(db, entry.namespace, entry.key)
        if entry.state is not State.ACTIVE or entry.in_force.trust is Trust.REJECTED:
            what = "hidden"
        elif current is None:
            what = "new"
        elif canonical(current.value) == canonical(says) and not current.deleted:
            what = "same"
        else:
            what = "differs"
        changes.append(Change(what, f"{entry.namespace}/{entry.key}", current.value if current else "", says))
    return changes


def _uploads(request: Request) -> OrderedDict[str, bytes]:
    """Files that were looked at and not yet taken in; in memory alone, so that what is forgotten is not left in one."""
    if not hasattr(request.app.state, "uploads"):
        request.app.state.uploads = OrderedDict()
    kept: OrderedDict[str, bytes] = request.app.state.uploads
    return kept
