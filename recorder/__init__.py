"""A passive capture recorder for Claude Code."""

__version__ = "0.1.0"
