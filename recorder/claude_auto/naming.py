"""What a path is called in the store, where it may hold a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from recorder import gate
from recorder.claude_auto.folders import Folder, shown
from recorder.store import claude_files

AT_ONCE = 60
"""Texts in one request: the worker takes 64."""


@dataclass(slots=True)
class Names:
    """Names for one sync; remembers the paths it has looked at."""

    redact: gate.Redact
    seen: dict[str, str] = field(default_factory=dict)

    def clean(self, path: str) -> str:
        """The path as a database and a terminal can hold it, without secrets."""
        if path not in self.seen:
            raw = shown(path)
            # A rule may want its secret to stand alone, as it does in a name.
            parts = raw.removesuffix(".md").split("/")
            whole, *found = self.texts([raw, *parts])
            if found != parts:
                (whole,) = self.texts(["/".join(found) + ".md" * raw.endswith(".md")])
            self.seen[path] = whole
        return self.seen[path]

    def kept(self, path: str, known: Container[str]) -> str:
        """What the path is known by in the store: itself, or its digest where it holds a secret or was forgotten."""
        raw = shown(path)
        digest = claude_files.digest(raw)
        if raw in known or digest in known:
            return raw if raw in known else digest
        return raw if self.clean(path) == raw else digest

    def namespace(self, folder: Folder) -> str:
        """Where the memories of the folder go."""
        name = self.clean(folder.slug)
        apart = "" if name == shown(folder.slug) else f"-{_short(folder.slug)}"
        return f"claude.{re.sub(r'[^A-Za-z0-9-]', '-', name)}{apart}"

    def own_namespace(self, folder: Folder) -> str:
        """For what another folder of the same name holds already."""
        return f"{self.namespace(folder)}.{_short(folder.path)}"

    def texts(self, texts: Sequence[str]) -> list[str]:
        """The texts without secrets."""
        starts = range(0, len(texts), AT_ONCE)
        return [clean for at in starts for clean in self.redact(texts[at : at + AT_ONCE])]


def _short(path: str) -> str:
    return sha256(os.fsencode(path)).hexdigest()[:8]
