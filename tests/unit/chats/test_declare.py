"""The bounds of tools that a chat declares, for whoever does not come through the edge."""

from typing import Any

import pytest

from holdfast.chats.declare import SCHEMA_DEPTH_MAX, TOOLS_BYTES_MAX, TOOLS_MAX, check_tools
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.denials import FieldRefused
from tests.support.builders import a_tool


def with_schema(schema: dict[str, Any]) -> ClientTool:
    return ClientTool(name="look_up", description="", schema={"type": "object", **schema})


def nested(levels: int, *, in_lists: bool) -> dict[str, Any]:
    """An object so deep."""
    inner: Any = {} if levels > 1 else 1
    for _ in range(levels - 2):
        inner = [inner] if in_lists else {"a": inner}
    return {"a": inner}


def test_what_is_within_the_bounds_is_taken() -> None:
    check_tools([a_tool(f"t-{number}_X") for number in range(TOOLS_MAX)], {"clock"})
    check_tools([a_tool("x" * 64), with_schema({})], ())
    for in_lists in (False, True):
        check_tools([with_schema(nested(SCHEMA_DEPTH_MAX, in_lists=in_lists))], ())
    check_tools([with_schema({"a": "x" * (TOOLS_BYTES_MAX - 100)})], ())


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ([a_tool(f"t{number}") for number in range(TOOLS_MAX + 1)], "At most 64"),
        ([a_tool("")], "1 to 64"),
        ([a_tool("x" * 65)], "1 to 64"),
        ([a_tool("look\n")], "1 to 64"),
        ([a_tool("löök")], "1 to 64"),
        ([a_tool("clock")], "itself"),
        ([a_tool(), a_tool()], "Two are called"),
        ([ClientTool(name="t", description="", schema={})], "type object"),
        ([with_schema(nested(SCHEMA_DEPTH_MAX + 1, in_lists=False))], "deeper"),
        ([with_schema(nested(SCHEMA_DEPTH_MAX + 1, in_lists=True))], "deeper"),
        ([with_schema({"a": "x" * TOOLS_BYTES_MAX})], "bytes in all"),
        (
            [ClientTool(name="t", description="ö" * TOOLS_BYTES_MAX, schema={"type": "object"})],
            "in",
        ),
    ],
)
def test_what_is_past_a_bound_is_refused(tools: list[ClientTool], reason: str) -> None:
    with pytest.raises(FieldRefused, match=reason):
        check_tools(tools, {"clock"})
