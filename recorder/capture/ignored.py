"""Paths whose content is never taken in."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any

PATH_KEYS = frozenset({"file_path", "notebook_path", "path", "filePath", "filename", "notebookPath"})

# Commands that only name a file. Whatever stands in neither list is taken to show the content.
_NAMING = frozenset(
    "ls rm cp mv chmod chown touch test [ [[ stat mkdir rmdir ln find fd which du file echo printf cd pwd realpath "
    "basename dirname docker docker-compose podman npm npx yarn pnpm uv pip ssh scp rsync ssh-add ssh-keygen "
    "shred".split()
)
_GIT_SHOWING = frozenset("show diff log blame grep cat-file stash".split())
_CUT = re.compile(r"[;\n]|\|\|?|&&?|\$\(|`")
_WORD = re.compile(r"[^\s<>\"'=(){}:,]+")
_PREFIX = re.compile(r"^\s*(?:(?:sudo|time|command|exec|then|do|else|if|while|env|!)\s+|[A-Za-z_]\w*=\S*\s+)*")
_SEARCHING = re.compile(r"\b(?:grep|egrep|rg|ag|ack)\b")
_FOUND_LINE = re.compile(r"^(?P<path>[^\s:][^:\n]{0,400}?)(?P<sep>[:\-]\d+[:\-]|:)(?P<rest>.+)$", re.MULTILINE)
_HEREDOC = re.compile(r"(<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n).*?(\n\s*\2\b|\Z)", re.DOTALL)
_QUOTED = re.compile(r"(?<!<<)(?<!<<-)\"[^\"]*\"|(?<!<<)(?<!<<-)'[^']*'")
_ASSIGNED = re.compile(r"(?<=[A-Za-z0-9_]=)[^\s\"'>]+")

IGNORED = "[ignored path]"


class IgnoredPaths:
    """The patterns of the settings, ready to be asked."""

    def __init__(self, patterns: Sequence[str]) -> None:
        lowered = [pattern.strip().lower().rstrip("/") for pattern in patterns if pattern.strip()]
        self._hint = _hint(lowered)
        self._names = _union([p for p in lowered if "/" not in p])
        self._paths = _union([p if p.startswith(("/", "*")) else f"*/{p}" for p in lowered if "/" in p])

    def hinted(self, text: str) -> bool:
        """Could this text name such a file? A quick look that answers yes too often."""
        return self._hint is not None and self._hint.search(text.lower()) is not None

    def match(self, path: str) -> bool:
        """Is this a file, or inside a folder, whose content is to be left out? Case does not count."""
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

    def names(self, mapping: Mapping[Any, Any]) -> bool:
        """Does one of the object's own path fields name such a file?"""
        return any(isinstance(mapping.get(key), str) and self.match(mapping[key]) for key in PATH_KEYS & mapping.keys())

    def shown_by(self, command: str) -> bool:
        """Would this command line print the content of such a file?"""
        return any(self._part_shows(part) for part in _CUT.split(command))

    def _part_shows(self, part: str) -> bool:
        words = _WORD.findall(_PREFIX.sub("", part))
        named = [word for word in words[1:] if self.match(word)]
        if words and self.match(words[0]):
            return True
        if not named:
            return False
        first = words[0].rsplit("/", 1)[-1]
        if first == "git":
            return bool(_GIT_SHOWING & set(words[1:3]))
        return first not in _NAMING

    def without_written(self, command: str) -> str:
        """The command line without what it writes into such a file: here-documents, quoted words, assigned values."""
        targets = re.findall(r"(?:>>?|\btee\b(?:\s+-a)?)\s*[\"']?([^\s\"'|;&<>]+)", command)
        if not any(self.match(target) for target in targets):
            return command
        command = _HEREDOC.sub(lambda found: f"{found[1]}{IGNORED}{found[3]}", command)
        command = _QUOTED.sub(lambda found: found[0] if self.match(found[0].strip("\"'")) else IGNORED, command)
        return _ASSIGNED.sub(IGNORED, command)

    def without_found(self, text: str) -> str:
        """A search's output without the lines found in such files; their names stay."""

        def line(found: re.Match[str]) -> str:
            return f"{found['path']}{found['sep']}{IGNORED}" if self.match(found["path"]) else found[0]

        return _FOUND_LINE.sub(line, text)


def searches(tool: str | None, given: Mapping[str, Any]) -> bool:
    """Does this tool call print lines found in several files?"""
    if tool == "Grep":
        return given.get("output_mode") == "content"
    command = given.get("command")
    return tool == "Bash" and isinstance(command, str) and _SEARCHING.search(command) is not None


def _union(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(fnmatch.translate(p) for p in patterns), re.DOTALL) if patterns else None


def _hint(patterns: Sequence[str]) -> re.Pattern[str] | None:
    """The longest plain run of each pattern, any of them."""
    runs = {max(re.split(r"[*?\[\]]|\\", pattern), key=len) for pattern in patterns}
    shortest = [run for run in runs if not any(other in run and other != run for other in runs)]
    return re.compile("|".join(re.escape(run) for run in sorted(shortest))) if patterns else None
