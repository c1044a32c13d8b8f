"""The plan of `update_plan`: a line for each step, with a checkbox that shows its status."""

from collections.abc import Iterator
from typing import Final, cast

UPDATE_PLAN: Final = "update_plan"
_BOXES: Final = {
    "pending": "[ ]",
    "in_progress": "[>]",
    "completed": "[x]",
    "dropped": "[-]",
}


def plan_lines(tool: str, arguments: object) -> Iterator[str]:
    """Nothing for another tool; what is no step is left out."""
    if tool != UPDATE_PLAN or not isinstance(arguments, dict):
        return
    steps = cast("dict[str, object]", arguments).get("steps")
    for step in cast("list[object]", steps) if isinstance(steps, list) else ():
        match step:
            case {"text": str(text), "status": str(status)} if status in _BOXES:
                yield f"{_BOXES[status]} {text}"
            case _:
                pass
