"""What a tool is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from helpdesk.config import Settings
from helpdesk.customers import Records

Arguments = dict[str, str]
Result = dict[str, Any]


@dataclass(frozen=True)
class ToolContext:
    """What a tool may read and change while it runs."""

    records: Records
    settings: Settings
    today: date


@dataclass(frozen=True)
class Tool:
    """A function the model may call. All parameters are strings and all are required."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]]
    run: Callable[[ToolContext, Arguments], Result]

    def schema(self) -> dict[str, Any]:
        """The tool as an OpenAI function definition."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string", **details} for name, details in self.parameters.items()
                    },
                    "required": list(self.parameters),
                    "additionalProperties": False,
                },
            },
        }
