"""Finish: nothing is owed any more; the next message of the queue begins another turn."""

from holdfast.chats.changes import Commit
from holdfast.domain.commands import FinishTurn
from holdfast.domain.next_step import Finish
from holdfast.turn.session import TurnSession


async def perform(session: TurnSession, _step: Finish) -> Commit | None:
    return await session.commit(FinishTurn())
