"""The command line. Thin: it reads the call, asks ``keepwarm.diagnose`` and prints the answer."""

from __future__ import annotations


def main() -> None:
    """Entry point of ``keepwarm``; ends the process with the exit code."""
    from keepwarm.cli.app import app

    app()
