"""`python -m recorder` is the command line."""

from __future__ import annotations

from recorder.cli import main

if __name__ == "__main__":
    main()
