"""Tools that a chat declares and its client runs: the model is offered them, and a call
waits for its result from outside."""

from dataclasses import dataclass

from holdfast.domain.parts import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTool:
    name: str
    description: str
    schema: JsonObject
