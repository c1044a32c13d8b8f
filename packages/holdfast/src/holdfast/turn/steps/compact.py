"""Compact: ask the model where things stand, and mark it as the boundary of the prompt."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from holdfast.chats.changes import Commit
from holdfast.domain.commands import CommitStep
from holdfast.domain.messages import Ending, MessageBody, Role, Visibility
from holdfast.domain.next_step import Compact
from holdfast.domain.parts import Part, Text
from holdfast.turn import model_steps
from holdfast.turn.attempt import AttemptResult, EndedEarly
from holdfast.turn.session import TurnSession

INSTRUCTION: Final = """\
This chat is about to be continued without what was said so far: only your next message will be \
left of it. Write down everything that is needed to continue, in these sections:

1. Asked: what the user wants, with the last request word for word.
2. Done: what has been finished, with names, paths, numbers and decisions.
3. In progress: what was begun and how far it got.
4. Remaining: what has not been begun.
5. Next: the very next action.

Call no tools. Write nothing but these sections."""

ASK: Final = MessageBody(role=Role.USER, parts=(Text(INSTRUCTION),), visibility=Visibility.MODEL)


async def perform(session: TurnSession, _step: Compact) -> Commit | None:
    prompt, toolbox = await session.prompt(), await session.introduced()
    if (refusal := model_steps.refusal(session, prompt)) is not None:
        return await session.fail(refusal, keeps=False)
    if not await model_steps.begin(session):
        return None
    sent = await session.prefix(prompt, toolbox, renews=False)
    asking = model_steps.ask(session, prompt, sent)
    asking = replace(asking, history=[*asking.history, ASK])
    heard = await model_steps.attempt(session, asking, shown=False)
    text = "" if heard.reply is None else boundary_text(heard.reply.parts)
    if heard.reply is None or not text:
        if heard.reply is not None:
            heard = AttemptResult(failed=EndedEarly("nothing was said of where things stand"))
        return await model_steps.without_reply(session, heard)
    session.counters.compactions += 1
    body = model_steps.body(session, heard.reply, (Text(text),))
    body = replace(body, role=Role.BOUNDARY, ending=Ending.COMPLETE)
    # System messages lie before the boundary, where no prompt looks any more: said again.
    return await session.commit_step(CommitStep((body, *prompt.system)))


def boundary_text(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text)).strip()
