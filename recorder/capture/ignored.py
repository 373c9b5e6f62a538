"""Paths whose content is never taken in."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from recorder.capture import commands, listings

PATH_KEYS = frozenset(
    "file_path notebook_path path filePath filename notebookPath uri absolute_path relative_path filepath".split()
)
# Inputs that are text and name no file to read, whatever they look like.
_TEXT_KEYS = frozenset("command description prompt content old_string new_string query text url output_mode".split())
_LONGEST_PATH = 1024

IGNORED = listings.IGNORED


class IgnoredPaths:
    """The patterns of the settings, ready to be asked."""

    def __init__(self, patterns: Sequence[str]) -> None:
        lowered = [pattern.strip().lower().rstrip("/") for pattern in patterns if pattern.strip()]
        self._hint = _hint(lowered)
        self._names = _union([p for p in lowered if "/" not in p])
        self._paths = _union([p if p.startswith(("/", "*")) else f"*/{p}" for p in lowered if "/" in p])
        # One name of each pattern, for a glob to be held against.
        self._examples = [re.sub(r"\[[^\]]*\]|[*?]", "x", p.rsplit("/", 1)[-1]) for p in lowered]

    def hinted(self, text: str) -> bool:
        """Could this text name such a file? A quick look that answers yes too often."""
        return self._hint is not None and self._hint.search(text.lower()) is not None

    def match(self, path: str) -> bool:
        """Is this a file, or inside a folder, whose content is to be left out? Case does not count."""
        if "://" in path or "%" in path:
            path = unquote(re.sub(r"(?<=[^/])[?#].*", "", path))
        if not self.hinted(path):
            return False
        text = path.replace("\\", "/").strip().rstrip("/").lower()
        if self._names is not None and self._names.match(text.rsplit("/", 1)[-1]):
            return True
        if self._paths is None:
            return False
        whole = text if text.startswith("/") else "/" + text
        parts = whole.split("/")
        return any(self._paths.match("/".join(parts[:n])) for n in range(2, min(len(parts), 64) + 1))

    def match_glob(self, word: str) -> bool:
        """Does this shell pattern reach such a file? One of hardly more than stars is not counted: it reaches all."""
        name = word.rsplit("/", 1)[-1].lower()
        if len(re.findall(r"[a-z0-9._\-]", name)) < 2 or re.search(r"[\\^$+|()]|\.\*.|\*\*", name):
            return False
        return any(fnmatch.fnmatchcase(example, name) for example in self._examples)

    def names(self, mapping: Mapping[Any, Any]) -> bool:
        """Does one of the object's own path fields name such a file?"""
        return any(isinstance(mapping.get(key), str) and self.match(mapping[key]) for key in PATH_KEYS & mapping.keys())

    def read_by(self, given: Mapping[str, Any]) -> bool:
        """Does any value of a tool's input, alone or in a list, name such a file?"""
        for key, value in given.items():
            if key in _TEXT_KEYS:
                continue
            if key == "pattern" or (key == "glob" and given.get("output_mode") != "content"):
                continue
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, Mapping) and self.names(item):
                    return True
                if isinstance(item, str) and len(item) <= _LONGEST_PATH and "\n" not in item and self._reaches(item):
                    return True
        return False

    def _reaches(self, word: str) -> bool:
        word = word.lstrip("@")
        return self.match(word) or ("*" in word or "?" in word or "[" in word) and self.match_glob(word)

    def shown_by(self, command: str) -> bool:
        """Would this command line print the content of such a file?"""
        if not (self.hinted(command) or "*" in command or "?" in command or "[" in command or "dotenv" in command):
            return False
        return commands.shows(command, self._reaches, loads_env=self.match(".env"))

    def without_written(self, command: str) -> str:
        """The command line without what it writes into such a file: here-documents, quoted words, assigned values."""
        if not (">" in command or "tee" in command) or not self.hinted(command):
            return command
        return commands.without_written(command, self.match)

    def without_found(self, text: str) -> str:
        """A search's output without the lines found in such files; their names stay."""
        return listings.without_found(text, self.match) if self.hinted(text) else text

    def without_sections(self, text: str) -> str:
        """Output of several files without the parts of such files: of a diff, and of `head` or `tail`."""
        return listings.without_sections(text, self.match) if self.hinted(text) else text


def _union(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(fnmatch.translate(p) for p in patterns), re.DOTALL) if patterns else None


def _hint(patterns: Sequence[str]) -> re.Pattern[str] | None:
    """The longest plain run of each pattern, any of them."""
    runs = {max(re.split(r"[*?\[\]]|\\", pattern), key=len) for pattern in patterns}
    shortest = [run for run in runs if not any(other in run and other != run for other in runs)]
    return re.compile("|".join(re.escape(run) for run in sorted(shortest))) if patterns else None
