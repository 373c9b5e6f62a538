"""Text to vector, by asking the worker."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from recorder.config import Config
from recorder.errors import WorkerUnavailable
from recorder.store import vectors
from recorder.store.db import Connection
from recorder.worker_socket import request

WINDOW_WORDS = 200
WINDOW_CHARS = 2000
"""A window of prose has about 1,200 characters; one long word must not make it endless."""
MOST_WINDOWS = 8
LAST_WINDOWS = 2


def of_question(db: Connection, config: Config, question: str) -> tuple[bytes | None, str]:
    """The vector of a question, to be compared with those in the store, and `ok`; or None and `unavailable: <why>`."""
    if not question.strip():
        return None, "unavailable: nothing was asked"
    if not config.embed.enabled:
        return None, "unavailable: turned off (embed.enabled)"
    vector, reason = ask(config.home, question, config.embed.query_timeout_ms, model=vectors.model(db))
    if vector is not None:
        stored = vectors.dimension(db)
        if stored is None or len(vector) == stored:
            return vector, "ok"
        reason = f"a vector of {len(vector)} dimensions does not compare with those of {stored} that are stored"
    return None, f"unavailable: {reason.replace(str(config.home), '~/.recorder')}"


def ask(home: Path, text: str, timeout_ms: int, *, model: str | None = None) -> tuple[bytes | None, str]:
    """The vector of a question, or None and why there is none. Never later than the timeout, never an error.

    `model` is the one whose vectors it is to be compared with; those of two models do not compare.
    """
    try:
        answer = request(home, "embed", timeout_s=timeout_ms / 1000, texts=[text[:WINDOW_CHARS]])
        vector = base64.b64decode(answer["vectors"][0], validate=True)
        if model is not None and answer.get("model") != model:
            return None, f"{answer.get('model')} is being taken into use and {model} made the vectors so far"
        return vector, "ok"
    except WorkerUnavailable as error:
        return None, str(error)
    except (KeyError, IndexError, TypeError, binascii.Error) as error:
        return None, f"the worker's answer is not a vector: {error!r}"


def windows(role: str, text: str, at_ms: int) -> list[str]:
    """The texts that stand for `text` among the vectors, none for an empty one.

    `windows("user", "use uv", 0)` is `["[1970-01-01] user: use uv"]`. Prose of more than 200 words has a window each
    200, at most eight: the first six and the last two.
    """
    words = text.split()
    parts = [" ".join(words[start : start + WINDOW_WORDS]) for start in range(0, len(words), WINDOW_WORDS)]
    if len(parts) > MOST_WINDOWS:
        parts = parts[: MOST_WINDOWS - LAST_WINDOWS] + parts[-LAST_WINDOWS:]
    day = datetime.fromtimestamp(at_ms / 1000, UTC).date().isoformat()
    return [f"[{day}] {role}: {part[:WINDOW_CHARS]}" for part in parts]


def content_hash(text: str) -> str:
    """What is the same for the same text: half a SHA-256, for a row keeps it twice."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
