"""A gate for CI: whether a trace lost hits, or gained findings, since a baseline was kept.

- ``sketches``: what a call site is recognised by when its name, number and wording have changed
- ``baseline``: what is kept of a trace; ``taking``: a diagnosis as such a baseline
- ``matching``: which call site and which finding of now is which of then
- ``verdict``: what got worse; ``check``: all of it, from a file to the answer; ``report``: how it is shown
- ``prefixes``: the same for the requests of one test, behind ``keepwarm.pytest_plugin``
"""

from __future__ import annotations

from keepwarm.gate.check import check_trace, fresh_baseline
from keepwarm.gate.verdict import Verdict

__all__ = ["Verdict", "check_trace", "fresh_baseline"]
