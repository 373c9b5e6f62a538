"""Our entries in Claude Code's settings: in, out, and what stands there."""

from recorder.install.command import link
from recorder.install.home import open_ended, pause, paused_until, resume
from recorder.install.places import claude_found, config_dirs
from recorder.install.removal import uninstall
from recorder.install.report import Change, Report
from recorder.install.status import Place, Status, installed
from recorder.install.steps import install

__all__ = [
    "Change",
    "Place",
    "Report",
    "Status",
    "claude_found",
    "config_dirs",
    "install",
    "installed",
    "link",
    "open_ended",
    "pause",
    "paused_until",
    "resume",
    "uninstall",
]
