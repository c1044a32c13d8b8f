"""A chat that goes from model to model, each of which edits files in its own way."""

from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from holdfast.chats.changes import Actor, ChangeRequest
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import SendMessage
from holdfast.domain.parts import ToolCall, ToolResult
from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_simulator.jsons import JsonObject, obj, objs, txt
from holdfast_simulator.record import Entry
from holdfast_simulator.server import Simulator
from tests.integration.tools.test_task import TEMPLATE, script
from tests.requirements import requirement
from tests.support.builders import ORG, OWNER, user
from tests.support.replica import API_KEY, Replicas, ask, at_rest, replicas
from tests.support.stage import valid

MODELS = (
    ("gpt", "simulator-responses", "gpt-5.4", "/v1"),
    ("claude", "simulator-anthropic", "claude-sonnet-5", ""),
    ("gpt-chat", "simulator-chat", "gpt-5.4", "/v1"),
    ("like-gpt", "simulator-responses", "gpt-4.1", "/v1"),
)


def patch(old: str, new: str) -> tuple[str, dict[str, object]]:
    lines = ("*** Begin Patch", "*** Update File: ./a.txt", f"-{old}", f"+{new}", "*** End Patch")
    return "apply_patch", {"patch": "\n".join(lines)}


EDITED: tuple[str, dict[str, object]] = (
    "edit_file",
    {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "three"}]},
)
Calls: TypeAlias = list[tuple[str, dict[str, object]]]
WRITE: Calls = [("execute", {"command": "echo one > a.txt"})]
READ: tuple[str, dict[str, object]] = ("read_file", {"path": "a.txt"})
TURNS: tuple[tuple[str, list[Calls]], ...] = (
    ("gpt", [[("create_workspace", {})], WRITE, [patch("one", "two")]]),
    ("claude", [[EDITED]]),
    ("gpt-chat", [[patch("three", "four")]]),
    ("gpt", [[patch("four", "five")]]),
    ("like-gpt", [[patch("five", "six"), READ]]),
)


def models(cell: Replicas) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "vendor": vendor,
            "model": model,
            "base_url": f"{cell.simulator.url}{path}",
            "api_key": API_KEY,
            "facts": {"edit_tool": "patch"} if name == "like-gpt" else None,
        }
        for name, vendor, model, path in MODELS
    ]


def offered(entry: Entry) -> set[tuple[str, str]]:
    """The tools for edits in a request, each with its type on the wire."""
    tools = list(objs(obj(entry.body).get("tools")))
    named = [(txt(tool.get("type")), obj(tool.get("function")) or tool) for tool in tools]
    return {
        (txt(tool.get("name")), kind)
        for kind, tool in named
        if tool.get("name") in ("edit_file", "apply_patch")
    }


def items(entry: Entry) -> list[JsonObject]:
    return list(objs(obj(entry.body).get("input")))


@pytest.mark.nightly
@requirement("L104")
async def test_each_model_edits_in_its_own_way_and_takes_back_what_others_did(
    template: str,
) -> None:
    with short_folder() as folder:
        async with (
            replicas(template) as cell,
            cell.open(
                within_s=110,
                models=models(cell),
                default_model="gpt",
                templates=[TEMPLATE],
                workspaces_folder=str(folder / "w"),
            ) as server,
        ):
            chat: Chat | None = None
            for model, steps in TURNS:
                said = replace(user(script(*steps)), model=model)
                if chat is None:
                    begun = await ask(server, said)
                else:
                    request = ChangeRequest((SendMessage(said),), by=Actor(ORG, OWNER))
                    begun = (await server.ledger.transact(chat.chat_id, request)).chat
                chat = await at_rest(server, begun.chat_id, within_s=60)
                assert chat.status is Status.IDLE, chat.error
            assert chat is not None
            page = await server.adapters.history.page(chat.chat_id, limit=200)
            assert isinstance(cell.simulator, Simulator)
            seen = list(cell.simulator.record)

    assert valid(page.messages) == []
    parts = [part for message in page.messages for part in message.body.parts]
    results = [part for part in parts if isinstance(part, ToolResult)]
    assert [result.output for result in results if result.failed] == []
    assert "six" in str(results[-1].output)
    patches = [p for p in parts if isinstance(p, ToolCall) and p.tool == "apply_patch"]
    assert len(patches) == 4
    assert all("*** Update File: a.txt" in str(call.arguments["patch"]) for call in patches)

    assert [entry.rejected_by for entry in seen if entry.rejected_by] == []
    assert {(entry.wire, *each) for entry in seen for each in offered(entry)} == {
        ("responses", "apply_patch", "custom"),
        ("anthropic", "edit_file", ""),
        ("chat", "apply_patch", "function"),
    }
    last = [txt(item.get("type")) for item in items(seen[-1])]
    assert last.count("custom_tool_call") == last.count("custom_tool_call_output") == 4
    assert last.count("function_call") == last.count("function_call_output") == 4
