"""Records tests/golden/stream: what the server sends in a few stories, and the view after it.

    python -m tests.support.golden_stream

The stories run on the store and the bus in memory, through the real ledger, hub and follower, so
the files hold what is sent. Cursors are numbered anew: to a client they are opaque. A test compares
the files with a new recording.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson

from holdfast.domain.chat import Chat
from holdfast.domain.commands import (
    Await,
    BeginAttempt,
    CommitStep,
    Decide,
    EditMessage,
    Fail,
    FinishInterrupt,
    FinishTurn,
    Interrupt,
    RecordRetry,
    Restore,
    ResumeQueue,
    Retry,
    SendMessage,
)
from holdfast.domain.ids import CallId, Seq, Version
from holdfast.domain.messages import (
    CallFate,
    Ending,
    InheritedCall,
    MessageBody,
    Takeover,
)
from holdfast.domain.parts import Need
from holdfast.ports.bus import Episode, LivePart
from holdfast.stream.events import Closed, CloseReason, ping
from holdfast.stream.hub import Hub
from holdfast.stream.options import HubOptions
from holdfast_client.view import EMPTY, WireEvent, WireView, as_json, reduce
from tests.support.builders import asks, backoff, digest_for, error, reply, results, user
from tests.support.streams import NEVER_POLLS, Recorder, Stage, a_stage

FOLDER: Final = Path(__file__).resolve().parents[1] / "golden" / "stream"
FORMAT: Final = 1
"""The version of the files: it grows when an event or the view changes its form."""
Story = Callable[["Scene"], Awaitable[None]]
Envelope = dict[str, Any]


@dataclass
class Scene:
    """A chat, its one reader, and the hand that drives it; each step waits until it is told."""

    stage: Stage
    hub: Hub
    chat: Chat
    reader: Recorder

    async def send(self, text: str) -> None:
        await self.stage.do(self.chat.chat_id, SendMessage(user(text)))
        await self._told()

    async def do(self, *commands: Any) -> None:
        """As a person."""
        await self.stage.do(self.chat.chat_id, *commands)
        await self._told()

    async def acquire(self) -> None:
        self.chat = await self.stage.acquire(self.chat.chat_id)
        await self._told()

    async def rescue(self) -> None:
        self.chat = await self.stage.rescue(self.chat)
        await self._told()

    async def drive(self, *commands: Any) -> None:
        """As the worker."""
        await self.stage.drive(self.chat, *commands)
        await self._told()

    async def say(self, *deltas: dict[str, Any]) -> None:
        episode = Episode.of(self.chat)
        key = (self.chat.chat_id, episode)
        seq = self.stage.said[key] = self.stage.said.get(key, 0) + 1
        payload = orjson.dumps(list(deltas))
        await self.stage.bus.append(
            [LivePart(self.chat.chat_id, episode, seq, payload, self.chat.turn_seq)]
        )
        await self.reader.until(
            lambda r: r.view.preview is not None and r.view.preview.index == seq
        )

    async def _told(self) -> None:
        self.chat = await self.stage.world.load(self.chat.chat_id)
        version = self.chat.version
        await self.reader.until(lambda r: r.version >= version)


def text(words: str, index: int = 0) -> dict[str, Any]:
    return {"type": "text", "index": index, "text": words}


async def plain_turn(scene: Scene) -> None:
    await scene.acquire()
    await scene.say({"type": "reasoning", "index": 0, "text": "A greeting."})
    await scene.say(text("Hel", 1))
    await scene.say(text("lo", 1), text("!", 1))
    await scene.drive(CommitStep((reply("Hello!"),)), FinishTurn())


async def tools(scene: Scene) -> None:
    await scene.acquire()
    await scene.say(text("let me "), text("see"))
    call = {
        "type": "tool_call",
        "index": 1,
        "call_id": "c1",
        "tool_name": "tool",
        "executed_by": None,
    }
    await scene.say(call, {"type": "arguments", "index": 1, "text": '{"n":'})
    await scene.say({"type": "arguments", "index": 1, "text": ' "c1"}'})
    await scene.drive(CommitStep((asks("c1"),)))
    await scene.drive(CommitStep((results("c1"),)), BeginAttempt())
    await scene.drive(CommitStep((reply("42."),)), FinishTurn())


async def tool_output(scene: Scene) -> None:
    await scene.acquire()
    await scene.drive(CommitStep((asks("c1", "c2"),)))
    await scene.say({"type": "tool_output", "call_id": "c1", "text": "one\n"})
    await scene.say(
        {"type": "tool_output", "call_id": "c2", "text": "two\n"},
        {"type": "tool_output", "call_id": "c1", "text": "three\n"},
    )
    await scene.drive(CommitStep((results("c1", "c2"),)), BeginAttempt())


async def queue(scene: Scene) -> None:
    await scene.acquire()
    await scene.send("and this")
    await scene.send("and that")
    await scene.drive(CommitStep((reply("first answer"),)), FinishTurn())
    await scene.drive(BeginAttempt())
    await scene.drive(CommitStep((reply("second answer"),)), FinishTurn())


async def paused_queue(scene: Scene) -> None:
    await scene.acquire()
    await scene.send("and this")
    await scene.do(Interrupt())
    await scene.drive(FinishInterrupt())
    await scene.do(ResumeQueue())


async def edit(scene: Scene) -> None:
    await scene.acquire()
    await scene.drive(CommitStep((reply("an answer"),)), FinishTurn())
    await scene.do(EditMessage(Seq(1), user("rather this")))


async def restore(scene: Scene) -> None:
    await edit(scene)
    await scene.acquire()
    await scene.drive(CommitStep((reply("another answer"),)), FinishTurn())
    await scene.do(Restore(Version(3)))


async def edit_before_what_is_loaded(scene: Scene) -> None:
    await scene.do(EditMessage(Seq(3), user("rather this")))


async def retry(scene: Scene) -> None:
    await scene.acquire()
    await scene.say(text("Hel"))
    await scene.drive(RecordRetry(backoff()))
    await scene.drive(BeginAttempt())
    await scene.say(text("Good day"))
    await scene.drive(CommitStep((reply("Good day"),)), FinishTurn())


async def failure(scene: Scene) -> None:
    await scene.acquire()
    await scene.say(text("Hel"))
    await scene.drive(Fail(error()))
    await scene.do(Retry())


async def interrupt(scene: Scene) -> None:
    await scene.acquire()
    await scene.say(text("Hel"))
    await scene.do(Interrupt())
    await scene.drive(FinishInterrupt((reply("Hel", ending=Ending.INTERRUPTED),)))


async def awaiting(scene: Scene) -> None:
    await scene.acquire()
    await scene.drive(CommitStep((asks("c1", needs=Need.APPROVAL),)))
    await scene.drive(Await(Need.APPROVAL, (CallId("c1"),)))
    await scene.do(Decide(CallId("c1"), "approve", digest_for("c1")))


async def takeover(scene: Scene) -> None:
    await scene.acquire()
    await scene.say(text("so far "))
    await scene.rescue()
    kept = Takeover(attempt=2, lost_workers=1, after_s=8, kept=True)
    await scene.drive(
        CommitStep((replace(reply("so far "), ending=Ending.CUT, takeover=kept),)), BeginAttempt()
    )
    await scene.say(text("and so on"))
    await scene.drive(CommitStep((asks("c1"),)))
    await scene.rescue()
    fate = InheritedCall(call_id=CallId("c1"), tool="tool", fate=CallFate.REPEATED)
    lost = Takeover(attempt=1, lost_workers=1, after_s=None, calls=(fate,))
    await scene.drive(CommitStep((replace(results("c1"), takeover=lost),)), BeginAttempt())


async def another_attempt(scene: Scene) -> None:
    """A worker is lost, and its successor does not continue from its words."""
    await scene.acquire()
    await scene.say(text("so far "))
    await scene.rescue()
    await scene.say(text("Begun "))
    await scene.say(text("anew"))
    await scene.drive(CommitStep((reply("Begun anew"),)), FinishTurn())


async def parts_out_of_order(scene: Scene) -> None:
    """The deltas begin part 3, then part 0, and give arguments to a part that is not there."""
    await scene.acquire()
    await scene.say(text("last", 3), {"type": "arguments", "index": 1, "text": "{}"})
    await scene.say(text("first", 0), text(" of all", 3))
    await scene.drive(CommitStep((reply("first last of all"),)), FinishTurn())


@dataclass(frozen=True)
class Fixture:
    about: str
    story: Story
    before: tuple[MessageBody, ...] = ()
    options: HubOptions = NEVER_POLLS
    after: Callable[[list[Envelope]], list[Envelope]] = list


def quiet(events: list[Envelope]) -> list[Envelope]:
    """With what belongs to the connection: pings, and the end of the stream."""
    version = events[-1]["version"]
    told = [ping(version).json(), ping(None).json(), Closed(CloseReason.RESTART).json()]
    return [*events, *map(orjson.loads, told)]


def repeated(events: list[Envelope]) -> list[Envelope]:
    """Messages, deltas and absolute values again, out of place, and a type that nobody knows."""
    unknown: Envelope = {
        "type": "of.tomorrow",
        "cursor": None,
        "version": None,
        "final": True,
        "data": {"new": [1]},
    }
    told: list[Envelope] = []
    for number, event in enumerate(events):
        told.append(event)
        if event["type"] in {"message.created", "preview.delta", "queue.updated"}:
            told.append(event)
        if event["type"] == "preview.delta" and event["data"]["index"] == 2:
            told.append(next(e for e in events[:number] if e["type"] == "message.created"))
            told.append(next(e for e in events[:number] if e["type"] == "preview.delta"))
            told.append(unknown)
    return told


def gapped(events: list[Envelope]) -> list[Envelope]:
    """Without the first delta: what follows it is not shown."""
    first = next(e for e in events if e["type"] == "preview.delta")
    return [event for event in events if event is not first]


THREE_TURNS: Final = tuple(
    body for n in range(1, 4) for body in (user(f"question {n}"), reply(f"answer {n}"))
)


def overlapping(events: list[Envelope]) -> list[Envelope]:
    """The second attempt begins without a reset, and a delta of the first one comes late."""
    told = [event for event in events if event["type"] != "preview.reset"]
    first, second = (e for e in told if e["type"] == "preview.delta")
    late = {**first, "data": {**first["data"], "index": second["data"]["index"] + 1}}
    told.insert(told.index(second) + 1, late)
    return told


def again_while_speaking(events: list[Envelope]) -> list[Envelope]:
    """The server sends its snapshot once more, in the middle of the live text."""
    start = next(n for n, e in enumerate(events) if e["final"]) + 1
    live = next(n for n, e in enumerate(events) if e["type"] == "preview.delta")
    return [*events[: live + 1], *events[:start], *events[live + 1 :]]


def whole_again(events: list[Envelope]) -> list[Envelope]:
    """A snapshot that leaves out older messages, and then one that leaves out none."""
    whole = {**events[0], "data": {**events[0]["data"], "older_before_seq": None}}
    start = next(n for n, e in enumerate(events) if e["final"]) + 1
    return [*events, whole, *events[1:start]]


FIXTURES: Final[Mapping[str, Fixture]] = {
    "plain-turn": Fixture("A question, and an answer in three deltas.", plain_turn, after=quiet),
    "tools": Fixture("A reply that calls a tool, its arguments, its result.", tools),
    "tool-output": Fixture("The output of running tools, by call.", tool_output),
    "queue": Fixture("Two messages are queued; the first becomes a turn.", queue),
    "paused-queue": Fixture("A stop pauses the queue; it is resumed.", paused_queue),
    "edit": Fixture("An edit: the history from there on is replaced.", edit),
    "restore": Fixture("An older history comes back as copies.", restore),
    "edit-before-what-is-loaded": Fixture(
        "An edit of a message that this reader has not loaded.",
        edit_before_what_is_loaded,
        before=THREE_TURNS,
        options=replace(NEVER_POLLS, snapshot_max=2),
    ),
    "whole-snapshot-after-a-part": Fixture(
        "A snapshot without older messages follows one that left some out.",
        edit_before_what_is_loaded,
        before=THREE_TURNS,
        options=replace(NEVER_POLLS, snapshot_max=2),
        after=whole_again,
    ),
    "retry": Fixture("An attempt fails and is tried again.", retry),
    "failure": Fixture("The turn fails; a person asks to try again.", failure),
    "interrupt": Fixture("An interrupted turn keeps its text.", interrupt),
    "awaiting": Fixture("The turn waits for an approval.", awaiting),
    "takeover": Fixture("Two workers are lost; their successors continue.", takeover),
    "another-attempt": Fixture("A worker is lost; its successor begins anew.", another_attempt),
    "repeats": Fixture("Events that come again, and an unknown type.", plain_turn, after=repeated),
    "overlapping-attempts": Fixture(
        "A second attempt begins over the text of the first, of which a delta comes late.",
        retry,
        after=overlapping,
    ),
    "parts-out-of-order": Fixture(
        "Parts begin out of order, with gaps, and arguments come for no part.", parts_out_of_order
    ),
    "snapshot-while-speaking": Fixture(
        "A snapshot comes in the middle of live text.", plain_turn, after=again_while_speaking
    ),
    "gap": Fixture("The first delta of an attempt is missing.", plain_turn, after=gapped),
}


async def record(fixture: Fixture) -> dict[str, Any]:
    events = fixture.after(await _events(fixture))
    numbers: dict[str, str] = {}
    view: WireView = EMPTY
    steps: list[dict[str, Any]] = []
    for sent in events:
        event = {**sent}
        if event["cursor"] is not None:
            next_one = f"cursor-{len(numbers) + 1}"
            event["cursor"] = numbers.setdefault(event["cursor"], next_one)
        before, view = as_json(view), reduce(view, WireEvent.from_json(event))
        changed = {
            name: value
            for name, value in as_json(view).items()
            if value != before[name] and name != "cursor"
        }
        steps.append({"event": event} | ({"expect": changed} if changed else {}))
    return {"format": FORMAT, "about": fixture.about, "steps": steps, "view": as_json(view)}


async def _events(fixture: Fixture) -> list[Envelope]:
    async with a_stage("fake", "") as stage, stage.replica(fixture.options) as replica:
        chat = await stage.create(*(fixture.before or (user("hello"),)))
        async with _reading(replica.hub, chat) as reader:
            await reader.until(lambda r: r.version >= chat.version)
            await fixture.story(Scene(stage, replica.hub, chat, reader))
            return [orjson.loads(event.json()) for event in reader.events]


@asynccontextmanager
async def _reading(hub: Hub, chat: Chat) -> AsyncGenerator[Recorder]:
    recorder = Recorder(hub, chat.chat_id)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(recorder.run())
        yield recorder
        task.cancel()


async def write() -> None:
    for path in FOLDER.glob("*.json"):
        path.unlink()
    for name, fixture in FIXTURES.items():
        recorded = json.dumps(await record(fixture), indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(recorded + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(write())
