"""``keepwarm`` that tells its peak: arguments are a file for the bytes, then the command.

``VmHWM`` is of this program alone; ``ru_maxrss`` would begin with what the parent held when it forked.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from keepwarm.cli import main


def peak_bytes() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) << 10


if __name__ == "__main__":
    told = Path(sys.argv[1])
    sys.argv[1:] = sys.argv[2:]
    try:
        main()
    finally:
        told.write_text(str(peak_bytes()))
