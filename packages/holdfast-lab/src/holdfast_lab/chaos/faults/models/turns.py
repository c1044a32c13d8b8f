"""A turn under a fault, driven by a worker and told to a reader on another replica."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import uuid4

import orjson

from holdfast.bootstrap import Server
from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.chat import Chat, Status
from holdfast.domain.events import EventType
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Message
from holdfast.stream.cursor import Cursor
from holdfast.stream.events import StreamEvent
from holdfast.stream.hub import Hub
from holdfast_client.view import EMPTY, WireEvent, WireView, reduce
from holdfast_lab.chaos.faults.models.documented import Documented
from holdfast_lab.chaos.harness.people import ACTOR, user
from holdfast_simulator.faults import Fault

ATTEMPTS_MAX: Final = 3
DELAY_S_MAX: Final = 0.4
HURRIED: Final = {"first_part_s": 1.5, "silence_s": 1.5, "progress_s": 1.5, "thinking_s": 1.5}
LONG_S: Final = 2.0
"""A wait long enough for an interrupt in the middle of it."""
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


PATHS: Final = {"anthropic": "", "responses": "/v1", "chat": "/v1", "gemini": "/v1beta"}
TURN_S: Final = 60.0


def models_of(url: str) -> list[dict[str, Any]]:
    """Each wire, in a hurry and (for what is slow and right) not."""
    return [
        {
            "name": name,
            "vendor": f"simulator-{wire}",
            "model": model,
            "base_url": url + PATHS[wire],
            "api_key": "any",
            **deadlines,
        }
        for wire, model in MODELS.items()
        for name, deadlines in ((wire, HURRIED), (f"{wire} slowly", {}))
    ]


def settings_of(simulator: str, delay_s_max: float = DELAY_S_MAX) -> dict[str, Any]:
    """Of a server whose models fail."""
    return {
        "models": models_of(simulator),
        "default_model": next(iter(MODELS)),
        "attempts_max": ATTEMPTS_MAX,
        "retry_first_delay_s": delay_s_max,
        "retry_delay_s_max": delay_s_max,
    }


@dataclass(frozen=True, slots=True)
class Told:
    """One event, as a reader got it."""

    kind: str
    data: dict[str, Any]
    at_s: float
    cursor: Cursor | None = None


@dataclass(eq=False)
class Account:
    """A turn under a fault, as a reader on another replica was told of it."""

    row: Documented
    always: bool
    """The fault strikes every attempt at the first reply; else only the first attempt."""
    delay_s_max: float = DELAY_S_MAX
    chat: Chat | None = None
    told: list[Told] = field(default_factory=list[Told])
    view: WireView = EMPTY
    stored: Sequence[Message] = ()
    token: str = field(default_factory=lambda: uuid4().hex)
    """In the prompt, so that the simulator's record tells whose request it was."""
    waits_s: list[float] = field(default_factory=list[float])
    attempts_s: list[float] = field(default_factory=list[float])
    latecomers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The retry, as readers were told it that came during the wait."""
    came_after: int = 0
    """Readers that were to come during the wait, and came when the next attempt had begun."""

    @property
    def name(self) -> str:
        return f"{self.row.fault} on {self.row.wire}{', always' if self.always else ''}"

    @property
    def ended(self) -> bool:
        """The last event was that the turn is over, and, if it failed, why."""
        last = self.told[-1]
        if last.kind != EventType.CHAT_STATE or not self.view.messages:
            return False
        return last.data["status"] == Status.IDLE or last.data["error"] is not None

    def said(self, fact: Literal["retry", "error"]) -> list[dict[str, Any]]:
        """Every one that a `chat.state` told of."""
        states = [told.data for told in self.told if told.kind == EventType.CHAT_STATE]
        return [state[fact] for state in states if state[fact] is not None]

    def take(self, event: StreamEvent) -> None:
        wire = WireEvent.from_bytes(event.json())
        cursor = Cursor.parse(wire.cursor) if wire.cursor else None
        self.told.append(Told(wire.type, wire.data, _now_s(), cursor))
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


def prompt(account: Account) -> str:
    often = "always" if account.always else "once"
    return (
        f"Under {account.row.fault} {often}, on {account.row.wire}, {account.token}? "
        '[[sim: think "The sky, then." | say "Let me see what the sky says today." '
        '| call clock {"city":"Oslo or Bergen, whichever is drier"} | then | say "Dry."]]'
    )


def is_quick(account: Account) -> bool:
    """Whether it takes no time: those that do are begun first."""
    return account.row.hint_s < LONG_S and not account.row.fault.startswith(("hang", "pings"))


async def play(server: Server, account: Account) -> ChatId:
    """One turn, from the first word to its end, as a reader at this replica is told of it."""
    row, hub = account.row, server.hub
    assert hub is not None
    model = f"{row.wire} slowly" if row.fault in SLOW else row.wire
    # Without a message no worker drives it: the reader is there before the first word.
    chat_id = (await create(server.ledger, server.adapters.ids, ACTOR)).chat.chat_id
    async with asyncio.timeout(TURN_S), hub.follow(chat_id, None) as events:
        account.take(await anext(events))
        await send(server.ledger, ACTOR, chat_id, user(prompt(account), model=model))
        async for event in events:
            account.take(event)
            retry = account.view.retry if event.kind is EventType.CHAT_STATE else None
            if retry is not None and row.hint_s >= LONG_S:
                await _come_late(hub, chat_id, account, retry["attempt"])
            if account.ended:
                break
    account.chat = await _at_rest(server, chat_id)
    account.stored = (await server.adapters.history.page(chat_id, limit=100)).messages
    return chat_id


async def _at_rest(server: Server, chat_id: ChatId) -> Chat:
    async with asyncio.timeout(TURN_S):
        while True:
            loaded = await server.adapters.store.load(chat_id)
            assert loaded is not None
            chat = loaded.facts.chat
            if chat.status not in (Status.RUNNING, Status.INTERRUPTING) and chat.worker_id is None:
                return chat
            await asyncio.sleep(0.02)


async def _come_late(hub: Hub, chat_id: ChatId, account: Account, attempt: int) -> None:
    """Two readers come during the wait after this attempt: one that knows nothing, and one that
    lost its connection before the wait began."""
    lost = next(told.cursor for told in account.told if told.cursor is not None)
    for after in (None, lost):
        async with hub.follow(chat_id, after) as events:
            await _hear_retry(events, account, attempt)


async def _hear_retry(events: AsyncIterator[StreamEvent], account: Account, attempt: int) -> None:
    """Until the retry is told, or the next attempt. A reader whose first status is of the next
    attempt came after the wait: the machine was busy. Each other reader must be told the retry."""
    in_time = False
    async for event in events:
        if event.kind is not EventType.CHAT_STATE:
            continue
        data = orjson.loads(event.data)
        if data["attempt"] != attempt:
            account.came_after += not in_time
            return
        if data["retry"] is not None:
            account.latecomers.append(data["retry"])
            return
        in_time = True


def _now_s() -> float:
    return asyncio.get_running_loop().time()
