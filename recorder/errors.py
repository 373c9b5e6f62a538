"""Everything recorder raises.

RecorderError
├── HookInputError       a hook input that is not a JSON object
├── TranscriptError      a transcript that is not one
├── ConfigError          a setting that cannot be used
├── BuildFailed          a model that could not be built
├── SettingsError        a file of Claude Code's that we will not touch
├── StoreError           the database cannot be used as it is
├── FileRefused          an export or a backup that is not taken in
├── GateRefused          the gate said no, with the reason
├── NotFound             no such thing in this scope
├── Conflict             the row changed since it was read
└── WorkerUnavailable    nobody answers on the worker's socket

RetryLater is control flow, not failure, and stands apart on purpose.
"""


class RecorderError(Exception):
    """The base of every error of ours; its text names the value, the place and the remedy."""


class HookInputError(RecorderError):
    """A hook input that is not a JSON object."""


class TranscriptError(RecorderError):
    """A file that cannot be read as a transcript."""


class ConfigError(RecorderError):
    """A setting that cannot be used."""


class BuildFailed(RecorderError):
    """A model that could not be built; those that are built stay."""


class SettingsError(RecorderError):
    """A settings file of Claude Code that is left untouched because it cannot be merged safely."""


class StoreError(RecorderError):
    """The database cannot be used as it is."""


class FileRefused(RecorderError):
    """An export or a backup that is not taken in: it is damaged, of another version, or no such thing."""


class GateRefused(RecorderError):
    """A write the gate did not allow. `reason` is a short word a caller can branch on."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class NotFound(RecorderError):
    """No such thing in the caller's scope; outside the scope answers the same."""


class Conflict(RecorderError):
    """The row changed since the caller read it."""


class WorkerUnavailable(RecorderError):
    """Nobody answers on the worker's socket, or not in time."""


class RetryLater(Exception):
    """Put the job back and try again after `after_ms`."""

    def __init__(self, after_ms: int) -> None:
        super().__init__(f"again in {after_ms} ms")
        self.after_ms = after_ms
