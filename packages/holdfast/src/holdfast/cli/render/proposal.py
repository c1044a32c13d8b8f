"""The result of `propose_plan`: the plan of plan mode as prose."""

from typing import Final

PROPOSE_PLAN: Final = "propose_plan"
PROPOSED: Final = "a plan"


def proposal_of(tool: str, output: object, *, failed: bool) -> str | None:
    """None: another tool, or no plan."""
    is_proposal = tool == PROPOSE_PLAN and not failed
    return output if is_proposal and isinstance(output, str) else None
