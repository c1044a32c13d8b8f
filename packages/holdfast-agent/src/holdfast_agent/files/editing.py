"""Edit several files, all of them or none.

First everything is read, checked and worked out in memory; whatever does not fit is told, for all
files at once, and nothing has been written. Then all new files are made beside the old ones, and
then they are exchanged one after the other. If one turns out to have been changed by another
program since it was read, those already exchanged are put back. What is left is a crash of the
agent between two exchanges: each file is then whole, but some are old and some new, and files whose
names begin with `.holdfast-new-` may remain.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files import diffs
from holdfast_agent.files.beneath import Beneath, OpenFile, read_all
from holdfast_agent.files.matching import DoesNotFit, TooMuch, changed
from holdfast_agent.files.reading import refuse_binary
from holdfast_agent.files.text import BOM, readable
from holdfast_agent.files.writing import Moved, Spot, existing, spot, staged
from holdfast_agent.wire import Edited, EditedFile, EditFiles, FaultCode, FileEdit

EDIT_BYTES_MAX: Final = 8 << 20
"""Of one file, before and after."""
BATCH_BYTES_MAX: Final = 64 << 20
PROBLEMS_TOLD_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class _Plan:
    here: Spot
    file: OpenFile
    old: bytes
    new: bytes
    replaced: int

    def told(self) -> EditedFile:
        shown = self.here.place.shown
        old, new = (readable(each.removeprefix(BOM)) for each in (self.old, self.new))
        diff = diffs.unified(shown, old, new)
        return EditedFile(path=shown, replaced=self.replaced, diff=diff)


def edit(beneath: Beneath, asked: EditFiles) -> Edited:
    with ExitStack() as stack:
        plans = _plans(beneath, asked, stack)
        told = Edited(files=tuple(plan.told() for plan in plans))
        _swap_all(plans, stack)
    return told


def _plans(beneath: Beneath, asked: EditFiles, stack: ExitStack) -> list[_Plan]:
    plans: list[_Plan] = []
    problems: list[Refused] = []
    seen: dict[tuple[int, int], str] = {}
    for each in asked.files:
        try:
            plans.append(_plan(beneath, each, seen, stack))
        except Refused as refused:
            problems.append(refused)
        if sum(len(plan.old) + len(plan.new) for plan in plans) > BATCH_BYTES_MAX:
            message = (
                "The files are too large to be edited at once. Edit fewer. Nothing was written."
            )
            raise Refused(FaultCode.TOO_LARGE, message)
    if problems:
        raise Refused(problems[0].code, _told(problems))
    return plans


def _told(problems: Sequence[Refused]) -> str:
    told = [problem.message for problem in problems[:PROBLEMS_TOLD_MAX]]
    if len(problems) > len(told):
        told.append(f"There are {len(problems) - len(told)} more such problems.")
    return "\n".join([*told, "Nothing was written, in any file."])


def _plan(
    beneath: Beneath, each: FileEdit, seen: dict[tuple[int, int], str], stack: ExitStack
) -> _Plan:
    place = beneath.place(each.path)
    here = stack.enter_context(spot(beneath, place, parents="there"))
    file = stack.enter_context(existing(here))
    if file is None:
        raise Refused(FaultCode.NOT_FOUND, f"There is no `{place.shown}` to edit.")
    if file.identity in seen:
        message = (
            f"`{seen[file.identity]}` and `{place.shown}` are one file. Put all its changes under"
            " one path, in the order in which they are to happen."
        )
        raise Refused(FaultCode.BAD_REQUEST, message)
    seen[file.identity] = place.shown
    old = read_all(file, place, EDIT_BYTES_MAX)
    refuse_binary(old, len(old), place)
    new, replaced = _changed(old, each, place.shown)
    return _Plan(here, file, old, new, replaced)


def _changed(old: bytes, each: FileEdit, shown: str) -> tuple[bytes, int]:
    bom = BOM if old.startswith(BOM) else b""
    # Bytes that are no UTF-8 go through as they are.
    text = old.removeprefix(BOM).decode(errors="surrogateescape")
    replaced = 0
    for number, change in enumerate(each.changes, start=1):
        try:
            text, count = changed(text, change, EDIT_BYTES_MAX)
        except DoesNotFit as reason:
            which = f"change {number} of {len(each.changes)}" if len(each.changes) > 1 else "change"
            raise Refused(FaultCode.CONFLICT, f"`{shown}`, {which}: {reason}") from reason
        except TooMuch as much:
            message = f"`{shown}` would have more than {EDIT_BYTES_MAX:,} bytes."
            raise Refused(FaultCode.TOO_LARGE, message) from much
        replaced += count
    return bom + text.encode(errors="surrogateescape"), replaced


def _swap_all(plans: Sequence[_Plan], stack: ExitStack) -> None:
    news = [stack.enter_context(staged(plan.here, plan.new, plan.file.stat)) for plan in plans]
    with ExitStack() as undo:
        for plan, new in zip(plans, news, strict=True):
            undo.callback(new.back)
            try:
                new.swap(plan.file, plan.old)
            except Moved as moved:
                message = (
                    f"`{plan.here.place.shown}` was changed by another program at the same moment."
                    " No file was written. Read it again, then try again."
                )
                raise Refused(FaultCode.CONFLICT, message) from moved
        undo.pop_all()
