"""`holdfast chat`: talk with an agent line by line.

On a terminal lines are edited with prompt_toolkit; from a pipe each line is a message, and the
first turn that fails or needs input ends the command.
"""

import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import Exit
from holdfast.cli.interrupt_keys import InterruptStage, on_ctrl_c, rungs_attached
from holdfast.cli.options import Effort, Model, Plan, Web
from holdfast.cli.questions import ASK_USER, prompt_of, question_lines, read_answer

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from holdfast.cli.client_context import ClientContext
    from holdfast.cli.follow import Following, OnScreen
    from holdfast_client import AsyncChat
    from holdfast_client.models import ActionRequired, Answer, AwaitedCall

LEAVING: Final = frozenset({"/exit", "/quit"})
REPLAYED: Final = 10


def chat(
    chat_id: Annotated[
        str | None,
        typer.Argument(metavar="[CHAT]", help="Continue this chat (default: a new chat)."),
    ] = None,
    *,
    last: Annotated[bool, typer.Option("--last", help="Continue the last chat.")] = False,
    model: Model = None,
    effort: Effort = None,
    web: Web = None,
    plan: Plan = None,
) -> None:
    """Talk line by line; Ctrl-D, /exit or the end of the input leaves."""

    async def work(desk: "ClientContext") -> Exit:
        talk = Talk(desk, model, effort, web, plan)
        given = "@last" if last else chat_id
        if given is not None:
            await talk.go_on_with(await desk.chat(given))
        return await talk.run()

    at_desk(work)


class _Asked(TypedDict):
    model: str | None
    effort: str | None
    web: bool | None
    plan_mode: bool | None


@dataclass
class Talk:
    desk: "ClientContext"
    model: str | None
    effort: str | None
    web: bool | None
    plan: bool | None
    chat: "AsyncChat | None" = None
    sink: "OnScreen | None" = None
    prompts: "PromptSession[str] | None" = None

    def __post_init__(self) -> None:
        if sys.stdin.isatty() and sys.stdout.isatty():
            from prompt_toolkit import PromptSession

            self.prompts = PromptSession()

    async def go_on_with(self, chat: "AsyncChat") -> None:
        self.chat = chat
        self._sink().live.tail(REPLAYED)
        await self._follow()

    async def run(self) -> Exit:
        code = Exit.DONE
        while code is Exit.DONE or self.prompts is not None:
            line = await self._line()
            if line is None or line.strip() in LEAVING:
                return code if self.prompts is None else Exit.DONE
            if not line.strip():
                continue
            following = await self._follow(pressed_before=await self._say(line))
            code = following.code
            if InterruptStage.LEAVE in following.climbed:
                return code
            if code is Exit.NEEDS_ACTION and self.prompts is not None:
                await self._settle()
        return code

    async def _say(self, line: str) -> bool:
        """Whether Ctrl-C was pressed meanwhile: what is on its way may have arrived."""
        pressed: list[None] = []
        with on_ctrl_c(lambda: pressed.append(None)):
            seq = await self._sent(line)
        if seq is not None:
            self._sink().live.own(seq)
        return bool(pressed)

    async def _sent(self, line: str) -> int | None:
        asked = _Asked(model=self.model, effort=self.effort, web=self.web, plan_mode=self.plan)
        if self.chat is not None:
            turn = await self.chat.send(line, **asked)
            return turn.receipt.message_seq
        chats = self.desk.client.chats
        self.chat = await chats.create(line, **asked)
        return 1

    async def _follow(self, *, pressed_before: bool = False) -> "Following":
        from holdfast.cli.follow import Following

        assert self.chat is not None
        following = Following(self.desk, self.chat, self._sink(), rungs_attached())
        following.pressed_before = pressed_before
        await following.until("settled", after=self.chat.view.cursor)
        return following

    def _sink(self) -> "OnScreen":
        from holdfast.cli.follow import OnScreen, sink_for

        assert self.chat is not None
        if self.sink is None:
            sink = sink_for(self.desk, "live", self.chat)
            assert isinstance(sink, OnScreen)
            self.sink = sink
        return self.sink

    async def _settle(self) -> None:
        """Ask the person for what the turn waits for, until it waits no more."""
        assert self.chat is not None
        while (action := self.chat.view.action_required) is not None:
            if not await self._settled(action):
                return
            await self._follow()

    async def _settled(self, action: "ActionRequired") -> bool:
        assert self.chat is not None
        answers: dict[str, Any] = {}
        for call in action.calls:
            if action.type == "answer" and call.tool_name == ASK_USER:
                if not await self._answered(call):
                    return False
            elif action.type == "approval":
                if not await self._decided(call):
                    return False
            elif action.type in ("answer", "result"):
                said = await self._line(f"{call.tool_name}: ")
                if said is None:
                    return False
                answers[call.call_id] = said
            else:
                return False
        if answers:
            await self.chat.submit_results(answers)
        return True

    async def _answered(self, awaited: "AwaitedCall") -> bool:
        assert self.chat is not None
        questions = await self.chat.questions(awaited)
        answers: list[Answer] = []
        for question in questions:
            for line in question_lines(question):
                self.desk.screen.note(line, "")
            said = ""
            while not said.strip():
                line_said = await self._line(prompt_of(question))
                if line_said is None:
                    return False
                said = line_said
            answers.append(read_answer(question, said))
        await self.chat.answer(awaited, *answers)
        return True

    async def _decided(self, awaited: "AwaitedCall") -> bool:
        from holdfast.cli.approve import ASK, call_lines, verdict_of

        assert self.chat is not None
        call = await self.chat.call(awaited)
        for line in call_lines(call, None):
            self.desk.screen.note(line, "")
        verdict = verdict_of(await self._line(ASK) or "")
        if verdict == "approve":
            await self.chat.approve(call)
        elif verdict == "deny":
            await self.chat.deny(call)
        return verdict is not None

    async def _line(self, prompt: str = "› ") -> str | None:
        """The next line, or None at the end."""
        if self.prompts is None:
            return _piped_line()
        while True:
            try:
                return await self.prompts.prompt_async(prompt)
            except KeyboardInterrupt:
                continue  # the line is given up, the talk is not
            except EOFError:
                return None


def _piped_line() -> str | None:
    """Nothing else runs while we wait for it, so Ctrl-C may be what Python makes of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        line = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    return line.rstrip("\n") if line else None
