"""``python -m keepwarm``."""

from __future__ import annotations

from keepwarm.cli import main

if __name__ == "__main__":
    main()
