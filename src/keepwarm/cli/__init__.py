"""The command line. Thin: it reads the call, asks ``keepwarm.diagnose`` and prints the answer."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of ``keepwarm``; ends the process with the exit code."""
    try:
        from keepwarm.cli.app import app

        app()
    except KeyboardInterrupt:  # while still importing; later the boundary answers it
        sys.exit(130)
