"""Interrupts at every part of what is said, alone and together with the death of the speaker."""

import asyncio
import signal
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import get_args
from uuid import uuid4

from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.chats.steer import interrupt
from holdfast.domain.errors import NotLawful
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Ending, Message, Role
from holdfast.domain.parts import Synthetic, Text, ToolCall, ToolResult
from holdfast_lab.chaos.attack import Say
from holdfast_lab.chaos.faults.workers.trials import SETTLE_S, BusKind, Scene, scene, words
from holdfast_lab.chaos.faults.workers.watching import Watching, watching
from holdfast_lab.chaos.harness.cluster import Actor, Theatre, theatre
from holdfast_lab.chaos.harness.people import ACTOR, user

PARTS = 40
KILLED_AT_ONCE = 20
SAID = " \\n" + words("w", 30) + "  \\t" + words("v", 300) + " "
"""As the directive spells it: blank beginnings, ends and gaps are words, too (L10). Far longer than
any part that is waited for: on a slow machine a part holds many words, and a reply that ends before
it is interrupted is complete."""
TEXT = SAID.encode().decode("unicode_escape")
ASKED = f'{{token}} [[sim: say "{SAID}" | rate=25]]'
HANGS = f'{{token}} [[sim: say "{words("h", 5)}" | call record_once | call hang | rate=400]]'
AFTER = f'What now? [[sim: say "{words("n", 5)}" | rate=400]]'


@dataclass
class Sweep:
    """How much was shown before the stop was acknowledged, and how much of it is gone."""

    chats: int = 0
    bytes_shown: int = 0
    bytes_lost: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def keep(self, shown: str, stored: str, whole: str) -> None:
        self.chats += 1
        self.bytes_shown += len(shown.encode())
        if not stored.startswith(shown):
            kept = len(_common(shown, stored).encode())
            self.bytes_lost += len(shown.encode()) - kept
            self.wrong.append(f"shown {shown!r}, stored {stored!r}")
        if not whole.startswith(stored):
            self.wrong.append(f"stored {stored!r} was never said")


def _common(one: str, other: str) -> str:
    count = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return one[: min(len(one), len(other)) if count is None else count]


async def begin(scene: Scene, asked: str) -> ChatId:
    message = user(asked.replace("{token}", uuid4().hex))
    done = await create(scene.server.ledger, scene.server.adapters.ids, ACTOR, [message])
    return done.chat.chat_id


async def interrupt_at_part(scene: Scene, number: int, sweep: Sweep) -> None:
    """Wait for this part, interrupt twice, speak on; nothing that was shown may be missing."""
    assert scene.server.hub is not None
    chat_id = await begin(scene, ASKED)
    async with watching(scene.server.hub, chat_id) as seen:
        await seen.until(lambda: seen.parts >= number, SETTLE_S)
        await interrupt(scene.server.ledger, ACTOR, chat_id)
        shown = seen.shown
        with suppress(NotLawful):  # the first one has been dealt with already
            await interrupt(scene.server.ledger, ACTOR, chat_id)
        await send(scene.server.ledger, ACTOR, chat_id, user(AFTER))
        await seen.until_idle(4, SETTLE_S)
        sweep.wrong += seen.wrong
    _check(await scene.history(chat_id), shown, sweep)


def _check(history: tuple[Message, ...], shown: str, sweep: Sweep) -> None:
    roles = [message.body.role.value for message in history]
    if roles != ["user", "assistant", "user", "assistant"]:
        sweep.wrong.append(f"history is {roles}")
        return
    if history[1].body.ending is not Ending.INTERRUPTED:
        sweep.wrong.append(f"the partial is {history[1].body.ending}")
    sweep.keep(shown, text_of(history[1]), TEXT)


def text_of(message: Message) -> str:
    return "".join(part.text for part in message.body.parts if isinstance(part, Text))


async def interrupt_tools(scene: Scene, sweep: Sweep) -> None:
    """Interrupt while one tool has finished and another hangs: the first result stays (L03)."""
    assert scene.server.hub is not None
    chat_id = await begin(scene, HANGS)
    async with watching(scene.server.hub, chat_id) as seen:
        await seen.until(lambda: "hanging" in seen.tool_output, SETTLE_S)
        await interrupt(scene.server.ledger, ACTOR, chat_id)
        await send(scene.server.ledger, ACTOR, chat_id, user(AFTER))
        await seen.until(lambda: seen.is_idle and "n5" in str(seen.messages), SETTLE_S)
        sweep.wrong += seen.wrong
    history = await scene.history(chat_id)
    asked = [p for m in history for p in m.body.parts if isinstance(p, ToolCall)]
    results = {
        part.call_id: part
        for message in history
        for part in message.body.parts
        if isinstance(part, ToolResult)
    }
    ends = [results[call.call_id].synthetic for call in asked]
    if ends != [None, Synthetic.INTERRUPTED]:
        sweep.wrong.append(f"the calls ended as {ends}")
    roles = [message.body.role for message in history]
    if roles.index(Role.USER, 1) < max(i for i, role in enumerate(roles) if role is Role.TOOL):
        sweep.wrong.append(f"a result after the next user message: {roles}")


async def interrupt_and_kill(scene: Scene, victim: Actor, chats: int, sweep: Sweep) -> None:
    """Freeze the owner in mid-speech, interrupt all its chats, kill it; the successor knows what
    was shown from the live log alone (M4)."""
    assert scene.server.hub is not None
    async with AsyncExitStack() as stack:
        seens: dict[ChatId, Watching] = {}
        for _ in range(chats):
            chat_id = await begin(scene, ASKED)
            following = watching(scene.server.hub, chat_id)
            seens[chat_id] = await stack.enter_async_context(following)
            await asyncio.sleep(1.5 / chats)  # each is at another part when the blow falls
        first = next(iter(seens.values()))
        await first.until(lambda: first.parts > 5, SETTLE_S)
        victim.signal(signal.SIGSTOP)
        shown: dict[ChatId, str] = {}
        for chat_id, seen in seens.items():
            await interrupt(scene.server.ledger, ACTOR, chat_id)
            shown[chat_id] = seen.shown
        victim.signal(signal.SIGKILL)
        scene.successor.tell(do="open")
        for seen in seens.values():
            await seen.until(lambda seen=seen: seen.is_idle, SETTLE_S)
            sweep.wrong += seen.wrong
    for chat_id, words_shown in shown.items():
        history = await scene.history(chat_id)
        stored = text_of(history[1]) if len(history) > 1 else ""
        sweep.keep(words_shown, stored, TEXT)


async def sweep(rounds: int, say: Say) -> Sweep:
    """Interrupts at every part and in tools, and together with the death of the owner."""
    found = Sweep()
    async with theatre() as stage:
        for number in range(rounds):
            for bus in get_args(BusKind) if rounds == 1 else (get_args(BusKind)[number % 2],):
                await _sweep_once(stage, bus, found)
            say(f"interrupts: {found.chats} chats, {found.bytes_shown} bytes shown")
    return found


async def _sweep_once(stage: Theatre, bus: BusKind, found: Sweep) -> None:
    async with scene(stage, bus) as place:
        place.successor.tell(do="open")
        async with asyncio.TaskGroup() as group:
            for part in range(1, PARTS + 1):
                group.create_task(interrupt_at_part(place, part, found))
            group.create_task(interrupt_tools(place, found))
    async with scene(stage, bus) as place:
        victim = await stage.engage("victim", place.settings)
        await interrupt_and_kill(place, victim, KILLED_AT_ONCE, found)
