"""An advisor over scripted models, and the short words of its tests."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from holdfast.admin.current import CurrentSettings
from holdfast.domain.chat import Chat
from holdfast.domain.messages import Message
from holdfast.domain.parts import ToolResult
from holdfast.ports.tools import Tools
from holdfast.tools.advisor import Advisor, AdvisorTerms
from holdfast.tools.toolbox import Combined
from tests.support.builders import user
from tests.support.doubles import FixedSettings
from tests.support.scripted import End, Item, ScriptedModels, call
from tests.support.stage import Stage, driving, staged, until

TERMS = AdvisorTerms(model="oracle", effort="high", uses_max=2, output_max=4_000)


class HandClock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


def asks_advisor(*call_ids: str, question: str = "Which way?", also: str = "") -> list[Item]:
    """A reply that calls the advisor, and `also` another tool."""
    items: list[Item] = []
    for index, call_id in enumerate(call_ids):
        items += call(index, "advisor", call_id, f'{{"question": "{question}"}}')
    if also:
        items += call(len(call_ids), also, also)
    return [*items, End()]


@dataclass
class Advised:
    """`told`: what each call of the advisor took, in seconds."""

    stage: Stage
    advisor: Advisor
    oracle: ScriptedModels
    told: list[float] = field(default_factory=list[float])

    async def results(self, chat: Chat) -> list[ToolResult]:
        return results_of(await self.stage.history(chat))


def results_of(history: Sequence[Message]) -> list[ToolResult]:
    parts = (part for message in history for part in message.body.parts)
    return [part for part in parts if isinstance(part, ToolResult)]


def kinds_of(results: Sequence[ToolResult]) -> list[str]:
    return [_kind(result.output) for result in results if result.tool == "advisor"]


def _kind(output: Any) -> str:
    return str(output["type"]) if isinstance(output, dict) else "words"  # pyright: ignore[reportUnknownArgumentType]


def settings_of(terms: AdvisorTerms | None) -> CurrentSettings:
    uses = 0 if terms is None else terms.uses_max or 0
    return FixedSettings({"advisor_uses_max": uses})


@asynccontextmanager
async def advised(
    *scripts: Any,
    answers: Sequence[Any] = (),
    beside: Tools | None = None,
    terms: AdvisorTerms | None = TERMS,
    **more: Any,
) -> AsyncGenerator[Advised]:
    """A stage whose chats have an advisor that answers so."""
    oracle = ScriptedModels(*answers)
    told: list[float] = []
    advisor = Advisor(
        oracle, HandClock(), lambda _: terms, first_delay_s=0.001, waited=told.append, **more
    )
    tools: Tools = advisor if beside is None else Combined(advisor, beside)
    async with staged(*scripts, tools=tools) as stage:
        yield Advised(stage.with_settings(settings_of(terms)), advisor, oracle, told)
    assert not oracle.unconsumed, f"{oracle.unconsumed} answers were never asked for"


async def killed_in_mid_advice(here: Advised, hold: asyncio.Event) -> Chat:
    """A worker dies while the advisor speaks; the chat as its successor finds it."""
    chat = await here.stage.world.running(user())
    calls = here.advisor.counters.calls
    async with driving(here.stage, chat) as (task, _):
        await until(lambda: here.advisor.counters.calls > calls)
        task.cancel()
    hold.set()
    return await here.stage.again(await here.stage.world.load(chat.chat_id))
