"""Declare tools that the client of a chat runs: bounded, so that no chat is dear to load."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, cast

from holdfast.chats.changes import Actor, ChangeRequest, ChatWriter, Commit
from holdfast.chats.hints import encode_data
from holdfast.domain.client_tools import TOOL_NAME, ClientTool
from holdfast.domain.commands import DeclareTools
from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import ChatId
from holdfast.domain.parts import JsonObject
from holdfast.ports.store import IdempotencyKey

TOOLS_MAX: Final = 64
TOOLS_BYTES_MAX: Final = 64 * 1024
"""Of all of them together, as JSON: they are read with the chat, with each message that is sent."""
SCHEMA_DEPTH_MAX: Final = 20


async def declare(
    ledger: ChatWriter,
    actor: Actor,
    chat_id: ChatId,
    tools: Sequence[ClientTool],
    *,
    keyed: IdempotencyKey | None = None,
) -> Commit:
    """Give a chat these tools and no others. The turn that runs now keeps those that it has."""
    request = ChangeRequest((DeclareTools(tuple(tools)),), by=actor, key=keyed)
    return await ledger.transact(chat_id, request)


def check_tools(tools: Sequence[ClientTool], reserved: Collection[str]) -> None:
    """Raises `FieldRefused`. `reserved`: the server's own, which would hide these."""
    if len(tools) > TOOLS_MAX:
        raise FieldRefused("tools", f"at most {TOOLS_MAX}")
    names = [tool.name for tool in tools]
    for name in names:
        if not TOOL_NAME.fullmatch(name):
            raise FieldRefused("tools", "a name has 1 to 64 of A-Z, a-z, 0-9, _ and -")
        if names.count(name) > 1:
            raise FieldRefused("tools", f"two are called {name}")
        if name in reserved:
            raise FieldRefused("tools", f"the server has a tool called {name} itself")
    for tool in tools:
        _check_schema(tool)
    size = sum(len(encode_data(tool.schema)) + len(tool.description.encode()) for tool in tools)
    if size > TOOLS_BYTES_MAX:
        raise FieldRefused("tools", f"at most {TOOLS_BYTES_MAX} bytes in all")


def _check_schema(tool: ClientTool) -> None:
    if tool.schema.get("type") != "object":
        raise FieldRefused("tools", f"the schema of {tool.name} is not of type object")
    if not _is_within(tool.schema, SCHEMA_DEPTH_MAX):
        raise FieldRefused("tools", f"the schema of {tool.name} is deeper than {SCHEMA_DEPTH_MAX}")


def _is_within(schema: JsonObject, depth_max: int) -> bool:
    """Level by level, so that nothing recurses."""
    level: list[object] = [schema]
    for _ in range(depth_max):
        deeper: list[object] = []
        for each in level:
            if isinstance(each, Mapping):
                deeper += cast("Mapping[str, object]", each).values()
            elif isinstance(each, list):
                deeper += cast("list[object]", each)
        if not deeper:
            return True
        level = deeper
    return not any(isinstance(each, Mapping | list) for each in level)
