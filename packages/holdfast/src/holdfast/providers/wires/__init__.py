"""The wires: one file per provider protocol, pure and synchronous.

To add one, write a file with a class that is a `Wire`, and name it here or in `wire_of(extra=…)`.
"""

from collections.abc import Mapping
from typing import Final

from holdfast.providers.types import Wire
from holdfast.providers.wires.anthropic import AnthropicWire
from holdfast.providers.wires.chat import ChatWire
from holdfast.providers.wires.gemini import GeminiWire
from holdfast.providers.wires.responses import ResponsesWire

WIRES: Final[Mapping[str, Wire]] = {
    wire.name: wire for wire in (AnthropicWire(), ResponsesWire(), ChatWire(), GeminiWire())
}
