"""The command that takes Claude's own memory files in."""

from __future__ import annotations

from rich.text import Text

from recorder import claude_auto, redaction
from recorder.cli.frame import Json, app, desk, err, many, only_a_person, out, print_json
from recorder.errors import RecorderError
from recorder.recall import fence


@app.command()
def sync(as_json: Json = False) -> None:
    """Take Claude's own memory files in now; the worker does by itself as they change."""
    only_a_person("syncs the memory of every project")
    with desk() as here:
        report = claude_auto.sync(here.db, here.config, here.now_ms, redaction.by_worker(here.config.home))
    if report is None:
        raise RecorderError("another sync of this home did not end within a minute: try again")
    if as_json:
        print_json(report.as_json())
        return
    for problem in report.problems:
        err.print(Text(f"warning: {fence.line(problem)}"))
    for path, lines in report.beyond_files.items():
        beyond = f"{many(lines, 'line')} {'is' if lines == 1 else 'are'} beyond what Claude loads"
        err.print(Text(f"warning: {fence.line(path)}: {beyond}; recall has {'it' if lines == 1 else 'them'}"))
    for note in claude_auto.undecided(report.undecided):
        err.print(Text(f"note: {note}"))
    if report.paused:
        wait = "waits" if report.paused == 1 else "wait"
        err.print(Text(f"note: {many(report.paused, 'file')} {wait} until recording goes on: `recorder resume`"))
    out.print(
        f"{many(report.files, 'file')}: {many(report.created, 'memory', 'memories')} created,"
        f" {report.changed} changed, {report.unchanged} unchanged, {report.pruned} pruned, {report.restored} restored,"
        f" {many(report.findings, 'finding')}, {report.refused} refused"
    )
