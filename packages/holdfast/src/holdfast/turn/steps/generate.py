"""Generate: ask the model for a reply, and store it with what becomes of its calls."""

from dataclasses import replace
from typing import Final

from holdfast.chats.changes import Commit
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.commands import CommitStep
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
    if _is_due_to_pause(session, prompt, replies_max):
        return await _pause(session, prompt.replies, replies_max)
    if (refusal := _refusal(session, prompt)) is not None:
        return await session.fail(refusal, keeps=False)
    if not await model_steps.begin(session):
        return None
    sent = await session.prefix(prompt, toolbox)
    if replies_max - prompt.replies % replies_max == NOTE_AT and prompt.replies:
        sent = replace(sent, news=_NOTE)
    asking = model_steps.ask(session, prompt, sent)
    heard = await model_steps.attempt(session, asking)
    if heard.reply is not None:
        return await _store(session, heard.reply, toolbox)
    return await model_steps.without_reply(session, heard)


def _refusal(session: TurnSession, prompt: Prompt) -> TurnError | None:
    if prompt.thought_only >= THOUGHTS_MAX:
        sentence = ONLY_THOUGHT.format(number=prompt.thought_only)
        return TurnError(kind=ErrorKind.USAGE_LIMIT, sentence=sentence)
    return model_steps.refusal(session, prompt)


def _is_due_to_pause(session: TurnSession, prompt: Prompt, replies_max: int) -> bool:
    """After each `replies_max` replies since a person last spoke, until a person retries.

    A retry forgives the attempts before it (`attempts_forgiven`), and `_pause` has counted one: so
    the facts of the chat say whether this pause has been answered. The next reply is another
    history without attempts, and the next multiple another pause."""
    at_limit = prompt.replies > 0 and prompt.replies % replies_max == 0
    return at_limit and session.turn.chat.attempts_forgiven == 0


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


async def _store(session: TurnSession, reply: Reply, toolbox: Toolbox) -> Commit | None:
    turn = session.turn
    raws = {bad.call_id: bad.raw for bad in reply.malformed}
    judging = CallPolicy(turn.chat, session.services.rules, toolbox, raws)
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
    return await session.commit_step(CommitStep(messages, toolbox.place))
