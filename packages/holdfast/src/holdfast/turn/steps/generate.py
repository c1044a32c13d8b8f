"""Generate: ask the model for a reply, and store it with what becomes of its calls."""

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Final

from holdfast.chats.changes import Commit
from holdfast.domain.advice import ADVISOR
from holdfast.domain.approvals import RuleAction
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.commands import CommitStep, NeedCompaction
from holdfast.domain.compaction import Compaction
from holdfast.domain.foreign import GUIDANCE, holds_fence
from holdfast.domain.messages import Ending, MessageBody, Role, Visibility
from holdfast.domain.next_step import Generate
from holdfast.domain.parts import Text, ToolCall
from holdfast.ports.models import Reply
from holdfast.ports.tools import Toolbox
from holdfast.turn import model_steps
from holdfast.turn.attempt import unique_calls
from holdfast.turn.call_policy import CallPolicy
from holdfast.turn.prompt import Prompt
from holdfast.turn.session import TurnSession
from holdfast.turn.takeover import CUTS_MAX
from holdfast.turn.turn import UncommittedReply

PAUSED: Final = (
    "The turn is paused after {number} replies of the model in a row. Retry to let it go on for "
    "{more} more, or send a message."
)
NOTE_AT: Final = 10
"""So many replies before the pause, the model is told to come to an end."""
NOTE: Final = (
    "[Note from the server: {left} replies are left before this turn pauses. Finish the most "
    "important step, then report what is done, how it was checked, and what is left.]"
)

THOUGHTS_MAX: Final = 2
ONLY_THOUGHT: Final = (
    "The model used its whole output for thinking, {number} times in a row, and said nothing. "
    "Choose a lower effort or another model, and send a message."
)

_NOTE: Final = MessageBody(
    role=Role.SYSTEM, parts=(Text(NOTE.format(left=NOTE_AT)),), visibility=Visibility.MODEL
)
"""Stored behind the messages that it followed, like all that is told in the middle of a chat (ADR
0051): later prompts begin with the same bytes."""


async def perform(session: TurnSession, _step: Generate) -> Commit | None:
    if session.turn.left and (said := await _said_before(session)) is not None:
        return await _go_on(session, said)
    turn, services = session.turn, session.services
    prompt, toolbox = await session.prompt(), await session.introduced()
    replies_max = services.rules.replies_max(turn.chat)
    if (instead := _instead(session, prompt, replies_max)) is not None:
        return await instead
    if not await model_steps.begin(session, lambda: _refusal(session, prompt)):
        return None
    sent = await session.prefix(prompt, toolbox)
    if replies_max - turn.chat.steps % replies_max == NOTE_AT and turn.chat.steps:
        sent = replace(sent, news=_NOTE)
    asking = model_steps.ask(session, prompt, sent)
    heard = await model_steps.attempt(session, asking)
    if heard.reply is not None:
        return await _store(session, heard.reply, toolbox)
    return await model_steps.without_reply(session, heard)


def _instead(
    session: TurnSession, prompt: Prompt, replies_max: int
) -> Coroutine[Any, Any, Commit | None] | None:
    """What is done where the model is not asked."""
    chat = session.turn.chat
    if _is_due_to_pause(session, replies_max):
        return _pause(session, chat.steps, replies_max)
    refusal = _refusal(session, prompt)
    found = refusal or session.services.compaction.before_reply(chat, whole=prompt.whole)
    match found:
        case None:
            return None
        case TurnError():
            return session.fail(found, keeps=False)
        case Compaction():
            return session.commit(NeedCompaction(found))


def _refusal(session: TurnSession, prompt: Prompt) -> TurnError | None:
    if prompt.thought_only >= THOUGHTS_MAX:
        sentence = ONLY_THOUGHT.format(number=prompt.thought_only)
        return TurnError(kind=ErrorKind.USAGE_LIMIT, sentence=sentence)
    return session.services.rules.refusal(session.turn.chat)


def _is_due_to_pause(session: TurnSession, replies_max: int) -> bool:
    """After each `replies_max` replies since a person last spoke, until a person retries.

    A retry forgives the attempts before it (`attempts_forgiven`), and `_pause` has counted one: so
    the facts of the chat say whether this pause has been answered. The next reply is another
    history without attempts, and the next multiple another pause."""
    chat = session.turn.chat
    at_limit = chat.steps > 0 and chat.steps % replies_max == 0
    return at_limit and chat.attempts_forgiven == 0


async def _pause(session: TurnSession, replies: int, replies_max: int) -> Commit | None:
    if not await model_steps.begin(session):
        return None
    sentence = PAUSED.format(number=replies, more=replies_max)
    error = TurnError(kind=ErrorKind.STEP_LIMIT, sentence=sentence, retryable=True)
    return await session.fail(error, keeps=False)


# After a dead worker.


async def _said_before(session: TurnSession) -> UncommittedReply | None:
    """What the model of a dead worker had said; None if the step is to be made anew."""
    prompt, turn = await session.prompt(), session.turn
    said = await session.services.takeover.text(turn) if prompt.cuts < CUTS_MAX else None
    turn.left = ()
    return said


async def _go_on(session: TurnSession, said: UncommittedReply) -> Commit | None:
    """Keep these words; the next attempt goes on from there (L153)."""
    session.counters.continued += 1
    session.turn.keeps_words = True
    session.turn.asked_model = model_steps.model_at(session, said.episode.attempt)
    kept = session.partial(said, Ending.CUT)
    return await session.commit_step(CommitStep((kept,), attempt=said.episode.attempt))


# After an attempt.


async def _foreign(session: TurnSession, toolbox: Toolbox) -> frozenset[str]:
    """Where the foreign text comes from that the model has read; nothing if no rule asks for it."""
    if session.services.options.foreign_text is RuleAction.ALLOW:
        return frozenset()
    own = {name for name, spec in toolbox.specs.items() if not spec.foreign}
    sources = (await session.prompt()).foreign - own
    sent = session.turn.sent
    if sent is not None and any(map(holds_fence, sent.prefix.system)):
        sources |= {GUIDANCE}
    return sources


async def _store(session: TurnSession, reply: Reply, toolbox: Toolbox) -> Commit | None:
    turn = session.turn
    await session.catch_up()  # the rules of approval may have changed while the model spoke
    raws = {bad.call_id: bad.raw for bad in reply.malformed}
    foreign = await _foreign(session, toolbox)
    judging = CallPolicy(turn.chat, session.services.rules, toolbox, raws, foreign)
    judged = [judging.part(part) for part in reply.parts]
    renamed = unique_calls([part for part, _ in judged], turn)
    body = model_steps.body(session, reply, renamed)
    refusals = tuple(
        replace(refusal, call_id=part.call_id)
        for part, (_, refusal) in zip(renamed, judged, strict=True)
        if refusal is not None and isinstance(part, ToolCall)
    )
    messages = turn.with_prefix(body, turn.episode)
    if refusals and body.ending in {Ending.COMPLETE, Ending.PAUSED}:
        # In the same statement: that the arguments were broken is written nowhere else, and
        # no worker must ever find a call open that a rule denies.
        messages = (*messages, MessageBody(role=Role.TOOL, parts=refusals))
    offers = ADVISOR in toolbox.specs
    advice_max = session.services.rules.advice_max(turn.chat) if offers else None
    return await session.commit_step(CommitStep(messages, toolbox.place, advice_max=advice_max))
