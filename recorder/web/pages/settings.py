"""What is on, where it is kept, and what leaves the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from recorder import config, doctor, install
from recorder.store import health, projects
from recorder.web.pages import frame

router = APIRouter()


@router.get("/settings")
def settings(request: Request) -> Response:
    """Every setting with its value and where it comes from; nothing is changed here."""
    with frame.opened(request) as page:
        paths = {
            "The store": page.config.db_path,
            "Hook inputs that wait": page.config.spool,
            "Briefs": page.config.brief_dir,
            "Models": page.config.models_dir,
            "Logs": page.config.logs_dir,
            "Backups": page.config.backups_dir,
            "Settings": page.config.home / "config.toml",
        }
        model = {
            "sections": {
                name: [
                    (field, value, value == info.get_default(call_default_factory=True))
                    for field, info in section.model_fields.items()
                    for value in [getattr(getattr(page.config, name), field)]
                ]
                for name, section in config.SECTIONS.items()
            },
            "paths": {name: (path, path.exists()) for name, path in paths.items()},
            "warnings": page.config.warnings,
            "on": _on(page.config, os.environ, page.now_ms, str(doctor.worker(page.config.home).get("model") or "")),
            "since": health.recording_since(page.db),
            "all_projects": projects.listing(page.db),
        }
        return page.show("settings.html", model)


def _on(settled: config.Config, environ: Mapping[str, str], now_ms: int, model: str) -> list[tuple[str, bool, str]]:
    """(what, whether it is on, what that means). `model`: what the worker says of the one it runs."""
    amiss = settled.embed.enabled and model.startswith("unavailable")
    paused = install.paused_until(settled.home)
    held = environ.get("RECORDER_OFF") == "1" or (paused is not None and paused > now_ms)
    parts: list[tuple[str, Any, str]] = [
        ("Capture", not held, "hooks write what happens into the spool"),
        ("Distil", settled.distil.enabled, "what you state outright in a prompt becomes a memory"),
        ("Brief", settled.brief.enabled, f"at most {settled.brief.max_tokens} tokens at the start of a session"),
        (
            "Vectors",
            settled.embed.enabled and not amiss,
            f"switched on, but {model}" if amiss else "a model on this machine, in a process of its own",
        ),
        ("Claude's memory files", settled.sync.enabled, "read one way, never written"),
        ("Daily backup", settled.backup.daily, f"{settled.backup.keep_daily} days, {settled.backup.keep_weekly} weeks"),
    ]
    return [(name, bool(on), says) for name, on, says in parts]
