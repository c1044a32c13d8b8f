"""The prompt of a chat keeps its beginning while everything around the chat changes: no thinking is
refused by a model that binds it, and the provider's prompt cache is hit."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import pytest

from holdfast.adapters.postgres import store
from holdfast.adapters.postgres.queries import Query
from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.models import LeftOut
from holdfast.admin.registry import Setting
from holdfast.admin.settings import INSTRUCTIONS
from holdfast.chats.create import fork
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import CommitStep, FinishTurn, Fork, RequestCompaction, SendMessage
from holdfast.domain.events import is_shown
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.parts import Context, Text
from holdfast.ports.org_settings import Current, Fixed
from holdfast.ports.tools import Effect, Run, Toolbox, ToolContext, ToolOutput, ToolSpec
from holdfast.ports.workspaces import Template
from holdfast.tools.toolbox import Function, Functions
from holdfast.tools.workspace.awareness import without
from holdfast.turn import prefix as prefix_module
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.session import TurnSession
from holdfast_simulator.server import Config, Simulator, running
from tests.support.builders import user
from tests.support.turns import OPTIONS, Turns, turns_on
from tests.support.world import ACTOR

FACTS = replace(facts_of(VENDORS["anthropic"], "claude-opus-5-5"), output_max=60)
"""A model that binds its thinking, with a limit that cuts the second reply of `FIRST`."""
FIRST = (
    'Begin. [[sim: think "one" | say "Look." | call look {} '
    '| then | think "two" | count=80 | think "three" | say "And the rest."]]'
)
SECOND = 'Go on. [[sim: think "four" | call look {} | then | think "five" | say "Done."]]'
LONG = "You help. " * 1000
"""Shorter prompts are not cached."""
T = TypeVar("T")


@dataclass(frozen=True)
class Instructed:
    """What the admins of the organisation have set."""

    instructions: str

    def current(self, setting: Setting[T]) -> Current[T]:
        instructions = setting.name == INSTRUCTIONS.name
        return Fixed(cast(T, self.instructions) if instructions else setting.default)


def spec(name: str, description: str) -> ToolSpec:
    return ToolSpec(name=name, description=description, effect=Effect.REPEATABLE)


async def ran(_run: Run) -> ToolOutput:
    return ToolOutput("seen")


class Worker(Functions):
    """The tools of one release, beside a workspace that tells of itself."""

    def __init__(self, section: str, **tools: str) -> None:
        super().__init__(*(Function(spec(name, text), ran) for name, text in tools.items()))
        self._section = section

    @asynccontextmanager
    async def open(self, context: ToolContext) -> AsyncGenerator[Toolbox]:
        yield self

    async def sections(self) -> Sequence[str]:  # pyright: ignore[reportImplicitOverride]
        return (self._section,)


def workspace(agents: str) -> str:
    return f'# Workspace\n\nThis chat has a workspace.\n<file path="AGENTS.md">\n{agents}\n</file>'


@dataclass
class Talk:
    """A chat whose every turn runs in a new process: nothing is remembered but what is stored."""

    turns: Turns
    simulator: Simulator
    chat: Chat | None = None

    async def turn(
        self, text: str, tools: Worker, *, instructions: str = "", system: str = LONG
    ) -> Chat:
        driver = self.turns.process(
            tools=tools,
            options=replace(OPTIONS, system=(system,)),
            settings=Instructed(instructions),
            facts=FACTS,
        )
        world = self.turns.world
        if self.chat is None:
            chat = await world.running(user(text, model="anthropic", effort="low"))
        else:
            await world.do(self.chat.chat_id, SendMessage(user(text)))
            (chat,) = await world.acquire(await world.a_worker())
        self.chat = await driver.drive(chat, Interrupts(chat))
        assert self.chat.status is Status.IDLE, self.chat.error
        return self.chat

    async def compact(self) -> None:
        """By hand: the simulator would rather call a tool than write a summary."""
        assert self.chat is not None
        world = self.turns.world
        await world.do(self.chat.chat_id, RequestCompaction())
        (chat,) = await world.acquire(await world.a_worker())
        boundary = MessageBody(role=Role.BOUNDARY, parts=(Text("All is well."),))
        await world.drive(chat, CommitStep((boundary,)), FinishTurn())

    async def fork(self) -> None:
        """Go on in a fork of the chat."""
        assert self.chat is not None
        world = self.turns.world
        commit = await fork(world.ledger, world.ids, ACTOR, self.chat.chat_id, Fork())
        self.chat = commit.chat

    @property
    def refusals(self) -> list[str | None]:
        return [entry.rejected_by for entry in self.simulator.record if entry.status != 200]

    def bodies(self) -> list[dict[str, Any]]:
        return [entry.body for entry in self.simulator.record if entry.body is not None]

    def reads(self) -> list[tuple[int, int]]:
        """Of each request: the tokens of its prompt, and how many came from the cache."""
        billed = [entry.billed for entry in self.simulator.record]
        return [(each.input_tokens, each.cache_read_tokens) for each in billed if each is not None]


@pytest.fixture
async def talk(template: str) -> AsyncGenerator[Talk]:
    async with running(Config()) as simulator, turns_on(template, simulator.url) as turns:
        yield Talk(turns, simulator)


BEFORE = Worker(
    without(None, [Template(name="small")]), look="Look around.", gone="Of this release."
)
AFTER = Worker(workspace("Use tabs."), look="Look around, or elsewhere.")


async def changed_around(talk: Talk) -> None:
    """Two turns; between them everything that a prompt begins with becomes another."""
    await talk.turn(FIRST, BEFORE, instructions="Be kind.")
    await talk.turn(SECOND, AFTER, instructions="Be brief.", system="You help, and say so.")


async def test_nothing_is_refused_and_the_cache_is_hit_though_everything_around_it_changed(
    talk: Talk,
) -> None:
    await changed_around(talk)

    assert talk.refusals == []
    bodies, reads = talk.bodies(), talk.reads()
    first_turn = 3  # a call, a reply that was cut, and its rest
    assert len(bodies) == first_turn + 2
    assert len({str([body["system"], body["tools"]]).replace("cache", "") for body in bodies}) == 1
    prompt, _ = reads[first_turn - 1]
    assert reads[first_turn][1] >= prompt
    news = str(bodies[first_turn]["messages"][-1])
    for told in ("Use tabs.", "Be brief.", "You help, and say so.", "or elsewhere"):
        assert told in news
    assert 'name="Tool gone"' in news
    assert "Be kind." not in news


async def test_news_are_told_once_and_readers_do_not_see_them(talk: Talk) -> None:
    await changed_around(talk)
    await talk.turn(SECOND, AFTER, instructions="Be brief.", system="You help, and say so.")
    chat = await talk.turn(SECOND, AFTER, system="You help, and say so.")

    assert talk.refusals == []
    messages = await talk.turns.world.read(chat.chat_id)
    news = [message.body for message in messages if message.body.role is Role.SYSTEM]
    assert [len(body.parts) for body in news] == [1 + 5, 1 + 1]
    assert news[1].parts[1] == Context("Organisation instructions", prefix_module.SECTION_GONE)
    assert not any(map(is_shown, news))
    assert sum(message.body.prefix is not None for message in messages) == 1
    assert await talk.turns.world.violations([chat.chat_id]) == []


async def test_added_tool_can_be_called_and_thinking_before_it_is_left_out(talk: Talk) -> None:
    await talk.turn(FIRST, BEFORE)
    added = Worker(workspace("Use tabs."), look="Look around.", fresh="New.")
    chat = await talk.turn(SECOND.replace("call look", "call fresh"), added)
    await talk.turn(SECOND, added)

    assert talk.refusals == []
    assert {tool["name"] for tool in talk.bodies()[-1]["tools"]} == {"look", "fresh"}
    messages = await talk.turns.world.read(chat.chat_id)
    assert sum(message.body.prefix is not None for message in messages) == 2


async def test_boundary_decides_the_prefix_anew(talk: Talk) -> None:
    await changed_around(talk)
    await talk.compact()
    await talk.turn(SECOND, AFTER, instructions="Be brief.")

    assert talk.refusals == []
    last = talk.bodies()[-1]
    assert "Use tabs." in str(last["system"])
    assert "has changed since this chat began" not in str(last["messages"])


async def test_fork_is_not_refused_and_hits_the_cache_of_its_origin(talk: Talk) -> None:
    """Its prompt begins with the same prefix, and the news for the model stand where they stood."""
    await changed_around(talk)
    before = len(talk.bodies())
    await talk.fork()
    chat = await talk.turn(SECOND, AFTER, instructions="Be brief.", system="You help, and say so.")

    assert talk.refusals == []
    bodies, reads = talk.bodies(), talk.reads()
    origin, forked = bodies[before - 1]["messages"], bodies[before]["messages"]
    assert "Use tabs." in str(forked)
    assert str(forked[: len(origin)]).count("thinking") == str(origin).count("thinking") > 0
    prompt, _ = reads[before - 1]
    assert reads[before][1] >= prompt
    messages = await talk.turns.world.read(chat.chat_id)
    assert sum(message.body.prefix is not None for message in messages) == 1
    assert not any(is_shown(m.body) for m in messages if m.body.role is Role.SYSTEM)
    assert await talk.turns.world.violations([chat.chat_id]) == []


async def test_interrupted_reply_keeps_what_its_prompt_began_with(talk: Talk) -> None:
    """Also a reply that was only begun is replayed behind the prefix that it was made with."""
    await talk.turn('Begin. [[sim: think "one" | count=80]]', BEFORE)
    chat = await talk.turn(SECOND, AFTER)

    messages = await talk.turns.world.read(chat.chat_id)
    assert messages[1].body.ending is Ending.LENGTH
    assert messages[1].body.prefix is not None
    assert talk.refusals == []


# What these tests are worth: without a protection they fail.


def prefix_follows(patch: pytest.MonkeyPatch) -> None:
    """System prompt and tools are those of the moment, as before."""

    async def current(self: TurnSession, _prompt: Any, toolbox: Toolbox, **_: Any) -> Any:
        specs = tuple(toolbox.specs.values())
        sections = self.turn.tools.sections or ()
        now = self.services.rules.prefix_of(self.turn.chat, sections, specs)
        return prefix_module.SentPrefix(now)

    patch.setattr(TurnSession, "prefix", current)


def no_recovery(patch: pytest.MonkeyPatch) -> None:
    """A refusal of thinking ends the turn, as before."""

    def final(*_: object) -> None:
        return None

    patch.setattr(LeftOut, "less", final)


def _fork(patch: pytest.MonkeyPatch, before: str, after: str) -> None:
    source = store.FORK.source
    assert before in source
    patch.setattr(store, "FORK", Query.compile(cast(Any, source.replace(before, after))))


def fork_takes_no_news(patch: pytest.MonkeyPatch) -> None:
    """A fork takes only what people see."""
    taken = "(original.role = 'system') = (original.visibility = 'model')"
    _fork(patch, taken, "original.role <> 'system'")


def fork_takes_no_prefix(patch: pytest.MonkeyPatch) -> None:
    """The copies of a fork name no prefix, as before."""
    _fork(patch, "m.attempt,\n        m.prefix", "m.attempt,\n        null")


FORK_MUTANTS: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a fork takes no news along": fork_takes_no_news,
    "a fork takes no prefix along": fork_takes_no_prefix,
}


@pytest.mark.parametrize("name", FORK_MUTANTS)
async def test_mutant_of_forks_is_caught(
    talk: Talk, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    FORK_MUTANTS[name](monkeypatch)
    with pytest.raises(AssertionError):
        await test_fork_is_not_refused_and_hits_the_cache_of_its_origin(talk)
    assert "thinking-bound" in talk.refusals


MUTANTS: Mapping[str, tuple[Callable[[pytest.MonkeyPatch], None], ...]] = {
    "the prefix follows the sections": (prefix_follows,),
    "the prefix follows the sections, and refusals are final": (prefix_follows, no_recovery),
}


@pytest.mark.parametrize("name", MUTANTS)
async def test_mutant_is_caught(talk: Talk, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for mutate in MUTANTS[name]:
        mutate(monkeypatch)
    with pytest.raises(AssertionError):
        await test_nothing_is_refused_and_the_cache_is_hit_though_everything_around_it_changed(talk)
    assert "thinking-bound" in talk.refusals
