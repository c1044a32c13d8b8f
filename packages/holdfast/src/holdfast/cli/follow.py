"""Follow a chat on the screen: what `run`, `attach`, `send` and `chat` do alike.

A stream of events goes into one sink: the live view, JSON lines, or nothing. A lost network never
ends it; the SDK comes back by cursor, and we say so. Ctrl-C climbs a ladder (ladder.py).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import orjson

from holdfast.cli import exit_codes as exits
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.ids import short
from holdfast.cli.interrupt_keys import DETACH_KEY, InterruptStage, on_ctrl_c, on_key
from holdfast.cli.render.live import LiveRenderer, LiveRendererOptions
from holdfast_client import errors

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast.cli.screen import Screen
    from holdfast_client import AsyncChat
    from holdfast_client.events import Event

Form: TypeAlias = Literal["live", "jsonl", "json", "quiet"]
RUNS: Final = frozenset({"running", "interrupting"})
NOT_TOLD: Final = frozenset({"ping"})
"""Of the connection, not of the chat."""


class Sink(Protocol):
    def event(self, event: "Event") -> None: ...
    def note(self, text: str) -> None: ...
    def finish(self) -> None: ...


@dataclass
class OnScreen:
    screen: "Screen"
    live: LiveRenderer

    def event(self, event: "Event") -> None:
        self.screen.ink(self.live.feed(event.type, event.raw["data"]))

    def note(self, text: str) -> None:
        self.screen.ink(self.live.note(text))

    def finish(self) -> None:
        self.screen.ink(self.live.finish())


@dataclass
class JsonLines:
    """Exactly the stream's envelopes, one per line."""

    screen: "Screen"

    def event(self, event: "Event") -> None:
        if event.type not in NOT_TOLD:
            self.screen.answer(orjson.dumps(event.raw).decode())

    def note(self, text: str) -> None:
        self.screen.note(text)

    def finish(self) -> None:
        pass


@dataclass
class SilentSink:
    screen: "Screen"
    notes: bool

    def event(self, event: "Event") -> None:
        pass

    def note(self, text: str) -> None:
        if self.notes:
            self.screen.note(text)

    def finish(self) -> None:
        pass


def form_of(*, json: bool, jsonl: bool, quiet: bool) -> Form:
    chosen: list[Form] = [
        form for form, wanted in (("json", json), ("jsonl", jsonl), ("quiet", quiet)) if wanted
    ]  # pyright: ignore[reportAssignmentType]
    if len(chosen) > 1:
        raise CommandEnd("Give one of --json, --jsonl and --quiet.", Exit.USAGE)
    return chosen[0] if chosen else "live"


def sink_for(
    desk: "ClientContext", form: Form, chat: "AsyncChat", *, tail: int | None = None
) -> Sink:
    screen = desk.screen
    match form:
        case "live":
            options = LiveRendererOptions(
                width=screen.width,
                live=screen.live,
                marks=screen.marks,
                tail=tail,
                chat=short(chat.id),
            )
            return OnScreen(screen, LiveRenderer(options))
        case "jsonl":
            return JsonLines(screen)
        case _:
            return SilentSink(screen, notes=form == "json")


@dataclass
class Following:
    """One chat being followed; `climbed` says which rungs of the ladder were taken."""

    desk: "ClientContext"
    chat: "AsyncChat"
    sink: Sink
    rungs: Sequence[InterruptStage]
    climbed: list[InterruptStage] = field(default_factory=list[InterruptStage])
    code: Exit = Exit.DONE
    pressed_before: bool = False
    """Ctrl-C came while the message was still on its way."""
    _detached: bool = False
    _interrupted: bool = False
    _ran: bool = False
    """Whether the stream has shown it running: what it then rests on, this turn has led to."""
    _told: bool = False
    """Whether the stream has said how the chat stands now, and not before the last message."""

    async def until(
        self,
        until: Literal["settled"] | None,
        *,
        after: str | None = None,
        timeout_s: float | None = None,
    ) -> Exit:
        """Follow to the end, or until the user detaches."""
        self.code = await self._until(until, after, timeout_s)
        return self.code

    async def _until(
        self, until: Literal["settled"] | None, after: str | None, timeout_s: float | None
    ) -> Exit:
        try:
            async with asyncio.timeout(timeout_s):
                await self._follow(until, after)
        except ExceptionGroup as group:
            self.sink.finish()
            raise group.exceptions[0] from None
        except TimeoutError:
            self.sink.finish()
            self._keeps_running()
            return Exit.TIMEOUT
        self.sink.finish()
        if InterruptStage.LEAVE in self.climbed:
            self._keeps_running()
        elif (self._interrupted or self._is_unanswered()) and not self._says_so():
            self.sink.note(f"{self.desk.screen.marks.rule} interrupted")
        if self.climbed:
            return Exit.DONE if self._detached else Exit.INTERRUPTED
        return self.ended()

    def ended(self) -> Exit:
        ending = "interrupted" if self._is_unanswered() else self._ending()
        return exits.of_turn(self._status(), self.chat.view.raw.error, ending)

    def _ending(self) -> str | None:
        """How the answer ended, if the history ends with one."""
        messages = self.chat.view.raw.messages
        last = messages[-1] if messages else None
        return None if last is None or last["role"] != "assistant" else last["finish_reason"]

    def _is_unanswered(self) -> bool:
        return self._ran and exits.rests_unanswered(self._status(), self.chat.view.raw.messages)

    def _says_so(self) -> bool:
        """Whether the turn has an answer that says that it was interrupted, as it was shown."""
        for message in reversed(self.chat.view.raw.messages):
            if message["role"] in {"user", "assistant"}:
                return message["finish_reason"] == "interrupted"
        return False

    def _status(self) -> str | None:
        """As the stream told it; if it had nothing to tell, as it was when we asked."""
        if self.chat.view.status is not None:
            return self.chat.view.status
        return None if self.chat.data is None else self.chat.data.status

    async def _follow(self, until: Literal["settled"] | None, after: str | None) -> None:
        with ExitStack() as stack:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(until, after), name="reading")

                def climb() -> None:
                    rung = self.rungs[min(len(self.climbed), len(self.rungs) - 1)]
                    self.climbed.append(rung)
                    self._take(rung, reading, tasks, stack)

                stack.enter_context(on_ctrl_c(climb))
                if self.pressed_before:
                    climb()

    def _take(
        self,
        rung: InterruptStage,
        reading: asyncio.Task[None],
        tasks: asyncio.TaskGroup,
        stack: ExitStack,
    ) -> None:
        match rung:
            case InterruptStage.ASK if self._runs():
                self.sink.note(
                    f"The agent keeps running: Ctrl-C again interrupts it, {DETACH_KEY} detaches."
                )
                stack.enter_context(on_key(self._key(reading)))
            case InterruptStage.INTERRUPT:
                self.sink.note("Interrupting; once more leaves it alone.")
                tasks.create_task(self._interrupt(), name="interrupting")
            case _:
                self.climbed.append(InterruptStage.LEAVE)
                reading.cancel()

    def _key(self, reading: asyncio.Task[None]) -> Callable[[str], None]:
        def pressed(key: str) -> None:
            if key == DETACH_KEY:
                self._detached = True
                self.climbed.append(InterruptStage.LEAVE)
                reading.cancel()

        return pressed

    async def _read(self, until: Literal["settled"] | None, after: str | None) -> None:
        stream = self.chat.events(after=after, until=until, on_reconnect=self._reconnected)
        self._ran = self._status() in RUNS
        async with aclosing(stream) as events:
            async for event in events:
                self._told = self._told or event.type == "chat.state"
                self._ran = self._ran or self._status() in RUNS
                self.sink.event(event)

    async def _interrupt(self) -> None:
        with suppress(errors.ConflictError):  # it ended by itself meanwhile
            state = self.chat.view.state
            # The turn that is shown, and no later one.
            await self.chat.interrupt(turn_seq=None if state is None else state.turn_seq)
            self._interrupted = True

    def _reconnected(self) -> None:
        self.sink.note("reconnected")

    def _runs(self) -> bool:
        return not self._told or self._status() in RUNS

    def _keeps_running(self) -> None:
        if self._runs():
            self.sink.note(f"The agent keeps running: holdfast attach {short(self.chat.id)}")
