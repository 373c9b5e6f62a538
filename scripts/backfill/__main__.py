"""`python -m scripts.backfill`: the same as `recorder backfill`."""

from __future__ import annotations

import sys

from recorder import cli

if __name__ == "__main__":
    sys.argv[1:1] = ["backfill"]
    cli.main()
