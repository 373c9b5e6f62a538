"""The API as an OpenAPI document; `openapi.json` beside this is the same, for whoever reads it without a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI

FILE = Path(__file__).resolve().with_name("openapi.json")
THEIRS = ("HTTPValidationError", "ValidationError")
"""Shapes of the framework: what is wrong with a request is told in our own."""


def document(app: FastAPI) -> dict[str, Any]:
    """The document of an app, as JSON values."""
    # Its own copy: the framework keeps the one it makes.
    made: dict[str, Any] = json.loads(json.dumps(app.openapi()))
    for operations in made["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    schemas = made["components"]["schemas"]
    for name in THEIRS:
        schemas.pop(name, None)
    made["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "What `recorder token` prints."}
    }
    made["security"] = [{"token": []}]
    made["paths"]["/api/health"]["get"]["security"] = []
    made["servers"] = [{"url": "http://127.0.0.1:7377"}]
    return made


def as_text(made: dict[str, Any]) -> str:
    """As it stands in the file."""
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def write(app: FastAPI) -> None:
    """Write the file anew."""
    FILE.write_text(as_text(document(app)), encoding="utf-8")
