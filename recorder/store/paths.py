"""A file as texts spell it."""

from __future__ import annotations

from collections.abc import Iterator


def names(text: str, cwd: str | None, file: str) -> bool:
    """Whether a text, written in the folder `cwd`, names the file or something below it: by whole parts of the path,
    so that `app.py` stands in `src/app.py` and neither in `app.pyc` nor in `myapp.py`."""
    return any(_stands(text, spelled) for spelled in _spellings(file, cwd))


def tidy(file: str) -> str:
    """The file as somebody names it, without what changes nothing: `./src/` is `src`."""
    file = file.strip()
    while file.startswith("./"):
        file = file[2:].lstrip("/")
    return file.rstrip("/") or file[:1]


def last_part(file: str) -> str:
    """What every spelling of the file holds."""
    return file.rpartition("/")[2]


def _spellings(file: str, cwd: str | None) -> Iterator[str]:
    yield file
    here = (cwd or "").rstrip("/")
    if not here:
        return
    if file.startswith(here + "/"):
        yield file[len(here) + 1 :]
    head, slash, tail = file.partition("/")
    while slash and not file.startswith("/"):
        if here.endswith("/" + head):
            yield tail
        more, slash, tail = tail.partition("/")
        head = f"{head}/{more}"


def _stands(text: str, spelled: str) -> bool:
    at = text.find(spelled)
    while at >= 0:
        end = at + len(spelled)
        if not (at and _joins(text[at - 1])) and not _goes_on(text, end):
            return True
        at = text.find(spelled, at + 1)
    return False


def _goes_on(text: str, end: int) -> bool:
    following = text[end : end + 2]
    return bool(following) and (_joins(following[0]) if following[0] != "." else following[1:].isalnum())


def _joins(character: str) -> bool:
    return character.isalnum() or character in "_-."
