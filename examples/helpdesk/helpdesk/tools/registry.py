"""Which tools the model is offered, and running the one it calls."""

from __future__ import annotations

import json
from typing import Any

from helpdesk.errors import UnknownRecord
from helpdesk.tools.accounts import CHANGE_PLAN, FIND_CUSTOMER, RESET_SECOND_FACTOR, START_PRIVACY_REQUEST
from helpdesk.tools.base import Tool, ToolContext
from helpdesk.tools.billing import ISSUE_REFUND, LIST_INVOICES, RESEND_INVOICE
from helpdesk.tools.operations import CHECK_INCIDENTS, ESCALATE

CATALOGUE: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        FIND_CUSTOMER,
        LIST_INVOICES,
        ISSUE_REFUND,
        RESEND_INVOICE,
        CHANGE_PLAN,
        CHECK_INCIDENTS,
        START_PRIVACY_REQUEST,
        RESET_SECOND_FACTOR,
        ESCALATE,
    )
}


class ToolRegistry:
    """The enabled part of the catalogue."""

    def __init__(self, enabled: frozenset[str]) -> None:
        unknown = sorted(enabled - CATALOGUE.keys())
        if unknown:
            raise UnknownRecord(f"no tool {unknown[0]!r}; the catalogue has {', '.join(sorted(CATALOGUE))}")
        self._enabled = enabled

    def schemas(self) -> list[dict[str, Any]]:
        """The enabled tools as function definitions."""
        return [CATALOGUE[name].schema() for name in self._enabled]

    def call(self, name: str, arguments: str, context: ToolContext) -> str:
        """Run a tool with the JSON arguments the model wrote; what went wrong is told to the model."""
        tool = CATALOGUE.get(name) if name in self._enabled else None
        if tool is None:
            return _error(f"no tool {name!r}")
        try:
            parsed = json.loads(arguments)
        except ValueError:
            return _error("the arguments are no JSON")
        if not isinstance(parsed, dict) or not all(isinstance(value, str) for value in parsed.values()):
            return _error("the arguments have to be an object of strings")
        missing = [parameter for parameter in tool.parameters if parameter not in parsed]
        if missing:
            return _error(f"missing: {', '.join(missing)}")
        try:
            return json.dumps(tool.run(context, parsed), ensure_ascii=False)
        except UnknownRecord as error:
            return _error(str(error))


def _error(reason: str) -> str:
    return json.dumps({"error": reason}, ensure_ascii=False)
