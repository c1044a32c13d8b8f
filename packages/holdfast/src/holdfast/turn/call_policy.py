"""What becomes of the calls of a reply before it is stored: run, asked about, or answered at once.

And again right before a run: a call that was approved is run only as it was approved (X4).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from holdfast.chats.outputs import cut
from holdfast.domain.approvals import RuleAction, digest_of
from holdfast.domain.chat import Chat, OpenCall
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Need, Part, ToolCall, ToolResult
from holdfast.domain.synthetic import denied_by_rule
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
    """`raws`: the arguments of calls whose arguments were broken."""

    chat: Chat
    rules: StepPolicy
    toolbox: Toolbox
    raws: Mapping[CallId, str]

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
        judgement = self.rules.judge(self.chat, call)
        match judgement.verdict:
            case RuleAction.DENY:
                return call, denied_by_rule(call.call_id, call.tool, judgement.words)
            case RuleAction.ASK:
                return _gated(call, spec, Need.APPROVAL), None
            case RuleAction.ALLOW:
                return _gated(call, spec, spec.needs), None


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
    judgement = rules.judge(chat, call)
    if judgement.verdict is RuleAction.DENY:
        return denied_by_rule(call.call_id, call.tool, judgement.words)
    return None


def _malformed(call: ToolCall, raw: str) -> ToolResult:
    shown, _ = cut(raw, RAW_BYTES_MAX)
    return ToolResult(call.call_id, call.tool, MALFORMED.format(raw=shown), failed=True)
