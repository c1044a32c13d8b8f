"""Run tools: run the open calls in order, and store their results in one commit."""

from holdfast.chats.changes import Commit
from holdfast.domain.commands import CommitStep
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.next_step import RunTools
from holdfast.turn.call_plan import inherited_calls, plan
from holdfast.turn.recheck import apply
from holdfast.turn.session import TurnSession


async def perform(session: TurnSession, step: RunTools) -> Commit | None:
    turn, services = session.turn, session.services
    prompt, toolbox = await session.prompt(), await session.toolbox()
    history = turn.chat.history
    planned = plan(turn, prompt, toolbox, step.calls, services.rules)
    ran = await services.runs.run(turn, toolbox, planned)
    if turn.chat.lost is not None:
        turn.inherited_calls = inherited_calls(turn.chat.open_calls, planned, ran.results)
    if ran.nudged is not None:
        turn.let_go = ran.nudged.leaving
        session.counters.handovers += ran.nudged.leaving
        apply(turn, ran.nudged)
    if not ran.results or turn.chat.history != history:
        return None  # nothing to say, or no call to answer: an edit took the calls away
    return await session.commit_step(CommitStep((MessageBody(role=Role.TOOL, parts=ran.results),)))
