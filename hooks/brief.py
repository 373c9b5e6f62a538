"""SessionStart: prints the prepared brief of the project, and spools one record of what it printed.

Plain text, not JSON: of plain text the client keeps one record in the transcript, of JSON two, with the text in both
(seen in 2.1.197).
"""

import json
import os
import sys
import time

LONGEST = 9_000
"""Characters. The client moves more than 10,000 into a file and shows a preview."""
LONGEST_LINE = 300
CAPTURES = ("", "0")
"""Values of RECORDER_OFF that mean: not off."""
SHOWN_ALREADY = ("resume", "fork")
"""Sources that go on with a context which has the brief. `clear` and `compact` emptied it; an unknown source prints."""


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


def quiet(home: str, environ: "os._Environ[str]", now_s: float) -> bool:
    """Is the recorder off for this session, or paused?"""
    if environ.get("RECORDER_OFF", "") not in CAPTURES:
        return True
    try:
        return os.stat(os.path.join(home, "paused")).st_mtime > now_s
    except FileNotFoundError:
        return False


def project_of(cwd: str, roots: dict[str, dict[str, object]]) -> dict[str, object] | None:
    """The entry of the longest root that holds the path, by whole segments; None where there is none."""
    path = os.path.realpath(cwd)
    while path not in roots:
        above = os.path.dirname(path)
        if above == path:
            return None
        path = above
    return roots[path]


def shortened(text: str) -> str:
    """The text within LONGEST: whole lines from the top, and the last line, which closes the fence."""
    if len(text) <= LONGEST:
        return text
    lines = text.rstrip("\n").split("\n")
    kept, room = [], LONGEST - len(lines[-1]) - 1
    for line in lines[:-1]:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, lines[-1]]) + "\n" if kept else ""


def prepared(home: str, cwd: str) -> tuple[str, str]:
    """The project's id and the text to show, both empty where nothing is to be said."""
    folder = os.path.join(home, "brief")
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as source:
        index = json.load(source)
    entry = project_of(cwd, index["roots"])
    if entry is None or not index.get("enabled", True) or not entry.get("brief", True):
        return "", ""
    project = str(entry["project"])
    if os.path.basename(project) != project:
        return "", ""
    try:
        with open(os.path.join(folder, project + ".txt"), encoding="utf-8") as source:
            text = shortened(source.read())
    except FileNotFoundError:
        text = ""
    line = index.get("line")
    if isinstance(line, str) and line.strip():
        text = " ".join(line.split())[:LONGEST_LINE] + "\n" + text
    return project, "" if text.lstrip().startswith("{") else text  # the client would read that as orders to itself


def spool(home: str, record: dict[str, object]) -> None:
    """One file in `new/`, whole or not at all."""
    name = f"brief-{os.getpid()}-{os.urandom(16).hex()}.json"
    made, target = (os.path.join(home, "spool", folder, name) for folder in ("tmp", "new"))
    for path in (made, target):
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    with open(made, "x", encoding="utf-8") as sink:
        json.dump(record, sink)
    os.rename(made, target)  # 128 random bits: nobody else has the name


def main() -> None:
    os.umask(0o077)
    start = json.loads(sys.stdin.buffer.read())
    home = home_of(os.environ)
    now_s = time.time()
    if home is None or quiet(home, os.environ, now_s):
        return
    project, text = prepared(home, start["cwd"])
    if not text.strip():
        return
    source = start.get("source")
    skipped = f"{source}: the context has it" if source in SHOWN_ALREADY else None
    record = {
        "hook_event_name": "RecorderInjection",
        "session_id": start["session_id"],
        "cwd": start["cwd"],
        "source": source,
        "project_id": project,
        "text": "" if skipped else text,
        "skipped": skipped,
        "received_ms": int(now_s * 1000),
    }
    spool(home, record)  # first: nothing is shown that is not recorded
    if not skipped:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main()
    except BaseException:  # the border: a hook never disturbs a session
        pass
    os._exit(0)
