"""Plan mode in a turn: what is refused, what ends the turn, and what the model is told.

Each check is a function of its own, so that the mutants at the end can be seen to fail it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.admin.current import NothingSet
from holdfast.domain import draft
from holdfast.domain.chat import Status
from holdfast.domain.commands import DeclareTools, SendMessage
from holdfast.domain.messages import Message, MessageBody
from holdfast.domain.parts import Synthetic, ToolResult
from holdfast.domain.plan_mode import PROPOSE_PLAN, plan_path
from holdfast.domain.provider_tools import ProviderToolSpec
from holdfast.ports.models import Route
from holdfast.ports.tools import looks
from holdfast.tools.client import ClientTools
from holdfast.tools.toolbox import Combined, Functions
from holdfast.tools.workspace.plans import writes_plan
from holdfast.turn import call_policy
from holdfast.turn.step_policy import StepPolicy
from tests.requirements import requirement
from tests.support.builders import a_chat, a_tool, user
from tests.support.scripted import ScriptedModels, calls, says
from tests.support.stage import QUICK, Effects, staged, valid

PLANS = user("plan it", plan_mode=True)


def answers(messages: tuple[Message, ...]) -> dict[str, ToolResult]:
    parts = [part for message in messages for part in message.body.parts]
    return {part.tool: part for part in parts if isinstance(part, ToolResult)}


def tools_of(effects: Effects) -> Functions:
    return Functions(
        effects.tool("look", in_plan_mode=looks),
        effects.tool("write_file", in_plan_mode=writes_plan),
        effects.tool("change"),
        effects.tool(PROPOSE_PLAN, in_plan_mode=looks, plan_mode_only=True),
    )


async def only_tools_that_look_run() -> None:
    effects = Effects()
    tools = Combined(tools_of(effects), ClientTools())
    script = calls("look:1", "change:2", "write_file:3", "look_up:4", "nothing_known:5")
    async with staged(script, says("ok"), tools=tools) as stage:
        chat = await stage.world.create()
        await stage.world.do(chat.chat_id, DeclareTools((a_tool("look_up"),)), SendMessage(PLANS))
        chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))

        assert chat.status is Status.IDLE
        assert effects.done == ["1"]
        history = await stage.history(chat)
        found = answers(history)
        for name in ("change", "look_up"):
            assert found[name].synthetic is Synthetic.DENIED
            assert f"{name} is not active in this turn" in str(found[name].output)
            assert "a policy, not a fault" in str(found[name].output)
        assert plan_path(chat.chat_id) in str(found["write_file"].output)
        assert "There is no tool called 'nothing_known'" in str(found["nothing_known"].output)
        assert valid(history) == []


async def a_plan_ends_the_turn_and_the_queue_goes_on_in_its_own_mode() -> None:
    effects = Effects()
    async with staged(
        calls(f"{PROPOSE_PLAN}:1"), calls("change:2"), says("done"), tools=tools_of(effects)
    ) as stage:
        chat = await stage.world.running(PLANS)
        await stage.world.do(chat.chat_id, SendMessage(user("implement it", plan_mode=False)))
        chat = await stage.drive(await stage.world.load(chat.chat_id))

        assert (chat.status, chat.plan_mode) == (Status.IDLE, False)
        assert effects.done == ["1", "2"]
        roles = [message.body.role.value for message in await stage.history(chat)]
        assert roles == ["user", "assistant", "tool", "user", "system", *roles[5:]]
        assert len(stage.models.asked) == 3, "the model is not asked about its plan"


async def a_plan_that_is_not_there_does_not_end_the_turn() -> None:
    effects = Effects()
    async with staged(calls(PROPOSE_PLAN), says("as you like"), tools=tools_of(effects)) as stage:
        chat = await stage.turn(user("go"))

        assert chat.status is Status.IDLE
        assert effects.done == []
        words = str(answers(await stage.history(chat))[PROPOSE_PLAN].output)
        assert "the chat is not in plan mode" in words


Check = Callable[[], Awaitable[None]]


@requirement("F18", "L125")
@pytest.mark.parametrize(
    "check",
    [
        only_tools_that_look_run,
        a_plan_ends_the_turn_and_the_queue_goes_on_in_its_own_mode,
        a_plan_that_is_not_there_does_not_end_the_turn,
    ],
)
async def test_plan_mode(check: Check) -> None:
    await check()


async def test_the_model_is_told_behind_the_users_message_and_keeps_its_prefix() -> None:
    scripts = [says("one"), says("two"), says("three")]
    async with staged(*scripts, tools=tools_of(Effects())) as stage:
        chat = await stage.turn(user("hello"))
        for body in (PLANS, user("do it", plan_mode=False)):
            await stage.world.do(chat.chat_id, SendMessage(body))
            chat = await stage.drive(await stage.again(await stage.world.load(chat.chat_id)))
        first, planning, acting = stage.models.asked
        assert first.system == planning.system == acting.system
        assert first.tools == planning.tools == acting.tools
        assert _told(planning.history[-1])["Plan mode"].startswith("# Plan mode")
        assert plan_path(chat.chat_id) in _told(planning.history[-1])["Plan mode"]
        assert _told(acting.history[-1]) == {"Plan mode": "This no longer applies."}


def _told(body: MessageBody) -> dict[str, str]:
    return {part.name: part.text for part in body.parts if part.kind == "context"}


def test_a_provider_runs_nothing_in_plan_mode() -> None:
    rules = StepPolicy(QUICK, NothingSet())
    route = Route(model="m", provider_tools=(ProviderToolSpec(name="code_execution"),))
    assert rules.provider_tools_of(a_chat(plan_mode=True), route) == ()
    assert rules.provider_tools_of(a_chat(), route) == route.provider_tools


@pytest.mark.parametrize("fate", ["unconfirmed", "lost"])
@pytest.mark.parametrize("number", [1, 2])
async def test_a_plan_is_there_once_whatever_commit_is_not_confirmed(
    fate: str, number: int
) -> None:
    effects = Effects()
    async with staged(tools=tools_of(effects)) as stage:
        process = stage.with_models(ScriptedModels(calls(f"{PROPOSE_PLAN}:1")))
        process.store.trouble = lambda verb, n: fate if (verb, n) == ("commit", number) else None
        chat = await process.turn(PLANS)

        assert process.counters.uncertain_commits == 1
        assert await stage.said(chat) == [
            "user: plan it",
            "assistant: let me see + ?1",
            "tool: 1=did 1",
        ]
        assert (await stage.world.load(chat.chat_id)).status is Status.IDLE


def _everything_is_active(patch: pytest.MonkeyPatch) -> None:
    def active(*_: object) -> None:
        return None

    patch.setattr(call_policy, "_inactive", active)


def _clients_tools_are_active(patch: pytest.MonkeyPatch) -> None:
    real: Any = vars(call_policy)["_inactive"]

    def active(chat: Any, call: Any, spec: Any) -> Any:
        return None if call.tool == "look_up" else real(chat, call, spec)

    patch.setattr(call_policy, "_inactive", active)


def _no_result_ends_a_turn(patch: pytest.MonkeyPatch) -> None:
    def ends(_: ToolResult) -> bool:
        return False

    patch.setattr(draft, "ends_turn", ends)


def _failures_end_a_turn(patch: pytest.MonkeyPatch) -> None:
    def ends(result: ToolResult) -> bool:
        return result.tool == PROPOSE_PLAN

    patch.setattr(draft, "ends_turn", ends)


def _the_queue_forgets_the_mode(patch: pytest.MonkeyPatch) -> None:
    real: Any = draft.Draft.append_user

    def append(self: Any, body: MessageBody, **more: Any) -> None:
        real(self, replace(body, plan_mode=None), **more) if "promoted" in more else real(
            self, body, **more
        )

    patch.setattr(draft.Draft, "append_user", append)


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (_everything_is_active, only_tools_that_look_run),
        (_clients_tools_are_active, only_tools_that_look_run),
        (_no_result_ends_a_turn, a_plan_ends_the_turn_and_the_queue_goes_on_in_its_own_mode),
        (_failures_end_a_turn, a_plan_that_is_not_there_does_not_end_the_turn),
        (_the_queue_forgets_the_mode, a_plan_ends_the_turn_and_the_queue_goes_on_in_its_own_mode),
    ],
)
async def test_mutants_are_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await check()
