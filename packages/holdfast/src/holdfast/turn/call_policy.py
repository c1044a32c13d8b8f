"""What becomes of the calls of a reply before it is stored: run, asked about, or answered at once.

And again right before a run: a call that was approved is run only as it was approved (X4).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from holdfast.chats.outputs import cut
from holdfast.domain.approvals import RuleAction, digest_of
from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Need, Part, ToolCall, ToolResult
from holdfast.domain.plan_mode import NO_PLAN_MODE, NOT_ACTIVE
from holdfast.domain.synthetic import denied_by_rule, refused_by_mode
from holdfast.ports.tools import Toolbox, ToolSpec
from holdfast.turn.step_policy import StepPolicy

MALFORMED: Final = "Not run: the arguments of this call were not a JSON object. They were: {raw}"
RAW_BYTES_MAX: Final = 2000
CHANGED: Final = (
    "Not run: {tool} is no longer the tool that was approved. Call it again if it is still needed:"
    " the new call is put to a decision again."
)


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """`raws`: the arguments of calls whose arguments were broken. `foreign`: the sources of foreign
    text that the model had read when it called."""

    chat: Chat
    rules: StepPolicy
    toolbox: Toolbox
    raws: Mapping[CallId, str]
    foreign: Collection[str] = ()

    def part(self, part: Part) -> tuple[Part, ToolResult | None]:
        """The part as it is stored; with a result, if the call in it is answered already."""
        if not isinstance(part, ToolCall) or part.runs_at != "here":
            return part, None
        call = replace(part, needs=Need.NOTHING, digest=None, then=Need.NOTHING)
        spec = self.toolbox.specs.get(part.tool)
        if part.call_id in self.raws:
            return call, _malformed(call, self.raws[part.call_id])
        if spec is None:
            return call, None  # and nothing will be run
        call = replace(call, arguments=spec.normalised(call.arguments))
        if (refusal := _refusal(self.chat, call, spec)) is not None:
            return call, refusal
        sources = self.foreign if self.foreign and spec.sends_out() else ()
        judgement = self.rules.judge(self.chat, call, spec, sources)
        if judgement.verdict is RuleAction.DENY:
            return call, denied_by_rule(call.call_id, call.tool, judgement.words)
        asks = judgement.verdict is RuleAction.ASK
        return _gated(call, spec, Need.APPROVAL if asks else spec.needs), None


def _refusal(chat: Chat, call: ToolCall, spec: ToolSpec) -> ToolResult | None:
    """Of a call that the mode of the chat does not allow, or that its tool cannot work with."""
    if (words := _inactive(chat, call, spec)) is not None:
        return refused_by_mode(call.call_id, call.tool, words)
    if spec.fault is not None and (words := spec.fault(call.arguments)) is not None:
        return ToolResult(call.call_id, call.tool, words, failed=True)
    return None


def _inactive(chat: Chat, call: ToolCall, spec: ToolSpec) -> str | None:
    """Why the mode of the chat refuses a call. A tool that a client runs is never active in plan
    mode: what it changes, only the client knows."""
    if not chat.plan_mode:
        return NO_PLAN_MODE.format(tool=call.tool) if spec.plan_mode_only else None
    if spec.in_plan_mode is None or spec.needs is Need.RESULT:
        return NOT_ACTIVE.format(tool=call.tool)
    return spec.in_plan_mode(chat, call.tool, call.arguments)


def _gated(call: ToolCall, spec: ToolSpec, needs: Need) -> ToolCall:
    """What a call waits for. Only what waits for a person's word is bound by a digest."""
    if not needs.is_gate:
        return replace(call, needs=needs)
    then = Need.NOTHING if spec.needs is needs else spec.needs
    return replace(call, needs=needs, then=then, digest=bound_digest(call, spec))


def bound_digest(call: ToolCall, spec: ToolSpec) -> str:
    return digest_of(call.tool, call.arguments, spec.definition)


def refusal_to_run(
    open_call: OpenCall, call: ToolCall, spec: ToolSpec, rules: StepPolicy, chat: Chat
) -> ToolResult | None:
    """Why a call that was not started is not run after all: its tool is another than the one
    that was approved, or a rule that came meanwhile denies it."""
    if open_call.digest is not None and bound_digest(call, spec) != open_call.digest:
        words = CHANGED.format(tool=call.tool)
        return ToolResult(call.call_id, call.tool, words, failed=True)
    judgement = rules.judge(chat, call, spec)
    if judgement.verdict is RuleAction.DENY:
        return denied_by_rule(call.call_id, call.tool, judgement.words)
    return None


def _malformed(call: ToolCall, raw: str) -> ToolResult:
    shown, _ = cut(raw, RAW_BYTES_MAX)
    return ToolResult(call.call_id, call.tool, MALFORMED.format(raw=shown), failed=True)
