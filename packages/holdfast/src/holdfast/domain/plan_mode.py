"""Plan mode: a turn that looks and asks, and changes nothing but the file of its plan.

A message turns it on or off (`MessageBody.plan_mode`), so it begins and ends with a turn. Which
tools are active in it, each tool says (`ToolSpec.in_plan_mode`); a call of any other is refused
before it is stored.
"""

from typing import Final

from holdfast.domain.ids import ChatId
from holdfast.domain.parts import ToolResult
from holdfast.domain.public_ids import CHAT_ID

PROPOSE_PLAN: Final = "propose_plan"
PLAN_BYTES_MAX: Final = 32 * 1024

NOT_ACTIVE: Final = (
    "{tool} is not active in this turn: the chat is in plan mode. Nothing was run. This is a"
    " policy, not a fault: do not look for a way around it. Put into the plan what you would have"
    " done."
)
ONLY_THE_PLAN: Final = (
    "{tool} is active for the plan file alone in this turn: the chat is in plan mode. Nothing was"
    " run. This is a policy, not a fault. The plan file is {path}, written exactly so."
)
NO_PLAN_MODE: Final = (
    "{tool} is not active in this turn: the chat is not in plan mode. Nothing was run. This is a"
    " policy, not a fault: do what the user asked."
)

_GUIDANCE: Final = """# Plan mode
The user wants a plan, and no change yet. Until the user ends plan mode:
- Look: the tools that read files are active. `execute` is for commands that only look, such as
  `git log` or a dry run; change nothing with it. Other tools answer that they are not active.
- Ask the user with ask_user what neither the chat nor the workspace can tell.
- {plan}
The plan says what is to be changed, in which files and in which order, what may go wrong, and how
the result is checked. It is for a person to agree to: short, in Markdown, without the obvious."""
_WRITE: Final = (
    "Write the plan to `{path}`, the only file that you may change, and call propose_plan when it"
    " is whole. That shows the plan to the user and ends the turn: say nothing after it."
)
_SAY: Final = "Your last message is the plan."


def plan_path(chat_id: ChatId) -> str:
    """Of the only file that a chat may change in plan mode, relative to its workspace."""
    return f".holdfast/plans/PLAN-{CHAT_ID.encode(chat_id)}.md"


def guidance(chat_id: ChatId, *, has_file: bool) -> str:
    """What the model is told of plan mode. `has_file`: whether it can write files at all."""
    plan = _WRITE.format(path=plan_path(chat_id)) if has_file else _SAY
    return _GUIDANCE.format(plan=plan)


def ends_turn(result: ToolResult) -> bool:
    """Whether a result needs no reply: the plan is there, and a person reads it now."""
    return result.tool == PROPOSE_PLAN and not result.failed and result.runs_at == "here"
