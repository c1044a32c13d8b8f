"""The tools as a model sees them: every argument described, every mistake answered in words."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest

from holdfast.domain.chat import Status
from holdfast.domain.ids import CallId
from holdfast.domain.parts import ToolCall
from holdfast.ports.tools import Effect, Run, ToolContext, ToolOutput
from holdfast.ports.workspaces import Template
from holdfast.tools.workspace.binding import Binding
from holdfast.tools.workspace.offer import Arguments, Offer, offer
from holdfast.tools.workspace.toolbox import WorkspaceTools, offers
from tests.requirements import requirement
from tests.support.builders import a_chat

OFFERS = offers((Template(name="plain"), Template(name="big")))
CHAT = a_chat(Status.RUNNING)
TOOLS = {
    *("execute", "process_output", "process_input", "process_list", "process_signal"),
    *("read_file", "write_file", "edit_file", "list_files", "find_files", "search_files"),
    "apply_patch",
    *("create_workspace", "start_workspace", "stop_workspace", "read_skill"),
    "propose_plan",
}
ACTIVE_IN_PLAN_MODE = TOOLS - {
    *("process_input", "process_list", "process_signal", "stop_workspace"),
}


def described(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, each in schema.get("properties", {}).items():
        yield f"{path}.{name}", each
        yield from described(each, f"{path}.{name}")
        yield from described(each.get("items", {}), f"{path}.{name}[]")


def test_the_tools_are_these() -> None:
    assert {each.spec.name for each in OFFERS} == TOOLS


def test_these_tools_are_active_in_plan_mode() -> None:
    active = {each.spec.name for each in OFFERS if each.spec.in_plan_mode is not None}
    assert active == ACTIVE_IN_PLAN_MODE


@requirement("L104")
@pytest.mark.parametrize("each", OFFERS, ids=lambda each: each.spec.name)
def test_every_argument_is_described(each: Offer[Any]) -> None:
    schema = cast("dict[str, Any]", each.spec.schema)
    properties = list(described(schema, each.spec.name))
    assert schema["type"] == "object"
    assert "$ref" not in str(schema)
    for path, argument in properties:
        sentence = argument.get("description", "")
        assert sentence.endswith("."), path
        assert len(sentence) >= 20, path
        assert "type" in argument or "enum" in argument, path
    assert {path.split(".")[1].removesuffix("[]") for path, _ in properties} == {
        *each.arguments.model_fields
    }
    assert each.spec.description.endswith(".")


def test_which_templates_there_are_is_said_where_one_is_chosen() -> None:
    (create,) = (each for each in OFFERS if each.spec.name == "create_workspace")
    assert "plain, big" in str(create.spec.schema)


def test_what_may_be_run_again_after_a_crash_is_decided_for_each() -> None:
    once = {e.spec.name for e in OFFERS if e.spec.effect is Effect.ONCE}
    keyed = {e.spec.name for e in OFFERS if e.spec.effect is Effect.KEYED}
    assert once == {"process_input", "process_signal", "edit_file", "apply_patch"}
    assert keyed == {"execute", "write_file"}


class Greeting(Arguments):
    name: str
    times: int = 1


async def greet(binding: Binding, run: Run, asked: Greeting) -> ToolOutput:
    return ToolOutput(f"{asked.name} {asked.times}")


@requirement("L104")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "Ada", "times": "2"}, "Ada 2"),
        ({"name": "Ada", "times": None}, "Ada 1"),
        ({"name": "Ada", "loud": True}, "Ada 1\nIgnored: loud"),
        ({}, 'Not run. name is missing. Expected: {"name": "..."}'),
        ({"name": "Ada", "times": "many"}, "Not run. times must be an integer. Expected:"),
        ({"name": 3}, "Not run. name must be a string."),
        ({"name": None}, "Not run. name must be a string."),
    ],
)
async def test_arguments_that_do_not_fit_are_answered_with_what_would(
    arguments: dict[str, Any], says: str
) -> None:
    tool = offer("greet", "Greet.", Greeting, greet, effect=Effect.REPEATABLE)
    call = ToolCall(CallId("1"), "greet", arguments)
    nowhere: Any = None
    async with AsyncExitStack() as stack:
        binding = Binding(CHAT, nowhere, nowhere, stack)
        run = Run(chat=CHAT, call=call, key="2.1", emit=lambda _: None)
        output = await tool.run(binding, run)
    assert str(output.value).startswith(says)
    assert output.failed is says.startswith("Not run")


async def test_without_a_template_nothing_is_offered_and_nothing_said() -> None:
    class NoTemplates:
        templates = ()

    nowhere: Any = NoTemplates()
    async with WorkspaceTools(nowhere, nowhere).open(ToolContext(CHAT)) as toolbox:
        assert toolbox.specs == {}
        assert WorkspaceTools(nowhere, nowhere).names == frozenset()
        assert await toolbox.sections() == ()
