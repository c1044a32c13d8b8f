"""Keep partial: after an interrupt, store whatever a reader may have seen, and finish (M4)."""

from holdfast.chats.changes import Commit
from holdfast.domain.chat import OpenCall
from holdfast.domain.commands import CommitStep, FinishInterrupt
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.next_step import KeepPartial
from holdfast.domain.parts import Need, Synthetic
from holdfast.domain.synthetic import synthetic_result
from holdfast.turn.session import TurnSession
from holdfast.turn.shown_output import with_all_shown
from holdfast.turn.turn import Turn, UncommittedReply


async def perform(session: TurnSession, _step: KeepPartial) -> Commit | None:
    session.counters.interrupts += 1
    if session.turn.chat.open_calls:
        await stop_inherited(session)
        return await session.commit(*await _in_doubt(session), FinishInterrupt())
    if session.turn.tools.sections is None:  # our runner did not come so far as to look
        await session.stop_void()
    said = await said_before(session)
    if said is None or not said.parts:
        return await session.commit(FinishInterrupt())
    partial = session.kept(said, Ending.INTERRUPTED)
    return await session.commit(FinishInterrupt(partial, said.episode.attempt))


async def stop_inherited(session: TurnSession) -> None:
    """What a call of a dead worker runs elsewhere may go on, or be started yet by a worker that
    was only frozen: nothing of it does once the interrupt is finished (X2)."""
    await session.end_calls(_inherited(session.turn))


async def said_before(session: TurnSession) -> UncommittedReply | None:
    """From memory if we heard it; from the bus if a worker heard it that is gone."""
    turn, takeover = session.turn, session.services.takeover
    if turn.episode == turn.inherited and turn.chat.attempt > 0:
        return await takeover.said(turn, turn.episode)
    if turn.left:  # acquired a moment ago, and nothing was said since
        return await takeover.text(turn)
    return turn.said_here()


async def _in_doubt(session: TurnSession) -> tuple[CommitStep, ...]:
    """Calls that a dead worker may have started: «cancelled» would be a guess (X1). What readers
    saw of them is kept."""
    turn, services = session.turn, session.services
    doubtful = tuple(synthetic_result(call, Synthetic.UNKNOWN_OUTCOME) for call in _inherited(turn))
    if not doubtful:
        return ()
    session.counters.unknown_outcomes += len(doubtful)
    shown = await services.takeover.outputs(turn)
    parts = with_all_shown(doubtful, shown, services.runs.output_bytes_max(turn))
    return (CommitStep((MessageBody(role=Role.TOOL, parts=parts),)),)


def _inherited(turn: Turn) -> tuple[OpenCall, ...]:
    """Open calls that a worker before us may have started."""
    return tuple(
        call
        for call in turn.chat.open_calls
        if call.epoch < turn.chat.epoch and call.needs is Need.NOTHING
    )
