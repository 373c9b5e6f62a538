"""The JSON routes."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from recorder.web.api import health, hits, ingest, journal, lifecycle, memory, review, search, stream, verbs
from recorder.web.api.declared import only_declared
from recorder.web.api.desk import ERRORS


def router() -> APIRouter:
    """All of them. `_import` and its like come first: no namespace begins so, but `{namespace}` would take it."""
    routes = APIRouter(responses=ERRORS, dependencies=[Depends(only_declared)])
    for topic in (lifecycle, verbs, memory, journal, search, hits, review, health, stream, ingest):
        routes.include_router(topic.routes)
    return routes
