"""A runner as the machine sees it: acts on the snapshot it holds, however old that is."""

from dataclasses import dataclass, replace
from typing import Final

from hypothesis import strategies as st

from holdfast.domain import commands as c
from holdfast.domain.advice import ADVISOR
from holdfast.domain.chat import Chat, Facts, Status
from holdfast.domain.compaction import Compaction, CompactionReason
from holdfast.domain.decide import decide_all
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
from holdfast.domain.plan_mode import PROPOSE_PLAN
from tests.model.advice import ADVICE_MAX
from tests.support.builders import NOW, asks, backoff, boundary, error, reply

REPLIES = st.sampled_from(
    [
        *("finish", "finish", "reply", "begin", "tools", "approval", "client", "retry", "fail"),
        *("cut", "full", "full", "overflow", "drop"),
        *("advice", "advice", "advices"),
        *("plan", "plan", "plan and ask"),
    ]
)

WINDOW_TOKENS: Final = 8_192
OVER: Final = Compaction(
    reason=CompactionReason.THRESHOLD,
    used_tokens=WINDOW_TOKENS,
    limit_tokens=WINDOW_TOKENS,
    percent=70,
)
"""A prompt that takes all of its window."""
_WITHOUT_WORDS: Final[dict[str, c.Command]] = {
    "begin": c.BeginAttempt(),
    "retry": c.RecordRetry(backoff()),
    "fail": c.Fail(error()),
    "overflow": c.NeedCompaction(replace(OVER, reason=CompactionReason.OVERFLOW)),
}


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
                # An advisor that fails, and one that answers; a plan that is not there, and one.
                done = tuple(
                    ToolResult(call.call_id, call.tool, "done", failed=choice in {"cut", "drop"})
                    for call in calls
                )
                step_done = c.CommitStep((MessageBody(role=Role.TOOL, parts=done),))
                if choice == "finish" and self._is_over(step_done):
                    return (step_done, c.FinishTurn())
                if choice == "full" and not self._is_over(step_done):
                    return (step_done, c.NeedCompaction(OVER), c.BeginAttempt())
                return (step_done,)
            case AwaitOutside(kind, calls):
                return (c.Await(kind, tuple(call.call_id for call in calls)),)
            case Compact():
                return _compact(choice)
            case Finish():
                return (c.FinishTurn(),)
            case KeepPartial():
                if self.chat.open_calls or not self.chat.owes_reply:
                    return (c.FinishInterrupt(),)  # no model was being asked
                said = reply(f"partial {number}", ending=Ending.INTERRUPTED)
                return (c.FinishInterrupt((said,)),)

    def _is_over(self, step: c.CommitStep) -> bool:
        """Whether a turn is over with these results, as a worker finds before it commits them."""
        after = decide_all(Facts(chat=self.chat), (step,), NOW).chat
        return isinstance(next_step(after), Finish)


def _plan_and_ask(plan: CallId, question: CallId) -> MessageBody:
    """A plan, and beside it a call that waits for a client."""
    said, asked = asks(plan, tool=PROPOSE_PLAN), asks(question, needs=Need.RESULT)
    return replace(said, parts=(*said.parts, *asked.calls))


def _compact(choice: str) -> tuple[c.Command, ...]:
    if choice in {"begin", "retry", "fail"}:
        return (_WITHOUT_WORDS[choice],)
    return (c.DropCompaction(),) if choice == "drop" else (c.CommitStep((boundary(),)),)


def _generate(choice: str, number: int) -> tuple[c.Command, ...]:
    if choice in _WITHOUT_WORDS:
        return (_WITHOUT_WORDS[choice],)
    one, two = CallId(f"call-{number}-1"), CallId(f"call-{number}-2")
    said: dict[str, tuple[MessageBody, tuple[c.Command, ...]]] = {
        "finish": (reply(f"reply {number}"), (c.FinishTurn(),)),
        "reply": (reply(f"reply {number}"), ()),
        "tools": (asks(one, two), ()),
        "approval": (asks(one, two, needs=Need.APPROVAL), ()),
        "client": (asks(one, needs=Need.RESULT), ()),
        "advice": (asks(one, tool=ADVISOR), ()),
        "advices": (asks(one, two, tool=ADVISOR), ()),
        "plan": (asks(one, tool=PROPOSE_PLAN), ()),
        "plan and ask": (_plan_and_ask(one, two), ()),
        # The prompt is as long as before a summary.
        "full": (replace(asks(one), usage={"input": WINDOW_TOKENS}), ()),
    }
    cut = (asks(one, ending=Ending.CUT), (c.Fail(error()),))
    body, more = said.get(choice, cut)
    return (c.CommitStep((body,), advice_max=ADVICE_MAX), *more)
