"""Where candidates stand in the prompt, so that gains are shared from the top down and from the bottom up.

Below 0 is what keeps the whole prompt from being shared, before any text of it is compared.
"""

from __future__ import annotations

from keepwarm.diagnose.fixes import Place

BELOW_BLOCK = -4.0
SALT = -3.0
MODEL = -2.5
READS = -2.0
MEASURED = -1.0
TEMPLATE_TOP = -0.5
TOOLS = 0.5  # printed after the system text and before the conversation
TEMPLATE_HISTORY = 0.9  # the rendering of the conversation, before any message of it

_TEXT_CHARS = 10_000_000  # more than any text or list has, so that places never overlap
_TOOLS_LISTED = 10_000


def in_text(place: Place, char: int) -> float:
    """A slot at character ``char`` of a text."""
    return place.message + char / _TEXT_CHARS


def in_tools(index: int) -> float:
    """A text inside the tool at ``index``."""
    return TOOLS + index / _TOOLS_LISTED


def in_history(index: int) -> float:
    """A change of the message at ``index``, behind the slots of that message."""
    return 1.0 + index
