"""One hook input: fd 0, byte for byte, into one file of the spool; for where there is no POSIX shell.

capture.py [wake]      the rules of capture.sh, held together by tests/hooks/test_capture.py
"""

import os
import sys

CHUNK_BYTES = 1 << 20
START_BYTES = 4096
TRIES = 9
BINARY = getattr(os, "O_BINARY", 0)
CAPTURES = ("", "0")
"""Values of RECORDER_OFF that mean: not off."""


def home_of(environ: "os._Environ[str]") -> str | None:
    """The home: as named, else the one this copy stands in, else `~/.recorder`; None when there is no absolute one."""
    named = environ.get("RECORDER_HOME")
    if named:
        return named if os.path.isabs(named) else None
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.exists(os.path.join(own, "wake")):
        return own
    user = environ.get("HOME") or environ.get("USERPROFILE")
    return os.path.join(user, ".recorder") if user and os.path.isabs(user) else None


def session_of(session: str) -> str:
    """The session's id, or `none` when it is not a plain one."""
    plain = session.isascii() and session.replace("-", "").isalnum() and len(session) <= 64
    return session if plain else "none"


def session_in(start: bytes) -> str:
    """The session's id as the start of a hook input has it: the first field of what Claude Code 2.1 writes."""
    _, _, after = start.decode("ascii", "replace").replace('": "', '":"').partition('"session_id":"')
    return session_of(after.partition('"')[0])


def leave_out(home: str, session: str) -> None:
    """A marker, so that a later reading of the transcript leaves the session out."""
    if session == "none":  # a client that does not name the session in the environment
        session = session_in(os.read(0, START_BYTES))
    if session != "none":
        os.makedirs(os.path.join(home, "off"), 0o700, exist_ok=True)
        os.close(os.open(os.path.join(home, "off", session), os.O_WRONLY | os.O_CREAT, 0o600))


def claim(spool: str, session: str) -> tuple[int, str]:
    """A new empty file in `tmp/`, open for writing, and its name, which `new/` does not have either.

    Raises: OSError when no file can be made.
    """
    for attempt in range(TRIES):
        name = f"{session}-{os.getpid()}-{os.urandom(16).hex()}.json"
        if os.path.exists(os.path.join(spool, "new", name)):
            continue
        try:
            path = os.path.join(spool, "tmp", name)
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600), name
        except FileExistsError:
            if attempt == TRIES - 1:
                raise
    raise FileExistsError(spool)


def prepare(spool: str) -> None:
    """The folders, and the count of inputs that could not be written: a newline, then a dot each."""
    for folder in ("tmp", "new"):
        os.makedirs(os.path.join(spool, folder), 0o700, exist_ok=True)
    lost = os.path.join(spool, "lost")
    if not os.path.exists(lost) or not os.path.getsize(lost):
        append(lost, b"\n")


def append(path: str, text: bytes) -> None:
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
    try:
        os.write(target, text)
    finally:
        os.close(target)


def paused(home: str, probe: int) -> bool:
    """Does the pause end (the mtime of `paused`) after our empty file was made?"""
    try:
        return os.stat(os.path.join(home, "paused")).st_mtime_ns > os.fstat(probe).st_mtime_ns
    except FileNotFoundError:
        return False


def copy(target: int) -> None:
    """All of fd 0 into the file."""
    while chunk := os.read(0, CHUNK_BYTES):
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(target, rest) :]


def publish(spool: str, name: str) -> None:
    """Move the file from `tmp/` to `new/`, never over an existing name."""
    source, target = os.path.join(spool, "tmp", name), os.path.join(spool, "new", name)
    if os.name == "nt":
        os.rename(source, target)  # refuses an existing name there
        return
    try:
        os.link(source, target)
    except FileExistsError:
        return  # what stays in tmp/ is whole, and the worker takes it in a minute later
    except OSError:  # a file system without links
        if not os.path.exists(target):
            os.rename(source, target)
    else:
        os.unlink(source)


def wake(home: str) -> None:
    """Start the worker's waker, holding none of our three files."""
    waker = os.path.join(home, "wake")
    if os.name == "posix" and os.access(waker, os.X_OK):
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        os.posix_spawn(waker, [waker], os.environ, file_actions=null)


def capture(home: str, session: str) -> bool:
    """Spool fd 0. False when a pause is on."""
    spool = os.path.join(home, "spool")
    name = ""
    try:
        prepare(spool)
        target, name = claim(spool, session)
        try:
            on_pause = paused(home, target)
            if not on_pause:
                copy(target)
        finally:
            os.close(target)
    except OSError:
        if name:  # torn; on a full disk its removal frees the byte we count with
            os.unlink(os.path.join(spool, "tmp", name))
        append(os.path.join(spool, "lost"), b".")
        raise
    if on_pause:
        os.unlink(os.path.join(spool, "tmp", name))
        return False
    publish(spool, name)
    return True


def drain() -> None:
    """Read fd 0 to its end: a client writing into a closed socket may call that an error."""
    while os.read(0, CHUNK_BYTES):
        pass


def main() -> None:
    os.umask(0o077)
    home = home_of(os.environ)
    session = session_of(os.environ.get("CLAUDE_CODE_SESSION_ID", ""))
    if home is not None and os.environ.get("RECORDER_OFF", "") not in CAPTURES:
        leave_out(home, session)
    elif home is not None and capture(home, session) and sys.argv[1:2] == ["wake"]:
        wake(home)
    drain()


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # the border: a hook never disturbs a session
        try:
            drain()
        except BaseException:  # fd 0 is closed
            os._exit(0)
    os._exit(0)  # nothing to flush, and the interpreter's own farewell would cost a millisecond
