"""Plan mode with a real agent: nothing is changed but the plan file, which is no link."""

import json
import os
import signal
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from holdfast_lab.chaos.harness.folders import running_in, short_folder
from tests.integration.api.test_workspaces import LOCAL
from tests.requirements import requirement
from tests.support.replica import Replicas
from tests.support.web import Cell, a_cell

PLAN = "# Rename it\n\n1. Change `a.py`.\n2. Run the tests.\n"


@pytest.fixture
def folder() -> Generator[Path]:
    with short_folder() as made:
        try:
            yield made
        finally:
            for pid in running_in(made):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
async def yard(empty: Replicas, folder: Path) -> AsyncGenerator[Cell]:
    async with a_cell(empty, templates=[LOCAL], workspaces_folder=folder / "w") as cell:
        yield cell


def script(*calls: tuple[str, dict[str, Any]]) -> str:
    steps = [f"call {tool} {json.dumps(arguments)}" for tool, arguments in calls]
    return f'[[sim: {" | then | ".join(steps)} | then | say "so be it"]]'


async def results(cell: Cell, chat_id: str, *calls: tuple[str, dict[str, Any]], **more: Any) -> Any:
    """The results of a turn that makes these calls, one after the other."""
    said = {"text": script(*calls), **more}
    sent = await cell.admin.post(f"chats/{chat_id}/messages", said)
    assert sent.status == 202, sent.raw
    await cell.admin.until(chat_id, "idle")
    page = (await cell.admin.get(f"chats/{chat_id}/messages?limit=100")).json
    turn = sent.json["turn_seq"]
    parts = [p for m in page["data"] if m["turn_seq"] == turn for p in m["parts"]]
    return [p for p in parts if p["type"] == "tool_result"]


def files(folder: Path) -> list[str]:
    """What lies in the workspaces, by its name."""
    return sorted(each.name for each in folder.rglob("*") if each.suffix in {".md", ".txt"})


def written(folder: Path) -> list[str]:
    """What the links lead to, if anything was written there."""
    texts = [each.name for each in folder.rglob("*.txt") if each.read_text()]
    return texts + [each.name for each in folder.rglob("src/*")]


@requirement("F18", "L125")
async def test_nothing_is_changed_but_the_plan(yard: Cell, folder: Path) -> None:
    admin = yard.admin
    chat_id = await admin.new_chat()
    tool = {"name": "pay", "description": "Pay.", "input_schema": {"type": "object"}}
    assert (await admin.ask("PUT", f"chats/{chat_id}/tools", {"tools": [tool]})).status < 300
    path = f".holdfast/plans/PLAN-{chat_id}.md"
    refused = await results(
        yard,
        chat_id,
        ("create_workspace", {}),
        ("execute", {"command": "pwd"}),
        ("write_file", {"path": "other.txt", "content": "x"}),
        ("write_file", {"path": "PLAN.md", "content": "x"}),
        ("process_signal", {"process": "p1", "signal": "KILL"}),
        ("process_list", {}),
        ("pay", {}),
        ("propose_plan", {"path": path}),
        plan_mode=True,
    )
    words = [str(each["output"]) for each in refused[2:]]
    assert all("policy, not a fault" in each for each in words[:5]), words
    assert [each["synthetic_reason"] for each in refused[2:7]] == ["denied"] * 5
    assert refused[-1]["is_error"], "there is no plan yet, and the turn goes on"
    assert files(folder) == []
    assert (await admin.get(f"chats/{chat_id}")).json["plan_mode"] is True

    *_, proposed = await results(
        yard,
        chat_id,
        ("write_file", {"path": path, "content": PLAN}),
        ("propose_plan", {"path": f"./{path}"}),
    )
    assert (proposed["output"], proposed["is_error"]) == (PLAN, False)
    assert files(folder) == [f"PLAN-{chat_id}.md"]
    page = (await admin.get(f"chats/{chat_id}/messages?limit=100")).json
    assert page["data"][-1]["role"] == "tool", "the plan ends the turn"

    (listed,) = await results(yard, chat_id, ("process_list", {}), plan_mode=False)
    assert str(listed["output"]).count("pwd") == 1, listed
    assert "p2" not in str(listed["output"]), "the agent has heard of no other call"
    assert (await admin.get(f"chats/{chat_id}")).json["plan_mode"] is False


@requirement("F18")
@pytest.mark.parametrize("link", ["folder", "file"])
async def test_a_plan_is_not_written_or_read_through_a_link(
    yard: Cell, folder: Path, link: str
) -> None:
    chat_id = await yard.admin.new_chat()
    path = f".holdfast/plans/PLAN-{chat_id}.md"
    made = {
        "folder": "mkdir .holdfast src && ln -s ../src .holdfast/plans",
        "file": f"mkdir -p .holdfast/plans && touch a.txt && ln -s ../../a.txt {path}",
    }[link]
    await results(yard, chat_id, ("create_workspace", {}), ("execute", {"command": made}))
    edit = [{"old_string": "a", "new_string": "b"}]
    refused = await results(
        yard,
        chat_id,
        ("write_file", {"path": path, "content": PLAN}),
        ("edit_file", {"path": path, "edits": edit}),
        ("propose_plan", {"path": path}),
        plan_mode=True,
    )
    assert [each["is_error"] for each in refused] == [True] * 3
    assert all("link" in str(each["output"]) for each in refused), refused
    assert written(folder) == []
