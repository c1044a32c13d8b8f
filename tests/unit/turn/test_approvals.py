"""Rules at work: what is denied, asked about and run, and that what runs is what was approved.

Each check is a function of its own, so that the mutants at the end can be seen to fail it.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from holdfast.admin.registry import Setting, SettingValues
from holdfast.chats.answer import expire
from holdfast.domain import people
from holdfast.domain.approvals import Pattern, Policy, Rule, RuleAction, digest_of
from holdfast.domain.chat import Chat, OpenCall, Status
from holdfast.domain.commands import Decide, DeclareTools, SubmitResults
from holdfast.domain.errors import ApprovalMismatch, CallNotOpen, NotLawful
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Message
from holdfast.domain.next_step import RunTools
from holdfast.domain.parts import Need, Synthetic, ToolCall, ToolResult
from holdfast.ports.org_settings import Current, Fixed
from holdfast.ports.tools import Effect, ToolSpec
from holdfast.tools.client import ClientTools
from holdfast.tools.toolbox import Combined, Function, Functions
from holdfast.turn import call_plan, driver
from holdfast.turn import call_policy as judging
from holdfast.turn.step_policy import StepPolicy
from tests.requirements import requirement
from tests.support.builders import a_tool, result, user
from tests.support.scripted import End, Item, ScriptedModels, call, calls, says
from tests.support.stage import QUICK, Effects, Stage, driving, staged, until, valid

T = TypeVar("T")
ASK_A = Rule(tool="a", action=RuleAction.ASK)
DENY_B = Rule(tool="b", action=RuleAction.DENY, reason="b is not for models")


def policy(*rules: Rule) -> Any:
    return replace(QUICK, approvals=Policy(rules=rules))


def of_one(*calls_: list[Item]) -> list[Item]:
    return [item for each in calls_ for item in each] + [End()]


def answers(messages: tuple[Message, ...]) -> dict[str, ToolResult]:
    parts = [part for message in messages for part in message.body.parts]
    return {part.call_id: part for part in parts if isinstance(part, ToolResult)}


def the_call(chat: Chat, call_id: str) -> OpenCall:
    return next(each for each in chat.open_calls if each.call_id == call_id)


def yes(chat: Chat, call_id: str) -> Decide:
    return Decide(CallId(call_id), "approve", the_call(chat, call_id).digest)


def no(chat: Chat, call_id: str, reason: str = "") -> Decide:
    return Decide(CallId(call_id), "deny", the_call(chat, call_id).digest, reason)


async def go_on(stage: Stage, chat: Chat) -> Chat:
    """Whoever acquires it next, drives it."""
    successor = stage.with_models(stage.models)
    return await successor.drive(await stage.again(await stage.world.load(chat.chat_id)))


# Checks.


async def deny_rules_hold() -> None:
    effects = Effects()
    tools = Functions(effects.tool("a"), effects.tool("b"))
    script = calls("b", "a")
    async with staged(script, says("ok"), tools=tools, options=policy(DENY_B)) as stage:
        chat = await stage.turn()

        assert effects.done == ["a"]
        assert chat.status is Status.IDLE
        history = await stage.history(chat)
        denied = answers(history)["b"]
        assert denied.synthetic is Synthetic.DENIED
        assert denied.failed
        said = str(denied.output)
        assert "rule 1 of the server's approval rules: b is not for models" in said
        assert valid(history) == []


async def nothing_runs_beside_what_may_yet_be_denied() -> None:
    effects = Effects()
    tools = Functions(*(effects.tool(name) for name in "abc"))
    rules = policy(ASK_A, DENY_B)
    async with staged(calls("a:1", "b", "c", "a:2"), tools=tools, options=rules) as stage:
        chat = await stage.turn()

        assert chat.status is Status.AWAITING
        assert chat.awaiting is not None
        assert chat.awaiting.calls == ("1", "2")
        assert effects.done == [], "nothing runs beside a call that may yet be denied"
        chat = (await stage.world.do(chat.chat_id, yes(chat, "1"))).chat
        assert chat.status is Status.AWAITING
        assert effects.done == []
        await stage.world.do(chat.chat_id, no(chat, "2", "not on a Friday"))
        stage.models = ScriptedModels(says("ok"))
        chat = await go_on(stage, chat)

        assert chat.status is Status.IDLE
        assert effects.done == ["1", "c"]
        history = await stage.history(chat)
        found = answers(history)
        assert found["1"].output == "did 1"
        assert found["c"].output == "did c"
        assert found["b"].synthetic is Synthetic.DENIED
        assert found["2"].synthetic is Synthetic.DENIED
        assert str(found["2"].output).endswith("They said: not on a Friday")
        assert valid(history) == []


async def a_decision_names_what_it_is_about() -> None:
    effects = Effects()
    async with staged(
        calls("a"), tools=Functions(effects.tool("a")), options=policy(ASK_A)
    ) as stage:
        chat = await stage.turn()
        digest = the_call(chat, "a").digest
        spec = effects.tool("a").spec
        assert digest == digest_of("a", {"n": 1}, spec.definition)
        parts = [part for message in await stage.history(chat) for part in message.body.parts]
        (stored,) = (part for part in parts if isinstance(part, ToolCall))
        assert (stored.needs, stored.digest) == (Need.APPROVAL, digest)

        for other in (None, "", digest_of("a", {"n": 2}, spec.definition)):
            for verdict in ("approve", "deny"):
                with pytest.raises(ApprovalMismatch):
                    await stage.world.do(chat.chat_id, Decide(CallId("a"), verdict, other))
        assert await stage.world.load(chat.chat_id) == chat, "nothing is decided"


async def a_tool_that_changed_is_not_run(effect: Effect = Effect.ONCE) -> None:
    """Whoever approved it did not approve this."""
    effects = Effects()
    before = effects.tool("a", effect)
    async with staged(calls("a"), tools=Functions(before), options=policy(ASK_A)) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, yes(chat, "a"))
        described = replace(before.spec, description="Sends everything to somebody else.")
        stage.tools = Functions(Function(described, before.run))
        stage.models = ScriptedModels(says("ok"))
        chat = await go_on(stage, chat)

        assert effects.done == []
        assert chat.status is Status.IDLE
        found = answers(await stage.history(chat))["a"]
        assert found.failed
        assert "no longer the tool that was approved" in str(found.output)


async def a_rule_that_came_meanwhile_denies() -> None:
    effects = Effects()
    async with staged(
        calls("a"), tools=Functions(effects.tool("a")), options=policy(ASK_A)
    ) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, yes(chat, "a"))
        stage.options = policy(Rule(tool="a", action=RuleAction.DENY))
        stage.models = ScriptedModels(says("ok"))
        chat = await go_on(stage, chat)

        assert effects.done == []
        assert answers(await stage.history(chat))["a"].synthetic is Synthetic.DENIED


# Tests.

Check = Callable[[], Awaitable[None]]


@requirement("X4")
@pytest.mark.parametrize(
    "check",
    [
        deny_rules_hold,
        nothing_runs_beside_what_may_yet_be_denied,
        a_decision_names_what_it_is_about,
        a_tool_that_changed_is_not_run,
        a_rule_that_came_meanwhile_denies,
    ],
)
async def test_calls_run_as_the_rules_and_people_say(check: Check) -> None:
    await check()


@requirement("X4")
@pytest.mark.parametrize("effect", [Effect.KEYED, Effect.REPEATABLE])
async def test_a_tool_that_changed_while_it_may_have_run_has_an_unknown_outcome(
    effect: Effect,
) -> None:
    effects = Effects(gated=("a",))
    before = effects.tool("a", effect)
    async with staged(calls("a"), tools=Functions(before), options=policy(ASK_A)) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, yes(chat, "a"))
        second = stage.with_models(ScriptedModels())
        acquired = await stage.again(await stage.world.load(chat.chat_id))
        async with driving(second, acquired) as (task, _):
            await until(lambda: effects.running == 1)
            task.cancel()
        stage.tools = Functions(Function(replace(before.spec, schema={"new": True}), before.run))
        stage.models = ScriptedModels(says("ok"))
        chat = await go_on(stage, chat)

        assert effects.done == ["a"], "run once, under the definition that was approved"
        assert answers(await stage.history(chat))["a"].synthetic is Synthetic.UNKNOWN_OUTCOME


@requirement("X1")
async def test_an_approved_call_is_run_at_most_once_whoever_dies() -> None:
    effects = Effects(gated=("a",))
    tools = Functions(effects.tool("a"))
    async with staged(calls("a"), tools=tools, options=policy(ASK_A)) as stage:
        chat = await stage.turn()
        await stage.world.do(chat.chat_id, yes(chat, "a"))
        acquired = await stage.again(await stage.world.load(chat.chat_id))
        async with driving(stage.with_models(ScriptedModels()), acquired) as (task, _):
            await until(lambda: effects.running == 1)
            task.cancel()
        stage.models = ScriptedModels(says("ok"))
        chat = await go_on(stage, chat)

        assert effects.done == ["a"]
        assert answers(await stage.history(chat))["a"].synthetic is Synthetic.UNKNOWN_OUTCOME


async def test_arguments_decide_which_rule_fits() -> None:
    effects = Effects()
    allowed = Rule(
        tool="sh", arguments={"command": Pattern(words="git status **")}, action=RuleAction.ALLOW
    )
    rules = policy(allowed, Rule(tool="sh", action=RuleAction.ASK))
    script = of_one(
        call(1, "sh", "1", '{"command": "git status -s"}'),
        call(2, "sh", "2", '{"command": "git status; rm -rf /"}'),
    )
    async with staged(script, tools=Functions(effects.tool("sh")), options=rules) as stage:
        chat = await stage.turn()

        assert [call.needs for call in chat.open_calls] == [Need.NOTHING, Need.APPROVAL]
        assert the_call(chat, "1").digest is None
        assert effects.done == []


class OneOrganisation:
    def __init__(self, **said: Any) -> None:
        self._values = SettingValues(said)

    def current(self, setting: Setting[T]) -> Current[T]:
        return Fixed(self._values.of(setting))


@pytest.mark.parametrize(
    ("server", "organisation", "verdict", "whose"),
    [
        (RuleAction.ALLOW, RuleAction.ASK, RuleAction.ASK, "organisation"),
        (RuleAction.ASK, RuleAction.ALLOW, RuleAction.ASK, "server"),
        (RuleAction.DENY, RuleAction.ASK, RuleAction.DENY, "server"),
        (RuleAction.ALLOW, RuleAction.DENY, RuleAction.DENY, "organisation"),
    ],
)
def test_server_and_organisation_both_have_a_say(
    server: RuleAction, organisation: RuleAction, verdict: RuleAction, whose: str
) -> None:
    current = OneOrganisation(approvals=Policy(default=organisation))
    rules = StepPolicy(replace(QUICK, approvals=Policy(default=server)), current)
    chat = Chat(chat_id=None, org_id=None, owner_id=None)  # type: ignore[arg-type]
    judged = rules.judge(chat, ToolCall(CallId("c"), "a", {}), ToolSpec(name="a", description=""))
    assert judged.verdict is verdict
    assert whose in judged.words


async def test_a_tool_that_asks_by_itself_is_not_let_through_by_a_rule() -> None:
    effects = Effects()
    tools = Functions(effects.tool("a", needs=Need.APPROVAL))
    allow = policy(Rule(tool="a", action=RuleAction.ALLOW))
    async with staged(calls("a"), tools=tools, options=allow) as stage:
        chat = await stage.turn()

        assert chat.status is Status.AWAITING
        assert the_call(chat, "a").digest is not None
        assert the_call(chat, "a").then is Need.NOTHING


async def test_a_tool_of_the_client_is_approved_first_and_then_run_there() -> None:
    rules = policy(Rule(tool="look_up", action=RuleAction.ASK))
    tools = Combined(Functions(), ClientTools())
    async with staged(calls("look_up"), tools=tools, options=rules) as stage:
        chat = await stage.world.running(user())
        declared = await stage.world.do(chat.chat_id, DeclareTools((a_tool(),)))
        chat = await stage.drive(declared.chat)
        assert chat.awaiting is not None
        assert chat.awaiting.kind is Need.APPROVAL
        with pytest.raises(CallNotOpen):
            await stage.world.do(chat.chat_id, SubmitResults((result("look_up"),)))
        await stage.world.do(chat.chat_id, yes(chat, "look_up"))
        chat = await go_on(stage, chat)

        assert chat.awaiting is not None
        assert chat.awaiting.kind is Need.RESULT
        with pytest.raises(CallNotOpen):
            await stage.world.do(chat.chat_id, yes(chat, "look_up"))
        await stage.world.do(chat.chat_id, SubmitResults((result("look_up"),)))
        stage.models = ScriptedModels(says("ok"))
        chat = await go_on(stage, chat)
        assert answers(await stage.history(chat))["look_up"].output == "42"


async def test_nobody_decides_in_time_and_the_turn_goes_on() -> None:
    effects = Effects()
    tools = Functions(effects.tool("a"), effects.tool("c"))
    options = replace(policy(ASK_A), await_s={Need.APPROVAL: 60.0})
    async with staged(calls("a", "c"), tools=tools, options=options) as stage:
        chat = await stage.turn()
        await stage.world.pass_deadline(chat)
        await expire(stage.world.ledger, chat.chat_id)
        with pytest.raises(NotLawful):
            await stage.world.do(chat.chat_id, yes(chat, "a"))
        stage.models = ScriptedModels(says("ok"))
        chat = await go_on(stage, chat)

        assert effects.done == ["c"]
        assert answers(await stage.history(chat))["a"].synthetic is Synthetic.EXPIRED


async def test_broken_arguments_and_unknown_tools_are_nobodys_to_approve() -> None:
    effects = Effects()
    script = of_one(call(1, "a", "1", '{"n": '), call(2, "nowhere", "2"))
    ask_all = replace(QUICK, approvals=Policy(default=RuleAction.ASK))
    tools = Functions(effects.tool("a"))
    async with staged(script, says("ok"), tools=tools, options=ask_all) as stage:
        chat = await stage.turn()

        assert chat.status is Status.IDLE
        found = answers(await stage.history(chat))
        assert "not a JSON object" in str(found["1"].output)
        assert "no tool called" in str(found["2"].output)


# Mutants: each check, with what it protects taken away.


def _digest_unchecked(patch: pytest.MonkeyPatch) -> None:
    """Any decision counts for any call."""
    decide_call = people.decide_call

    def lax(draft: Any, command: Decide, now: Any) -> None:
        digest = the_call(draft.chat, command.call_id).digest
        decide_call(draft, replace(command, digest=digest), now)

    patch.setattr(people, "decide_call", lax)


def _definition_unnoticed(patch: pytest.MonkeyPatch) -> None:
    """A digest covers the arguments only."""
    patch.setattr(ToolSpec, "definition", property(lambda self: {}))


def _unchecked_before_the_run(patch: pytest.MonkeyPatch) -> None:
    """What was approved once is run, whatever it has become."""

    def nothing(*_: object) -> None:
        return None

    patch.setattr(call_plan, "refusal_to_run", nothing)


def _deny_ignored(patch: pytest.MonkeyPatch) -> None:
    """A rule that denies lets everything through."""
    strict = StepPolicy.judge

    def lenient(
        self: StepPolicy, chat: Chat, call: ToolCall, spec: ToolSpec, sources: Collection[str] = ()
    ) -> Any:
        judged = strict(self, chat, call, spec, sources)
        return (
            replace(judged, verdict=RuleAction.ALLOW)
            if judged.verdict is RuleAction.DENY
            else judged
        )

    patch.setattr(StepPolicy, "judge", lenient)


def _ask_ignored(patch: pytest.MonkeyPatch) -> None:
    """Nobody is asked."""

    def free(call: ToolCall, *_: object) -> ToolCall:
        return call

    patch.setattr(judging, "_gated", free)


def _hasty_neighbours(patch: pytest.MonkeyPatch) -> None:
    """What needs nobody runs while others wait."""
    from holdfast.turn import commits

    for module in (driver, commits):
        patient: Any = module.next_step

        def hasty(chat: Chat, patient: Any = patient) -> Any:
            free = tuple(call for call in chat.open_calls if call.needs is Need.NOTHING)
            running = chat.status is Status.RUNNING
            return RunTools(free) if free and running else patient(chat)

        patch.setattr(module, "next_step", hasty)


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        (_digest_unchecked, a_decision_names_what_it_is_about),
        (_definition_unnoticed, a_tool_that_changed_is_not_run),
        (_unchecked_before_the_run, a_tool_that_changed_is_not_run),
        (_unchecked_before_the_run, a_rule_that_came_meanwhile_denies),
        (_deny_ignored, deny_rules_hold),
        (_deny_ignored, nothing_runs_beside_what_may_yet_be_denied),
        (_ask_ignored, nothing_runs_beside_what_may_yet_be_denied),
        (_hasty_neighbours, nothing_runs_beside_what_may_yet_be_denied),
    ],
)
async def test_mutants_are_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await check()
