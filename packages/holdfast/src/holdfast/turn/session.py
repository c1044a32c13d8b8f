"""One drive of a chat, as its steps see it: prompt, toolbox, interrupts and commits."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from holdfast.chats.changes import Commit
from holdfast.domain.chat import Chat, OpenCall, TurnError
from holdfast.domain.commands import CommitStep, Fail, FromWorker
from holdfast.domain.messages import Ending, MessageBody
from holdfast.ports.clock import Clock
from holdfast.ports.generation import SettingsGeneration
from holdfast.ports.models import ModelFailed, Models
from holdfast.ports.tools import Toolbox, ToolContext, Tools
from holdfast.turn.attempt import Generation
from holdfast.turn.breaker import CircuitBreakers
from holdfast.turn.commits import ChatChanged, Commits
from holdfast.turn.compaction import CompactionPolicy
from holdfast.turn.counters import TurnCounters
from holdfast.turn.failures import log_turn
from holdfast.turn.fallback import ModelChain, ModelChoice
from holdfast.turn.options import TurnOptions
from holdfast.turn.prefix import SentPrefix, news_of
from holdfast.turn.prompt import Prompt
from holdfast.turn.reading import TurnReader
from holdfast.turn.recheck import Interruption, apply, attend, is_overtaken
from holdfast.turn.step_policy import StepPolicy
from holdfast.turn.takeover import TakeoverReader
from holdfast.turn.tool_runs import ToolRuns
from holdfast.turn.turn import Turn, UncommittedReply, partial_body

log: Final = logging.getLogger(__name__)

TOKEN_BYTES_MAX: Final = 16
"""Prose has about four bytes per token. Past this share no tokenizer makes a prompt fit."""
WINDOW_UNKNOWN: Final = 1_000_000
"""In tokens, for models of which no window is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnServices:
    """What all turns of a process share. `chance` is uniform in [0, 1)."""

    reading: TurnReader
    commits: Commits
    takeover: TakeoverReader
    generation: Generation
    runs: ToolRuns
    models: Models
    settings: SettingsGeneration
    tools: Tools
    rules: StepPolicy
    clock: Clock
    chance: Callable[[], float]
    counters: TurnCounters
    breakers: CircuitBreakers
    compaction: CompactionPolicy

    @property
    def options(self) -> TurnOptions:
        return self.rules.options


class TurnSession:
    """One per `drive`. `turn` is its state; a step reads it and leaves to it what the next one
    must know."""

    def __init__(self, services: TurnServices, turn: Turn) -> None:
        self.services = services
        self.turn = turn

    @property
    def counters(self) -> TurnCounters:
        return self.services.counters

    # Commits.

    async def commit(self, *commands: FromWorker) -> Commit | None:
        """See `Commits.commit`."""
        return await self.services.commits.commit(self.turn, *commands)

    async def commit_step(self, step: CommitStep) -> Commit | None:
        """Commit messages, together with what follows from them and takes no work."""
        services = self.services
        following = services.commits.follow_up(self.turn, step, services.compaction.due)
        return await self.services.commits.commit(self.turn, step, *following)

    async def fail(
        self, error: TurnError, *, keeps: bool = True, failed: ModelFailed | None = None
    ) -> Commit | None:
        """End the turn with an error, keeping what was said before it. `failed`: the last attempt,
        if that ended the turn."""
        turn = self.turn
        self.counters.failures[error.kind] += 1
        log_turn(error, failed, model=self.model_name())
        said = turn.said_here() if keeps and not turn.chat.open_calls else None
        if said is not None and said.parts:
            return await self.commit(CommitStep(self.kept(said, Ending.CUT)), Fail(error))
        return await self.commit(Fail(error))

    def kept(self, said: UncommittedReply, ending: Ending) -> tuple[MessageBody, ...]:
        """A reply that the model of this worker did not end, and what must be stored with it."""
        return self.turn.with_prefix(self.partial(said, ending), said.episode)

    def partial(self, said: UncommittedReply, ending: Ending) -> MessageBody:
        """A reply that the model did not end, as a message."""
        asked, services = self.turn.asked_model, self.services
        cost = services.models.cost_micros(asked, said.usage, services.clock.now())
        return partial_body(
            said,
            ending,
            model=self.model_name(),
            effort=self.turn.chat.effort,
            cost_micros=cost,
        )

    def model_name(self) -> str | None:
        # Which model a dead worker asked is not known: what goes for the chat now.
        rules, turn = self.services.rules, self.turn
        return turn.asked_model or rules.model_of(turn.chat) or self._default_model()

    def chain(self) -> ModelChain:
        """The models that may answer the present step."""
        rules, models, chat = self.services.rules, self.services.models, self.turn.chat
        first = rules.model_of(chat) or self._default_model()
        route = models.route(first)
        allowed = (model for model in route.fallback if rules.allows(chat, model))
        others = (ModelChoice(model, models.route(model).endpoint) for model in allowed)
        return ModelChain(
            (ModelChoice(first, route.endpoint), *others), route.fallback_on_usage_limit
        )

    def _default_model(self) -> str | None:
        """Resolved before an attempt: the server's default may change while it runs."""
        return self.services.models.route(None).model or None

    # Settings.

    async def catch_up(self) -> None:
        """Before anything is decided by them: know the settings that the statements of this process
        have seen. No statement as long as nothing has changed."""
        services = self.services
        await services.commits.patiently(self.turn, services.settings.catch_up)

    # Interrupts.

    async def reread(self) -> None:
        """After a hint: go on from the chat as it is now."""
        self.turn.nudges.heed()
        apply(self.turn, Interruption(await self.services.commits.load(self.turn)))

    # The prompt.

    async def prompt(self) -> Prompt:
        """Read when first needed, and again when the history is another one."""
        turn, services = self.turn, self.services
        if turn.prompt is None or not turn.prompt.fits(turn.chat):
            chat = turn.chat
            turn.prompt = await services.commits.patiently(
                turn,
                lambda: services.reading.prompt(
                    chat,
                    page_messages_max=services.options.page_messages_max,
                    bytes_max=self._prompt_bytes_max(chat),
                ),
            )
        return turn.prompt

    async def excerpts(self) -> list[MessageBody]:
        """The messages of a prompt that is too long to be read as it is, long ones shortened."""
        turn, services = self.turn, self.services
        chat = turn.chat
        return await services.commits.patiently(
            turn,
            lambda: services.reading.excerpts(
                chat, page_messages_max=services.options.page_messages_max
            ),
        )

    async def prefix(self, prompt: Prompt, toolbox: Toolbox, *, renews: bool = True) -> SentPrefix:
        """What the prompt begins with: the same as before, until the next boundary. Only where a
        user has spoken, the model is told what has changed, or gets a tool that was added.
        `renews`: False for a reply that is the boundary."""
        turn, services, digest = self.turn, self.services, prompt.prefix
        stored = None
        if digest is not None:
            stored = await services.commits.patiently(turn, lambda: services.reading.prefix(digest))
        if stored is not None and not (renews and prompt.begins_turn):
            return SentPrefix(stored)
        specs = tuple(toolbox.specs.values())
        route = services.models.route(services.rules.model_of(turn.chat))
        now = services.rules.prefix_of(turn.chat, turn.tools.sections or (), specs, route)
        if stored is None or now.has_other_tools_than(stored):
            return SentPrefix(now, now.row())
        return SentPrefix(stored, news=news_of(now, stored, prompt.bodies))

    def _prompt_bytes_max(self, chat: Chat) -> int:
        """What no prompt for the model of this chat can be: many times its context window."""
        window = self.services.models.context_window(self.services.rules.model_of(chat))
        return (window or WINDOW_UNKNOWN) * TOKEN_BYTES_MAX

    # The toolbox.

    async def toolbox(self) -> Toolbox:
        """Opened when first needed, closed with the turn."""
        opened = self.turn.tools
        if opened.toolbox is None:
            await self._open(self.services.tools.open(ToolContext(self.turn.chat)))
        assert opened.toolbox is not None, "it was opened"
        return opened.toolbox

    async def introduced(self) -> Toolbox:
        """The toolbox, and what it says of itself to the model: once, the same for the turn."""
        toolbox, opened = await self.toolbox(), self.turn.tools
        if opened.sections is None:
            opened.sections = ()
            await self.stop_void()
            try:
                opened.sections = tuple(await toolbox.sections())
            except Exception:
                log.exception(
                    "tools: toolbox of chat %s failed to describe itself", self.turn.chat.chat_id
                )
                self.counters.tool_bugs += 1
        return toolbox

    async def stop_void(self) -> None:
        """End the calls that an edit hid from a worker that was dead, or frozen: only this ends
        them (X2). The owner of a chat does so by itself; then this finds them ended."""
        services, edited = self.services, (await self.prompt()).edited
        if edited is None:
            return
        chat_id = self.turn.chat.chat_id
        calls = await services.commits.patiently(
            self.turn, lambda: services.reading.void_calls(chat_id, edited)
        )
        await self.end_calls(calls)

    async def end_calls(self, calls: Sequence[OpenCall]) -> None:
        """End what these calls run, whichever worker started them."""
        if not calls:
            return
        try:
            toolbox = await self.toolbox()
        except Exception:
            log.exception("tools: toolbox of chat %s failed to open", self.turn.chat.chat_id)
            self.counters.tool_bugs += 1
            return
        await self.services.runs.stop(self.turn, toolbox, calls)

    async def _open(self, opening: AbstractAsyncContextManager[Toolbox]) -> None:
        """Raises `ChatChanged` if an interrupt or an edit comes first: neither waits for a source.
        Every other hint is heeded beside the opening, which goes on.

        An opening that waits for nothing takes no round of the event loop: the model is asked
        before the sender is answered (`worker.local_dispatch`)."""
        turn = self.turn
        if turn.interrupting or turn.nudges.leaving:
            await self._enter(opening)  # to stop calls, or to hand them over
            return
        scope = asyncio.timeout(None)  # a cancel scope: the task that opens a toolbox closes it
        watching = turn.tools.group.create_task(self._cut_off(scope))
        try:
            async with scope:
                await self._enter(opening)
        except TimeoutError:
            if not scope.expired():
                raise
        finally:
            watching.cancel()
        if not watching.done() or watching.cancelled():
            return
        # Also if the toolbox opened in the same moment: this alone knows of the hint.
        found = watching.result()
        if isinstance(found, Exception):
            raise found
        apply(turn, found)
        raise ChatChanged

    async def _enter(self, opening: AbstractAsyncContextManager[Toolbox]) -> None:
        opened = self.turn.tools
        opened.toolbox = await opening.__aenter__()
        opened.stack.push_async_callback(self._close, opening)

    async def _cut_off(self, scope: asyncio.Timeout) -> Interruption | Exception:
        """End the scope when another commit has made its work void. An error is a value: the group
        of the turn would end the turn."""
        services = self.services
        try:
            found = await attend(
                self.turn, services.reading, pause_s=services.options.pause_s, ends=is_overtaken
            )
        except Exception as error:  # noqa: BLE001 - raised by `_open`
            found = error
        scope.reschedule(asyncio.get_running_loop().time())
        return found

    async def _close(self, opened: AbstractAsyncContextManager[Toolbox]) -> None:
        """What a toolbox stumbles over on its way out is no matter of a turn that is committed."""
        try:
            await opened.__aexit__(None, None, None)
        except Exception:
            log.exception("tools: a toolbox failed to close")
            self.counters.tool_bugs += 1
