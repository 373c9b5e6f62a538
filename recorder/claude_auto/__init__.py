"""Claude's own memory files into memories, one way."""

from recorder.claude_auto.compare import sync
from recorder.claude_auto.folders import Folder, memory_folders
from recorder.claude_auto.owner import slug
from recorder.claude_auto.report import Report, undecided

__all__ = ["Folder", "Report", "memory_folders", "slug", "sync", "undecided"]
