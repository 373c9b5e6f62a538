"""Events of a turn → proposed memories."""

from worker.distil.proposed import RULES_VERSION, Proposed
from worker.distil.rules import distil

__all__ = ["RULES_VERSION", "Proposed", "distil"]
