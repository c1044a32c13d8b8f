"""A runner as the machine sees it: acts on the snapshot it holds, however old that is."""

from dataclasses import dataclass

from hypothesis import strategies as st

from holdfast.domain import commands as c
from holdfast.domain.chat import Chat, Status
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.next_step import (
    AwaitOutside,
    Compact,
    Finish,
    Generate,
    KeepPartial,
    RunTools,
    next_step,
)
from holdfast.domain.parts import Need, ToolResult
from tests.support.builders import asks, backoff, boundary, error, reply

REPLIES = st.sampled_from(
    ["finish", "finish", "reply", "begin", "tools", "approval", "client", "retry", "fail", "cut"]
)


@dataclass
class Runner:
    chat: Chat
    taken_over: bool = False  # by another worker: whatever it still tries must fail

    def commands(self, choice: str, number: int) -> tuple[c.Command, ...]:
        """What a worker would do next, given this snapshot and what the model says."""
        assert self.chat.status in {Status.RUNNING, Status.INTERRUPTING}
        step = next_step(self.chat)
        match step:
            case Generate():
                return _generate(choice, number)
            case RunTools(calls):
                done = tuple(ToolResult(call.call_id, call.tool, "done") for call in calls)
                return (c.CommitStep((MessageBody(role=Role.TOOL, parts=done),)),)
            case AwaitOutside(kind, calls):
                return (c.Await(kind, tuple(call.call_id for call in calls)),)
            case Compact():
                return (c.CommitStep((boundary(),)),)
            case Finish():
                return (c.FinishTurn(),)
            case KeepPartial():
                if self.chat.open_calls:
                    return (c.FinishInterrupt(),)
                said = reply(f"partial {number}", ending=Ending.INTERRUPTED)
                return (c.FinishInterrupt((said,)),)


def _generate(choice: str, number: int) -> tuple[c.Command, ...]:
    def step(body: MessageBody) -> c.CommitStep:
        return c.CommitStep((body,))

    one, two = CallId(f"call-{number}-1"), CallId(f"call-{number}-2")
    match choice:
        case "finish":
            return (step(reply(f"reply {number}")), c.FinishTurn())
        case "reply":
            return (step(reply(f"reply {number}")),)
        case "begin":
            return (c.BeginAttempt(),)
        case "tools":
            return (step(asks(one, two)),)
        case "approval":
            return (step(asks(one, two, needs=Need.APPROVAL)),)
        case "client":
            return (step(asks(one, needs=Need.RESULT)),)
        case "retry":
            return (c.RecordRetry(backoff()),)
        case "fail":
            return (c.Fail(error()),)
        case _:
            return (step(asks(one, ending=Ending.CUT)), c.Fail(error()))
