"""Await outside: the chat is released until a person or a client has answered."""

from holdfast.chats.changes import Commit
from holdfast.domain.next_step import AwaitOutside
from holdfast.turn.session import TurnSession


async def perform(session: TurnSession, step: AwaitOutside) -> Commit | None:
    deadline = session.services.commits.deadline_of(step.kind)
    return await session.commit(step.command(deadline))
