"""A long turn on a model with a small window: a worker that drives, and readers on another replica.

The worker has a `WorkingModel` and its tool in place of what is configured; a tap in front of
PostgreSQL counts its statements.
"""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from holdfast.bootstrap import Adapters, Server
from holdfast.domain.chat import Chat, Status
from holdfast.domain.events import EventType
from holdfast.domain.messages import Message, Role
from holdfast.stream.events import StreamEvent
from holdfast.tools.toolbox import Functions
from tests.support.builders import user
from tests.support.replica import Replicas, ask, at_rest
from tests.support.streams import Recorder, recording
from tests.support.watch_cost import BACKGROUND, BUS, name_of
from tests.support.windowed import Work, WorkingModel
from tests.support.wire import WireTap, tapped

OUTPUT_BYTES: Final = 750
_COMPACTION: Final = re.compile(r"Db+s*EMS")
"""Decided, begun and told, ended, stored as a message, and then no longer asked for."""


@dataclass(frozen=True)
class LongTurn:
    """`whole`, `joined`: what is wrong with the order in which readers on another replica were
    told, from the first event on and from the middle of a summary on."""

    chat: Chat
    history: Sequence[Message]
    model: WorkingModel
    work: Work
    whole: Sequence[str]
    joined: Sequence[str]
    statements: Counter[str]
    """Of the worker, without those that happen whether a chat is driven or not."""

    @property
    def compactions(self) -> int:
        return sum(message.body.role is Role.BOUNDARY for message in self.history)

    @property
    def commits_and_reads(self) -> int:
        """How often a worker asks for chats says how busy the machine is: left out."""
        return self.statements.total() - self.statements["acquire_chats"]

    def wrong(self) -> list[str]:
        wrong = [] if self.chat.status is Status.IDLE else [f"it ended {self.chat.error}"]
        steps = list(range(1, self.model.steps + 1))
        wrong += [] if self.work.done == steps else ["a step was lost, or done twice"]
        if [message.body.role for message in self.history].count(Role.USER) != 1:
            wrong.append("a message that no person sent")
        for name, told in (
            ("the reader", self.whole),
            ("the reader that joined late", self.joined),
        ):
            wrong += [f"{name}: {each}" for each in told]
        return wrong


@dataclass
class Cell:
    """Of the turns that are measured one after another."""

    api: Server
    worker: Server
    tap: WireTap
    models: list[WorkingModel]
    works: list[Work]

    async def long_turn(self, *, late: bool = True) -> LongTurn:
        """One chat, until it rests. `late`: a second reader joins in the middle of a summary."""
        model, work = self.models[-1], self.works[-1]
        assert self.api.hub is not None
        mark = len(self.tap.seen())
        chat = await ask(self.api, user("Do all the steps."))
        async with recording(self.api.hub, chat.chat_id) as reader:
            if late:
                assert model.hold is not None
                await reader.until(lambda r: signs_of(r.events[-1:]).endswith("s"), within_s=300)
                async with recording(self.api.hub, chat.chat_id) as other:
                    await other.until(lambda r: "s" in signs_of(r.events))
                    model.hold.until.set()
                    await _to_the_end(reader)
                    await _to_the_end(other)
                joined = broken(other.events, begun=True)
            else:
                await _to_the_end(reader)
                joined = []
        chat = await at_rest(self.api, chat.chat_id)
        page = await self.api.adapters.history.page(chat.chat_id, limit=100_000)
        return LongTurn(
            chat,
            page.messages,
            model,
            work,
            broken(reader.events),
            joined,
            self._statements(mark),
        )

    def _statements(self, mark: int) -> Counter[str]:
        seen = (each for each in self.tap.seen()[mark:] if each.application != BUS)
        return Counter(name for each in seen if (name := name_of(each)) not in BACKGROUND)


async def _to_the_end(reader: Recorder) -> None:
    await reader.until(lambda r: r.status == "idle", within_s=600)


def broken(events: Sequence[StreamEvent], *, begun: bool = False) -> list[str]:
    """What a reader was told of compactions in another order than the one promised. `begun`: the
    first one may have been decided before the reader came."""
    signs = signs_of(events)
    told = re.sub(r"^[SD]*", "D", signs) if begun else signs
    left = re.sub(r"S+", "", _COMPACTION.sub("", told))
    return [f"out of order: {left}"] if left else []


def signs_of(events: Sequence[StreamEvent]) -> str:
    """One letter for each event of a compaction."""
    signs: list[str] = []
    for event in events:
        data: Any = orjson.loads(event.data)
        match event.kind:
            case EventType.PREVIEW_DELTA:
                signs += [
                    _DELTAS[each["type"]] for each in data["deltas"] if each["type"] in _DELTAS
                ]
            case EventType.MESSAGE_CREATED if data["role"] == "summary":
                signs.append("M")
            case EventType.CHAT_STATE:
                signs.append("D" if data.get("compaction") else "S")
            case _:
                pass
    return "".join(signs)


_DELTAS: Final = {"summary_started": "b", "summary": "s", "summary_ended": "E"}


@asynccontextmanager
async def working_cell(
    replicas: Replicas, model: WorkingModel, *, steps_max: int = 1_000
) -> AsyncGenerator[Cell]:
    work = Work(output_bytes=OUTPUT_BYTES)

    def around(adapters: Adapters) -> Adapters:
        return replace(adapters, models=model, tools=Functions(work.tool()))

    async with (
        tapped(replicas.database_url) as tap,
        replicas.open(role="api", within_s=900) as api,
        replicas.open(
            around, role="worker", within_s=900, database_url=tap.url, steps_max=steps_max
        ) as worker,
    ):
        yield Cell(api, worker, tap, [model], [work])
