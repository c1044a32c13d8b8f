"""Names and ids that every provider takes, and the way back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.providers.names import CallIds, ToolNames, fit
from holdfast.adapters.providers.types import Tool
from tests.support.model import assistant, tool_call

SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")


@pytest.mark.requirement("L34")
@given(st.text(max_size=120))
def test_whatever_it_is_called_it_fits(name: str) -> None:
    assert SAFE.fullmatch(fit(name))
    assert fit(name) == name or not SAFE.fullmatch(name)


@pytest.mark.requirement("L34")
@given(st.lists(st.text(alphabet="ab./:_é", max_size=90), max_size=12, unique=True))
def test_every_tool_keeps_a_name_of_its_own_and_is_found_by_it(tools: list[str]) -> None:
    names = ToolNames.of([Tool(name=tool) for tool in tools])

    assert len({names.name(tool) for tool in tools}) == len(tools)
    assert all(names.tool(names.name(tool)) == tool for tool in tools)


@pytest.mark.requirement("L34")
def test_a_tool_named_like_anothers_stand_in_does_not_take_its_place() -> None:
    stand_in = fit("server.tool")
    names = ToolNames.of([Tool(name="server.tool"), Tool(name=stand_in)])

    assert names.name(stand_in) == stand_in
    assert names.name("server.tool") == f"{stand_in}_2"
    assert names.tool(f"{stand_in}_2") == "server.tool"


def test_a_call_without_an_id_or_with_a_used_one_gets_its_own() -> None:
    ids = CallIds([assistant(tool_call("call_0"))])
    given_ids = [ids.give("call_0", "r1"), ids.give(None, "r1"), ids.give("call_1", "r1")]

    assert len(set(given_ids)) == 3
    assert "call_0" not in given_ids
    assert given_ids[2] == "call_1"
    again = CallIds([assistant(tool_call("call_0"))])
    assert again.give("call_0", "r1") == given_ids[0]  # repeatable
