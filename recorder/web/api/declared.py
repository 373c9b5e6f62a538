"""The query parameters an address takes, and no others."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from fastapi import Request

from recorder.errors import GateRefused


def only_declared(request: Request) -> None:
    """Refuse a name that the route does not declare, and a second value where it takes one, as a dependency of every
    route: of a misspelt filter nobody would see that it filters nothing.

    Raises: GateRefused.
    """
    taken = names(request.scope["route"].dependant)
    for given in request.query_params:
        if given not in taken:
            told = f"takes {', '.join(sorted(taken))}" if taken else "takes none"
            raise GateRefused("parameter", f"there is no parameter {given[:80]!r} here: this address {told}")
        if not taken[given] and len(request.query_params.getlist(given)) > 1:
            raise GateRefused("parameter", f"{given} takes one value here, and is given more")


def names(dependant: Any) -> dict[str, bool]:
    """The query parameters of a route, and of what it depends on: name → whether it takes several values."""
    found = {str(field.alias): _several(field.field_info.annotation) for field in dependant.query_params}
    for one in dependant.dependencies:
        found |= names(one)
    return found


def _several(annotation: Any) -> bool:
    return list in (get_origin(annotation), *map(get_origin, get_args(annotation)))
