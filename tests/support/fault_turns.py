"""Every provider fault as a turn on one replica, told to a reader on another."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import orjson

from holdfast.bootstrap import Adapters, Server
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import SendMessage
from holdfast.domain.events import EventKind
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Message
from holdfast.ports.bus import Bus, Hint
from holdfast.ports.models import Ask, Models, ModelStream
from holdfast.prove.stage.simulator import simulator_process
from holdfast.simulator.faults import Fault
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent
from holdfast.stream.hub import Hub
from holdfast.stream.view import EMPTY, ChatView, WireEvent, reduce
from tests.support.builders import OWNER, user
from tests.support.database import temporary_database
from tests.support.fault_page import Documented
from tests.support.replica import API_KEY, Elsewhere, Replicas, add_owners, ask, at_rest
from tests.support.simulated import PATHS
from tests.support.world import ACTOR

ATTEMPTS_MAX: Final = 3
DELAY_S_MAX: Final = 0.4
QUICK: Final[dict[str, Any]] = {
    "attempts_max": ATTEMPTS_MAX,
}
HURRIED: Final = {"first_part_s": 1.5, "silence_s": 1.5, "progress_s": 1.5}
TOGETHER_MAX: Final = 32
"""Turns at once: who is too busy to listen is told where things stand, not how they got there."""
LONG_S: Final = 2.0
"""A wait long enough for somebody to come in the middle of it."""
SLOW: Final = (Fault.DRIP, Fault.HUGE_EVENT)
"""Slow and right, or long before it is wrong: no deadline is to come first."""
OPTIONS: Final = {
    Fault.DRIP: ["every=0"],
    Fault.PINGS_FOREVER: ["every=50"],
    Fault.PINGS_MID: ["every=50"],
}
MODELS: Final = {
    "anthropic": "claude-sonnet-4-5",
    "responses": "gpt-5.1",
    "chat": "deepseek-reasoner",
    "gemini": "gemini-3-pro-preview",
}


def models_of(url: str) -> list[dict[str, Any]]:
    """Each wire, in a hurry and (for what is slow and right) not."""
    return [
        {
            "name": name,
            "vendor": f"simulator-{wire}",
            "model": model,
            "base_url": url + PATHS[wire],
            "api_key": API_KEY,
            **deadlines,
        }
        for wire, model in MODELS.items()
        for name, deadlines in ((wire, HURRIED), (f"{wire} slowly", {}))
    ]


class Attempts:
    """The models, and when each chat's attempts were really made."""

    def __init__(self, models: Models, times: "Times") -> None:
        self.cost_micros = models.cost_micros
        self.context_window = models.context_window
        self._models = models
        self._times = times

    def stream(self, ask: Ask) -> ModelStream:
        self._times.attempts.setdefault(ask.chat_id, []).append(_now_s())
        return self._models.stream(ask)


class Waits:
    """The bus, and when each wait between two attempts was told to it."""

    def __init__(self, bus: Bus, times: "Times") -> None:
        self.append, self.read_live = bus.append, bus.read_live
        self.subscribe, self.subscribe_work = bus.subscribe, bus.subscribe_work
        self.subscribe_lists = bus.subscribe_lists
        self.counters = bus.counters
        self._bus = bus
        self._times = times

    async def publish(self, hints: Sequence[Hint]) -> None:
        for hint in hints:
            if b" retry {" in hint.inline:
                self._times.waits.setdefault(hint.chat_id, []).append(_now_s())
        await self._bus.publish(hints)


@dataclass
class Times:
    """What really happened, on the loop's clock, by chat."""

    attempts: dict[ChatId, list[float]] = field(default_factory=dict[ChatId, list[float]])
    waits: dict[ChatId, list[float]] = field(default_factory=dict[ChatId, list[float]])

    def around(self, adapters: Adapters) -> Adapters:
        return replace(
            adapters, models=Attempts(adapters.models, self), bus=Waits(adapters.bus, self)
        )


@dataclass(frozen=True, slots=True)
class Told:
    kind: str
    data: dict[str, Any]
    at_s: float


@dataclass
class Account:
    """A turn under a fault, as a reader on another replica was told of it."""

    row: Documented
    always: bool
    """The fault strikes every attempt at the first reply; else only the first attempt."""
    delay_s_max: float = DELAY_S_MAX
    chat: Chat | None = None
    told: list[Told] = field(default_factory=list[Told])
    cursors: list[str] = field(default_factory=list[str])
    view: ChatView = EMPTY
    stored: Sequence[Message] = ()
    waits_s: list[float] = field(default_factory=list[float])
    attempts_s: list[float] = field(default_factory=list[float])
    latecomers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The retry, as readers were told it who came during the wait."""

    @property
    def name(self) -> str:
        return f"{self.row.fault} on {self.row.wire}{', always' if self.always else ''}"

    @property
    def ended(self) -> bool:
        """The last event was that the turn is over, and, if it failed, why."""
        last = self.told[-1]
        idle = last.kind == EventKind.STATUS and last.data["status"] == Status.IDLE
        return bool(self.view.messages) and (idle or last.kind == EventKind.ERROR)

    def take(self, event: StreamEvent) -> None:
        wire = WireEvent.of(event)
        self.told.append(Told(wire.kind, wire.data, _now_s()))
        self.cursors += [wire.cursor] if wire.cursor else []
        self.view = reduce(self.view, wire)


def script() -> bytes:
    """What the simulator is to do: the fault strikes the first reply, and the second goes well."""
    steps = [
        {
            "when": {"prompt": f"^Under {fault} {often}", "step": 0},
            "do": " | ".join([f"fault={fault}", *often_do, *OPTIONS.get(fault, [])]),
        }
        for fault in Fault
        for often, often_do in (("once", ["times=1"]), ("always", []))
    ]
    return orjson.dumps({"steps": steps})


def _prompt(account: Account) -> str:
    often = "always" if account.always else "once"
    return (
        f'Under {account.row.fault} {often}, on {account.row.wire}? [[sim: think "The sky, then." '
        '| say "Let me see what the sky says today." '
        '| call clock {"city":"Oslo or Bergen, whichever is drier"} | then | say "Dry."]]'
    )


async def run(
    cell: Replicas,
    accounts: Sequence[Account],
    together_max: int = TOGETHER_MAX,
    delay_s_max: float = DELAY_S_MAX,
) -> None:
    """Many of them at once: one replica drives, and the readers are on another."""
    times, room = Times(), asyncio.Semaphore(together_max)

    async def one(account: Account) -> None:
        async with room:
            await _one(drives, serves, account, times)

    delays = {"retry_first_delay_s": delay_s_max, "retry_delay_s_max": delay_s_max}
    given: dict[str, Any] = {"models": models_of(cell.simulator.url), **QUICK, **delays}
    async with (
        cell.open(times.around, within_s=100, role="worker", **given) as drives,
        cell.open(within_s=100, role="api", **given) as serves,
        asyncio.TaskGroup() as group,
    ):
        for account in sorted(accounts, key=_quick):
            group.create_task(one(account))


def _quick(account: Account) -> bool:
    """Whether it takes no time: those that do are begun first."""
    return account.row.hint_s < LONG_S and not account.row.fault.startswith(("hang", "pings"))


async def _one(drives: Server, serves: Server, account: Account, times: Times) -> None:
    row, hub = account.row, serves.hub
    assert hub is not None
    model = f"{row.wire} slowly" if row.fault in SLOW else row.wire
    # Without a message nobody drives it: the reader is there before the first word.
    chat_id = (await ask(drives)).chat_id
    async with hub.follow(chat_id, None) as events:
        account.take(await anext(events))
        said = SendMessage(user(_prompt(account), model=model))
        await drives.ledger.transact(chat_id, said, by=ACTOR)
        async for event in events:
            account.take(event)
            if event.kind is EventKind.RETRY and row.hint_s >= LONG_S:
                await _come_late(hub, chat_id, account)
            if account.ended:
                break
    account.chat = await at_rest(drives, chat_id)
    account.stored = (await drives.adapters.history.page(chat_id, limit=100)).messages
    account.waits_s = times.waits.get(chat_id, [])
    account.attempts_s = times.attempts.get(chat_id, [])


async def _come_late(hub: Hub, chat_id: ChatId, account: Account) -> None:
    """One that knows nothing, and one that lost its connection before the wait began."""
    for after in (None, Cursor.parse(account.cursors[0])):
        async with asyncio.timeout(5), hub.follow(chat_id, after) as events:
            async for event in events:
                if event.kind is EventKind.RETRY:
                    account.latecomers.append(orjson.loads(event.data))
                    break


@asynccontextmanager
async def faulty_cell(template: str, folder: Path) -> AsyncGenerator[Replicas]:
    path = folder / "script.json"
    path.write_bytes(script())
    async with (
        temporary_database(template) as url,
        simulator_process("--script", str(path)) as simulator_url,
    ):
        await add_owners(url, OWNER)
        yield Replicas(url, Elsewhere(simulator_url))


def _now_s() -> float:
    return asyncio.get_running_loop().time()
