"""Generate: ask the model for a reply, and store it with what becomes of its calls."""

from dataclasses import replace
from typing import Final

from holdfast.chats.changes import Commit
from holdfast.domain.chat import ErrorKind, TurnError
from holdfast.domain.commands import CommitStep
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.next_step import Generate
from holdfast.domain.parts import ToolCall
from holdfast.ports.models import Reply
from holdfast.ports.tools import Toolbox
from holdfast.turn import model_steps
from holdfast.turn.attempt import unique_calls
from holdfast.turn.call_policy import CallPolicy
from holdfast.turn.prompt import Prompt
from holdfast.turn.session import TurnSession
from holdfast.turn.takeover import CUTS_MAX
from holdfast.turn.turn import UncommittedReply

TOO_MANY_REPLIES: Final = (
    "The model has answered {number} times in a row without finishing. "
    "Send a message to let it go on."
)

THOUGHTS_MAX: Final = 2
ONLY_THOUGHT: Final = (
    "The model used its whole output for thinking, {number} times in a row, and said nothing. "
    "Choose a lower effort or another model, and send a message."
)


async def perform(session: TurnSession, _step: Generate) -> Commit | None:
    if session.turn.left and (said := await _said_before(session)) is not None:
        return await _go_on(session, said)
    turn, services = session.turn, session.services
    prompt, toolbox = await session.prompt(), await session.introduced()
    if (limit := _limit(prompt, services.rules.replies_max(turn.chat))) is not None:
        return await session.fail(limit, keeps=False)
    if (refusal := model_steps.refusal(session, prompt)) is not None:
        return await session.fail(refusal, keeps=False)
    if not await model_steps.begin(session):
        return None
    asking = model_steps.ask(session, prompt, await session.prefix(prompt, toolbox))
    heard = await model_steps.attempt(session, asking)
    if heard.reply is not None:
        return await _store(session, heard.reply, toolbox)
    return await model_steps.without_reply(session, heard)


def _limit(prompt: Prompt, replies_max: int) -> TurnError | None:
    """The model has had its chances since a person last spoke."""
    if prompt.replies >= replies_max:
        sentence = TOO_MANY_REPLIES.format(number=prompt.replies)
    elif prompt.thought_only >= THOUGHTS_MAX:
        sentence = ONLY_THOUGHT.format(number=prompt.thought_only)
    else:
        return None
    return TurnError(kind=ErrorKind.USAGE_LIMIT, sentence=sentence)


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
