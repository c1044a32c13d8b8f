"""Run tools: run the open calls in order, and store their results in one commit."""

from dataclasses import replace

from holdfast.chats.changes import Commit
from holdfast.domain.commands import CommitStep
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.next_step import RunTools
from holdfast.domain.parts import Synthetic
from holdfast.ports.tools import AskedPrompt, ModelUse, Toolbox
from holdfast.turn.call_plan import Plan, inherited_calls, plan
from holdfast.turn.prompt import Prompt
from holdfast.turn.recheck import apply
from holdfast.turn.session import TurnSession
from holdfast.turn.shown_output import with_all_shown


async def perform(session: TurnSession, step: RunTools) -> Commit | None:
    turn, services = session.turn, session.services
    prompt, toolbox = await session.prompt(), await session.toolbox()
    history = turn.chat.history
    planned = plan(turn, prompt, toolbox, step.calls, services.rules)
    if any(each.synthetic is Synthetic.UNKNOWN_OUTCOME for each in planned.answers):
        shown = await services.takeover.outputs(turn)
        limit = services.runs.output_bytes_max(turn)
        planned = replace(planned, answers=with_all_shown(planned.answers, shown, limit))
    asked = await _asked_prompt(session, prompt, toolbox, planned)
    ran = await services.runs.run(turn, toolbox, planned, asked)
    if turn.chat.lost is not None:
        turn.inherited_calls = inherited_calls(turn.chat.open_calls, planned, ran.results)
    if ran.nudged is not None:
        turn.let_go = ran.nudged.leaving
        session.counters.handovers += ran.nudged.leaving
        apply(turn, ran.nudged)
    if not ran.results or turn.chat.history != history:
        return None  # nothing to say, or no call to answer: an edit took the calls away
    body = MessageBody(role=Role.TOOL, parts=ran.results)
    if ran.uses:
        body = _with_use(body, ran.uses[-1])
    return await session.commit_step(CommitStep((body,)))


async def _asked_prompt(
    session: TurnSession, prompt: Prompt, toolbox: Toolbox, planned: Plan
) -> AskedPrompt | None:
    """From memory, unless a dead worker asked; None: no call of the step needs it."""
    readers = [run.call.call_id for run in planned.runs if run.spec.reads_prompt]
    if not readers:
        return None
    sent = await session.prefix(prompt, toolbox, renews=False)
    bodies = prompt.bodies
    asked_at = max(
        at for at, body in enumerate(bodies) if any(c.call_id == readers[0] for c in body.calls)
    )
    return AskedPrompt(
        system=sent.prefix.system, messages=bodies[:asked_at], reply=bodies[asked_at]
    )


def _with_use(body: MessageBody, use: ModelUse) -> MessageBody:
    """What a tool asked of a model costs as a reply does, in the commit of its result. Such a tool
    is called alone."""
    return replace(body, model=use.model, usage=use.usage, cost_micros=use.cost_micros)
