"""Tools that a chat declares and its client runs: the model is offered them, and a call
waits for its result from outside."""

import re
from dataclasses import dataclass
from typing import Final

from holdfast.domain.parts import JsonObject

TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""What all providers accept as the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTool:
    name: str
    description: str
    schema: JsonObject
    open_world: bool = False
    """It may send its arguments on to others: a message, a request to the web."""
