"""What a repair would do to the recorded requests, so that its gain can be simulated.

A fix edits a draft of one request; a plan is a set of fixes applied in the order of ``base.Stage``.
Fixes with a memory (the conversation as it would have grown) see the requests in recorded order.
"""

from __future__ import annotations

from keepwarm.diagnose.fixes.base import Fix, apply_fixes
from keepwarm.diagnose.fixes.draft import Destination, Draft, Place, text_at
from keepwarm.diagnose.fixes.messages import (
    CutSlot,
    KeepHistory,
    MoveSlot,
    OrderMessages,
    ReplaceContent,
    ReplaceParts,
    Spot,
)
from keepwarm.diagnose.fixes.request import (
    AddTools,
    DropParam,
    FreezeClock,
    OrderTools,
    ReplaceTools,
    SetModel,
)

__all__ = [
    "AddTools",
    "CutSlot",
    "Destination",
    "Draft",
    "DropParam",
    "Fix",
    "FreezeClock",
    "KeepHistory",
    "MoveSlot",
    "OrderMessages",
    "OrderTools",
    "Place",
    "ReplaceContent",
    "ReplaceParts",
    "ReplaceTools",
    "SetModel",
    "Spot",
    "apply_fixes",
    "text_at",
]
