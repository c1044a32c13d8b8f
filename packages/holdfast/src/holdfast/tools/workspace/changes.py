"""What a change of files did, in words for the model and as a diff for the page.

The model gets a bounded part of the diff: it wrote the new text itself. The page shows all of it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.ports.tools import ToolOutput
from holdfast.tools.workspace.texts import shown
from holdfast_agent.wire import Edited, EditedFile

DIFF_LINES_MAX: Final = 40
"""That the model is told, of all files together."""
DIFF_CHARS_MAX: Final = 64 * 1024
"""That are stored for the page."""
LINES_NAMED_MAX: Final = 20


def edited(done: Edited, noun: str = "Edit") -> ToolOutput:
    """`noun`: what the caller knows one change as."""
    heads = [line for each in done.files for line in _told(each, noun)]
    return with_diff(heads, "".join(each.diff for each in done.files), _told_diffs(done.files))


def with_diff(heads: Sequence[str], diff: str, told: str | None = None) -> ToolOutput:
    """`told`: the part of the diff that the model needs; all of it, if it is not given."""
    lines = (diff if told is None else told).splitlines()
    if len(lines) > DIFF_LINES_MAX:
        left_out = len(lines) - DIFF_LINES_MAX
        lines = [*lines[:DIFF_LINES_MAX], f"[{left_out} more diff lines not shown]"]
    stored = diff if len(diff) <= DIFF_CHARS_MAX else f"{diff[:DIFF_CHARS_MAX]}\n[diff cut]\n"
    return ToolOutput("\n".join([*heads, *lines]), diff=stored, summary_lines=len(heads))


def size_of(lines: int, size: int) -> str:
    number = f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} KB"
    if size >= 1_000_000:
        number = f"{size / 1e6:.1f} MB"
    return f"{lines} {'line' if lines == 1 else 'lines'}, {number}"


def _told(each: EditedFile, noun: str) -> list[str]:
    path = shown(each.path)
    if each.how == "add":
        return [f"Created {path} ({size_of(each.lines_total, each.bytes_total)})."]
    if each.how == "delete":
        return [f"Deleted {path}."]
    if each.moved_to and not each.replaced:
        return [f"Moved {path} to {shown(each.moved_to)}."]
    count = "1 replacement" if each.replaced == 1 else f"{each.replaced} replacements"
    where = f"{count} ({_lines(each.lines)})"
    moved = f" and moved to {shown(each.moved_to)}" if each.moved_to else ""
    repairs = [
        f"{noun} {number} matched apart from {', '.join(names)}." for number, names in each.repairs
    ]
    return [f"Edited {path}{moved}: {where}.", *repairs]


def _lines(lines: Sequence[int]) -> str:
    named = ", ".join(str(line) for line in lines[:LINES_NAMED_MAX])
    more = f" and {len(lines) - LINES_NAMED_MAX} more" if len(lines) > LINES_NAMED_MAX else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {named}{more}"


def _told_diffs(files: Iterable[EditedFile]) -> str:
    """Without new files, whose text the model just wrote, and without deleted ones."""
    return "".join(each.diff for each in files if each.how == "edit")
