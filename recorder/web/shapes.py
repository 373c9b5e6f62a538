"""What goes in and out over HTTP."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Asked(BaseModel):
    """A request's body: what it does not know it refuses, so that a misspelt field is told and not passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Trouble(BaseModel):
    """What is wrong: a short word a program can branch on, and a sentence for a person."""

    code: str
    message: str


class Error(BaseModel):
    """Every answer that is none."""

    error: Trouble


Count = Annotated[int, Field(ge=0)]
