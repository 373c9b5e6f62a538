"""What a caller narrows a question to, in their words."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from recorder import dates
from recorder.models import EventKind, MemoryKind, Order, Trust
from recorder.store import paths, search
from recorder.store.only import Only

KINDS = frozenset((*MemoryKind, *EventKind))
TRUSTS = frozenset((Trust.VERIFIED, Trust.CANDIDATE))
"""What recall tells; the others wait in the review."""
ORDERS = tuple(Order)
NAMES = ("kind", "trust", "since", "until", "file", "branch", "session", "tool", "failed", "valid_at", "as_of")
"""As every door calls them."""
LONGEST = 1_000
FARTHEST = 100_000
"""How many hits may be passed over."""


class FilterError(ValueError):
    """A filter that says nothing: its name, and what it takes."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def read(
    *,
    namespace: str | None = None,
    kind: Any = None,
    trust: Any = None,
    since: Any = None,
    until: Any = None,
    file: Any = None,
    branch: Any = None,
    session: Any = None,
    tool: Any = None,
    failed: Any = False,
    valid_at: Any = None,
    as_of: Any = None,
) -> Only:
    """The filters as values. None is not given; `kind` and `trust` are one or several; `until` takes in the whole of
    the day, month or year it names.

    Raises: FilterError.
    """
    if failed not in (True, False, None):
        raise FilterError("failed", "is true or false")
    return Only(
        namespace=namespace,
        kinds=_some_of("kind", kind, KINDS),
        trusts=_some_of("trust", trust, TRUSTS),
        since_ms=_time("since", since, dates.instant),
        until_ms=_time("until", until, dates.end),
        file=None if file is None else paths.tidy(_text("file", file)),
        branch=None if branch is None else _text("branch", branch),
        session_id=None if session is None else _text("session", session),
        tool=None if tool is None else _text("tool", tool),
        failed=bool(failed),
        valid_at_ms=_time("valid_at", valid_at, dates.instant),
        as_of_ms=_time("as_of", as_of, dates.instant),
    )


def order(given: Any) -> Order:
    """The order meant; by relevance where none is given.

    Raises: FilterError.
    """
    if given is None:
        return Order.RELEVANCE
    if given not in ORDERS:
        raise FilterError("order", f"there are {', '.join(ORDERS)}")
    return Order(given)


def offset(given: Any) -> int:
    """How many hits are passed over.

    Raises: FilterError.
    """
    if given is None:
        return 0
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= FARTHEST:
        raise FilterError("offset", f"is a number from 0 to {FARTHEST}")
    return given


def _some_of(name: str, given: Any, known: Collection[str]) -> tuple[str, ...]:
    wanted = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else given
    if wanted is None or wanted == ():
        return ()
    if not isinstance(wanted, tuple) or not all(isinstance(one, str) and one in known for one in wanted):
        raise FilterError(name, f"there are {', '.join(sorted(known))}")
    return tuple(str(one) for one in wanted)


def _time(name: str, given: Any, read: Callable[[str], int]) -> int | None:
    if given is None:
        return None
    try:
        return read(_text(name, given))
    except FilterError:
        raise
    except ValueError as error:
        raise FilterError(name, str(error)) from None


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > LONGEST:
        raise FilterError(name, f"is a text of 1 to {LONGEST} characters")
    return search.plain(given.strip())
