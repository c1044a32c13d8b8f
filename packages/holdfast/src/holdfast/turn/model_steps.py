"""The steps for which a model is asked: a reply, or a compaction; and what follows a failure."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from holdfast.domain.chat import Backoff, Chat, ErrorKind, TurnError
from holdfast.domain.commands import BeginAttempt, CommitStep, Fail, RecordRetry
from holdfast.domain.errors import FenceStale
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.parts import Part, Text, ToolCall
from holdfast.ports.clock import Clock
from holdfast.ports.models import Ask, ModelFailed, Models, Reply
from holdfast.ports.tools import Toolbox
from holdfast.turn.call_policy import CallPolicy
from holdfast.turn.commits import Commits
from holdfast.turn.compact import ASK, boundary_text
from holdfast.turn.failures import log_attempt, log_turn
from holdfast.turn.generate import AttemptResult, EndedEarly, Generation, unique_calls
from holdfast.turn.prompt import Prompt
from holdfast.turn.recheck import Interruption, attend
from holdfast.turn.retry import StopReason, next_attempt
from holdfast.turn.step_policy import StepPolicy
from holdfast.turn.turn import Turn, UncommittedReply, partial_body

TOO_MANY_REPLIES: Final = (
    "The model has answered {number} times in a row without finishing. "
    "Send a message to let it go on."
)
GAVE_UP: Final = TurnError(
    kind=ErrorKind.UNKNOWN,
    sentence="The server gave up on this step after too many attempts. You can try again.",
    retryable=True,
)
TOO_LARGE: Final = TurnError(
    kind=ErrorKind.CONTEXT_OVERFLOW,
    sentence="The chat no longer fits into the model's context window.",
)
TOKEN_BYTES_MAX: Final = 16
"""Prose has about four bytes per token. Past this share no tokenizer makes a prompt fit."""
WINDOW_UNKNOWN: Final = 1_000_000
"""In tokens, for models of which no window is known."""


def apply(turn: Turn, nudged: Interruption) -> None:
    """Go on from what a nudge led to; raises `FenceStale` if that is no longer ours, and
    `FormatUnknown` if this version can no longer read it."""
    if nudged.unreadable is not None:
        raise nudged.unreadable
    if nudged.leaving:
        return
    if nudged.chat is None or not turn.holds(nudged.chat):
        raise FenceStale(f"chat {turn.chat.chat_id} is driven by another worker")
    turn.take(nudged.chat)


class ModelSteps:
    def __init__(
        self,
        commits: Commits,
        generation: Generation,
        models: Models,
        clock: Clock,
        chance: Callable[[], float],
        rules: StepPolicy,
    ) -> None:
        self._commits = commits
        self._generation = generation
        self._models = models
        self._clock = clock
        self._chance = chance
        self._rules = rules
        self._options = rules.options
        self._counters = generation.counters

    async def reply(self, turn: Turn, prompt: Prompt, toolbox: Toolbox) -> bool:
        """Ask for a reply and commit it; whether another turn began with that commit."""
        if prompt.replies >= self._rules.replies_max(turn.chat):
            sentence = TOO_MANY_REPLIES.format(number=prompt.replies)
            return await self.fail(
                turn, TurnError(kind=ErrorKind.USAGE_LIMIT, sentence=sentence), keeps=False
            )
        if (refusal := self._refusal(turn, prompt)) is not None:
            return await self.fail(turn, refusal, keeps=False)
        if not await self._begin(turn):
            return False
        heard = await self._generation.attempt(turn, self._ask(turn, prompt, toolbox))
        if heard.reply is not None:
            return await self._store(turn, heard.reply, toolbox)
        return await self._without_reply(turn, heard)

    async def compact(self, turn: Turn, prompt: Prompt, toolbox: Toolbox) -> bool:
        """Ask where things stand, and mark it as the boundary of the prompt."""
        if (refusal := self._refusal(turn, prompt)) is not None:
            return await self.fail(turn, refusal, keeps=False)
        if not await self._begin(turn):
            return False
        ask = self._ask(turn, prompt, toolbox)
        ask = replace(ask, history=[*ask.history, ASK])
        heard = await self._generation.attempt(turn, ask, shown=False)
        text = "" if heard.reply is None else boundary_text(heard.reply.parts)
        if heard.reply is None or not text:
            if heard.reply is not None:
                heard = AttemptResult(failed=EndedEarly("nothing was said of where things stand"))
            return await self._without_reply(turn, heard)
        self._counters.compactions += 1
        body = replace(self._body(turn, heard.reply, (Text(text),)), role=Role.BOUNDARY)
        body = replace(body, ending=Ending.COMPLETE)
        # System messages lie before the boundary, where no prompt looks any more: said again.
        step = CommitStep((body, *prompt.system))
        return await self._commits.commit(turn, step, *self._commits.follow_up(turn, step))

    def prompt_bytes_max(self, chat: Chat) -> int:
        """What no prompt for the model of this chat can be: many times its context window."""
        window = self._models.context_window(self._rules.model_of(chat))
        return (window or WINDOW_UNKNOWN) * TOKEN_BYTES_MAX

    def _refusal(self, turn: Turn, prompt: Prompt) -> TurnError | None:
        return TOO_LARGE if not prompt.whole else self._rules.refusal(turn.chat)

    def _ask(self, turn: Turn, prompt: Prompt, toolbox: Toolbox) -> Ask:
        # Kept, for the bill: another model may be the default before this one has answered.
        turn.asked_model = self._rules.model_of(turn.chat)
        return Ask(
            chat_id=turn.chat.chat_id,
            model=turn.asked_model,
            effort=turn.chat.effort,
            history=prompt.bodies,
            system=(*self._rules.system_of(turn.chat), *(turn.tools.sections or ())),
            tools=tuple(toolbox.specs.values()),
        )

    # Before an attempt.

    async def _begin(self, turn: Turn) -> bool:
        """Wait out a backoff and count the attempt, before it is made (P3). False: nudged."""
        if turn.chat.backoff is not None:
            nudged = await self._wait(turn, turn.chat.backoff)
            if nudged is not None:
                apply(turn, nudged)
                return False
        if not turn.is_begun:
            await self._commits.commit(turn, BeginAttempt())
        return turn.is_begun

    async def _wait(self, turn: Turn, backoff: Backoff) -> Interruption | None:
        """Exactly the delay that readers were shown (L46); of another worker's, the rest of it."""
        loop = asyncio.get_running_loop()
        if turn.wait_ends_s is not None:
            rest_s = turn.wait_ends_s - loop.time()
        else:
            rest_s = (backoff.until - self._clock.now()).total_seconds()
        rest_s = min(max(rest_s, 0.0), backoff.delay_ms / 1000)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(
                attend(turn, self._generation.reading, pause_s=self._options.pause_s)
            )
            await asyncio.wait({watching}, timeout=rest_s)
            nudged = watching.result() if watching.done() else None
            watching.cancel()
        turn.wait_ends_s = None if nudged is None else turn.wait_ends_s
        return nudged

    # After one.

    async def _store(self, turn: Turn, reply: Reply, toolbox: Toolbox) -> bool:
        raws = {bad.call_id: bad.raw for bad in reply.malformed}
        judging = CallPolicy(turn.chat, self._rules, toolbox, raws)
        judged = [judging.part(part) for part in reply.parts]
        renamed = unique_calls([part for part, _ in judged], turn)
        body = self._body(turn, reply, renamed)
        refusals = tuple(
            replace(refusal, call_id=part.call_id)
            for part, (_, refusal) in zip(renamed, judged, strict=True)
            if refusal is not None and isinstance(part, ToolCall)
        )
        messages: tuple[MessageBody, ...] = (body,)
        if refusals and body.ending in {Ending.COMPLETE, Ending.PAUSED}:
            # In the same statement: that the arguments were broken is written nowhere else, and
            # no worker must ever find a call open that a rule denies.
            messages = (body, MessageBody(role=Role.TOOL, parts=refusals))
        step = CommitStep(messages, toolbox.place)
        return await self._commits.commit(turn, step, *self._commits.follow_up(turn, step))

    def _body(self, turn: Turn, reply: Reply, parts: tuple[Part, ...]) -> MessageBody:
        usage = reply.usage
        if usage is not None:
            self._counters.input_tokens += usage.input
            self._counters.output_tokens += usage.output
        return MessageBody(
            role=Role.ASSISTANT,
            parts=parts,
            ending=reply.ending,
            model=self._rules.name_of(turn.asked_model),
            effort=turn.chat.effort,
            usage=None if usage is None else usage.counts(),
            cost_micros=self._models.cost_micros(turn.asked_model, usage, self._clock.now()),
        )

    async def _without_reply(self, turn: Turn, heard: AttemptResult) -> bool:
        if heard.failed is not None:
            if await self._looked_away(turn):
                return False
            return await self._failed(turn, heard.failed)
        assert heard.nudged is not None, "an attempt ends in a reply, a failure or a nudge"
        apply(turn, heard.nudged)
        said = turn.said_here()
        if heard.nudged.leaving and said is not None and said.parts:
            # Kept, for a reader has seen it (M4); the next worker goes on where it stops.
            self._counters.handovers += 1
            await self._commits.commit(turn, CommitStep((self.partial(turn, said, Ending.CUT),)))
        return False

    async def _looked_away(self, turn: Turn) -> bool:
        """Whether a failure came together with an interrupt or an edit, which then go first: some
        providers report a stop as an error (L02)."""
        if not turn.nudges.pending or turn.nudges.leaving:
            return False
        history = turn.chat.history
        turn.nudges.heed()
        apply(turn, Interruption(await self._commits.load(turn)))
        return turn.interrupting or turn.chat.history != history

    async def _failed(self, turn: Turn, failed: ModelFailed) -> bool:
        turn.spent = turn.episode
        error = failed.turn_error()
        decision = (
            StopReason.OWN_DEADLINE
            if failed.own_deadline
            else next_attempt(
                error,
                attempt=turn.chat.attempt - turn.chat.attempts_forgiven,
                now=self._clock.now(),
                chance=self._chance(),
                hint_s=failed.retry_after_s,
                policy=self._options.retry,
            )
        )
        log_attempt(
            failed,
            error,
            model=self._name_of_model(turn),
            attempt=turn.chat.attempt,
            then=None if isinstance(decision, StopReason) else decision,
        )
        if isinstance(decision, StopReason):
            return await self.fail(turn, error, failed=failed)
        self._counters.retries += 1
        await self._commits.commit(turn, RecordRetry(decision))
        turn.wait_ends_s = asyncio.get_running_loop().time() + decision.delay_ms / 1000
        return False

    async def fail(
        self,
        turn: Turn,
        error: TurnError,
        *,
        keeps: bool = True,
        failed: ModelFailed | None = None,
    ) -> bool:
        """End the turn with an error, keeping what was said before it. `failed`: the last attempt,
        if that ended the turn."""
        self._counters.failures[error.kind] += 1
        log_turn(error, failed, model=self._name_of_model(turn))
        said = turn.said_here() if keeps and not turn.chat.open_calls else None
        if said is not None and said.parts:
            partial = CommitStep((self.partial(turn, said, Ending.CUT),))
            return await self._commits.commit(turn, partial, Fail(error))
        return await self._commits.commit(turn, Fail(error))

    def partial(self, turn: Turn, said: UncommittedReply, ending: Ending) -> MessageBody:
        cost = self._models.cost_micros(turn.asked_model, said.usage, self._clock.now())
        model = self._name_of_model(turn)
        return partial_body(said, ending, model=model, effort=turn.chat.effort, cost_micros=cost)

    def _name_of_model(self, turn: Turn) -> str | None:
        # Which model a dead worker asked is not known: what goes for the chat now.
        return self._rules.name_of(turn.asked_model or self._rules.model_of(turn.chat))
