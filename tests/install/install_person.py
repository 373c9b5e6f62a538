"""A person with a HOME of their own, Claude Code's files in it, and a recorder to install."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recorder import install

ROOT = Path(__file__).resolve().parents[2]
NOW_MS = 1_790_000_000_000


@dataclass
class Person:
    root: Path

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.claude.mkdir(parents=True)
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}

    @property
    def claude(self) -> Path:
        return self.root / "home" / ".claude"

    @property
    def settings(self) -> Path:
        return self.claude / "settings.json"

    @property
    def claude_json(self) -> Path:
        return self.home / ".claude.json"

    @property
    def recorder(self) -> Path:
        return Path(self.environ.get("RECORDER_HOME") or self.home / ".recorder")

    def install(self, **options: Any) -> install.Report:
        options = {"interpreter": sys.executable, "source_root": ROOT, "now_ms": NOW_MS, **options}
        return install.install(self.environ, managed=self.root / "managed.json", **options)

    def uninstall(self, **options: Any) -> install.Report:
        return install.uninstall(self.environ, **options)

    def status(self, **options: Any) -> install.Status:
        options = {"interpreter": sys.executable, "source_root": ROOT, **options}
        return install.installed(self.environ, managed=self.root / "managed.json", **options)

    def hooks(self, path: Path | None = None) -> list[tuple[str, dict[str, Any]]]:
        """Every hook of a settings file with its event."""
        written = json.loads((path or self.settings).read_bytes().decode("utf-8-sig"))
        return [
            (event, hook)
            for event, groups in written.get("hooks", {}).items()
            for group in (groups if isinstance(groups, list) else [])
            for hook in (group.get("hooks", []) if isinstance(group, dict) else [])
        ]

    def ours(self, path: Path | None = None) -> list[tuple[str, dict[str, Any]]]:
        return [(event, hook) for event, hook in self.hooks(path) if str(self.recorder) in json.dumps(hook)]

    def everything(self) -> dict[str, bytes]:
        """Path → bytes of all files of this person."""
        files = [path for path in sorted(self.home.rglob("*")) if path.is_file()]
        return {str(path.relative_to(self.home)): path.read_bytes() for path in files}
