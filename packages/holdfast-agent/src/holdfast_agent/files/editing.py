"""Edit, add, move and delete files, all of them or none.

First everything is read, checked and worked out in memory; whatever does not fit is told, for all
files at once, and nothing has been written. Then all new files are made beside the old ones, and
then they are exchanged one after the other. If one turns out to have been changed by another
program since it was read, those already exchanged are put back. What is left is a crash of the
agent between two exchanges: each file is then whole, but some are old and some new, and files whose
names begin with `.holdfast-new-` may remain.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files import diffs
from holdfast_agent.files.beneath import Beneath, OpenFile, read_all
from holdfast_agent.files.matching import DoesNotFit, TooMuch, changed, is_there
from holdfast_agent.files.nearest import nearest_named
from holdfast_agent.files.reading import refuse_binary
from holdfast_agent.files.text import BOM, readable
from holdfast_agent.files.writing import Moved, Spot, existing, spot, staged
from holdfast_agent.wire import Change, Edited, EditedFile, EditFiles, FaultCode, FileEdit

EDIT_BYTES_MAX: Final = 8 << 20
"""Of one file, before and after."""
BATCH_BYTES_MAX: Final = 64 << 20
PROBLEMS_TOLD_MAX: Final = 10
NONE: Final = "No edit was applied."


@dataclass(frozen=True, slots=True)
class _Text:
    """A file's text after its changes."""

    text: bytes
    lines: tuple[int, ...] = ()
    repairs: tuple[tuple[int, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """One file gets a content, or None: it is removed. `file`, `old`: what is there now."""

    here: Spot
    file: OpenFile | None
    old: bytes | None
    new: bytes | None
    like: os.stat_result | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one `FileEdit` comes to. A move has two steps."""

    asked: FileEdit
    steps: tuple[_Step, ...]
    old: bytes | None
    new: bytes | None
    done: _Text

    @property
    def size(self) -> int:
        return len(self.old or b"") + len(self.new or b"")

    def told(self) -> EditedFile:
        place, target = self.steps[0].here.place, self.steps[-1].here.place
        old, new = (
            None if b is None else readable(b.removeprefix(BOM)) for b in (self.old, self.new)
        )
        return EditedFile(
            path=place.shown,
            replaced=len(self.done.lines),
            diff=diffs.unified(place.shown, old, new, target.shown),
            lines=self.done.lines,
            repairs=self.done.repairs,
            how=self.asked.how,
            moved_to=target.shown if len(self.steps) > 1 else None,
            lines_total=len(diffs.lines_of(new or "")),
            bytes_total=len(self.new or b""),
        )


def edit(beneath: Beneath, asked: EditFiles) -> Edited:
    with ExitStack() as stack:
        plans = _plans(beneath.by(asked.links), asked, stack)
        told = Edited(files=tuple(plan.told() for plan in plans))
        _take_all([step for plan in plans for step in plan.steps], stack)
    return told


class _Failed(Refused):
    """An edit that does not fit. `below`: what follows the sentence that nothing was done."""

    def __init__(self, message: str, below: str) -> None:
        super().__init__(FaultCode.CONFLICT, message)
        self.below = below


def _plans(beneath: Beneath, asked: EditFiles, stack: ExitStack) -> list[_Plan]:
    """New files come last: their folders are made only if all edits fit."""
    plans: dict[int, _Plan] = {}
    problems: list[Refused] = []
    planner = _Planner(beneath, stack, asked.noun, {}, set())
    order = sorted(enumerate(asked.files), key=lambda each: _makes_folders(each[1]))
    for number, each in order:
        if problems and _makes_folders(each):
            continue
        try:
            plans[number] = planner.plan(each)
        except Refused as refused:
            problems.append(refused)
        if sum(plan.size for plan in plans.values()) > BATCH_BYTES_MAX:
            raise Refused(FaultCode.TOO_LARGE, f"The files are too large together. {NONE}")
    if problems:
        raise Refused(problems[0].code, _told(problems))
    return [plans[number] for number in sorted(plans)]


def _makes_folders(each: FileEdit) -> bool:
    return each.how == "add" or each.move_to is not None


def _told(problems: Sequence[Refused]) -> str:
    if len(problems) == 1:
        return " ".join([problems[0].message, NONE, _below(problems[0])]).strip()
    told = [f"{each.message} {_below(each)}".strip() for each in problems[:PROBLEMS_TOLD_MAX]]
    if len(problems) > len(told):
        told.append(f"There are {len(problems) - len(told)} more such problems.")
    return "\n".join([*told, NONE])


def _below(problem: Refused) -> str:
    return problem.below if isinstance(problem, _Failed) else ""


@dataclass(frozen=True, slots=True)
class _Planner:
    """`seen`: the files so far, by identity. `made`: the paths of files that are to be new."""

    beneath: Beneath
    stack: ExitStack
    noun: str
    seen: dict[tuple[int, int], str]
    made: set[str]

    def plan(self, each: FileEdit) -> _Plan:
        if each.how == "add":
            new = each.text.encode()
            step = self._new(each.path, new, None)
            return _Plan(each, (step,), None, new, _Text(new))
        here, file, old = self._there(each.path)
        if each.how == "delete":
            step = _Step(here, file, old, None, file.stat)
            return _Plan(each, (step,), old, None, _Text(b""))
        done = _changed(old, each, here.place.shown, self.noun)
        if each.move_to is None:
            step = _Step(here, file, old, done.text, file.stat)
            return _Plan(each, (step,), old, done.text, done)
        gone = _Step(here, file, old, None, file.stat)
        target = self._new(each.move_to, done.text, file.stat)
        return _Plan(each, (gone, target), old, done.text, done)

    def _there(self, path: str) -> tuple[Spot, OpenFile, bytes]:
        place = self.beneath.place(path)
        with nearest_named(self.beneath, place):
            here = self.stack.enter_context(spot(self.beneath, place, parents="there"))
            file = self.stack.enter_context(existing(here))
            if file is None:
                raise Refused(FaultCode.NOT_FOUND, f"There is no `{place.shown}` to edit.")
        if file.identity in self.seen:
            message = (
                f"`{self.seen[file.identity]}` and `{place.shown}` are one file. Put all its edits"
                " under one path, in the order in which they are to happen."
            )
            raise Refused(FaultCode.BAD_REQUEST, message)
        self.seen[file.identity] = place.shown
        old = read_all(file, place, EDIT_BYTES_MAX)
        refuse_binary(old, len(old), place)
        return here, file, old

    def _new(self, path: str, data: bytes, like: os.stat_result | None) -> _Step:
        place = self.beneath.place(path)
        if len(data) > EDIT_BYTES_MAX:
            raise Refused(FaultCode.TOO_LARGE, _too_large(place.shown))
        here = self.stack.enter_context(spot(self.beneath, place, parents="made"))
        file = self.stack.enter_context(existing(here))
        if file is not None or place.path in self.made:
            message = f"`{place.shown}` exists already. Update it instead, or choose another path."
            raise Refused(FaultCode.CONFLICT, message)
        self.made.add(place.path)
        return _Step(here, None, None, data, like)


def _too_large(shown: str) -> str:
    return f"`{shown}` would have more than {EDIT_BYTES_MAX:,} bytes."


def _changed(old: bytes, each: FileEdit, shown: str, noun: str) -> _Text:
    bom = BOM if old.startswith(BOM) else b""
    # Bytes that are no UTF-8 go through as they are.
    texts = [old.removeprefix(BOM).decode(errors="surrogateescape")]
    lines: list[int] = []
    repaired: list[tuple[int, tuple[str, ...]]] = []
    end = 0
    for number, change in enumerate(each.changes, start=1):
        try:
            fit = changed(texts[-1], change, EDIT_BYTES_MAX, end)
        except DoesNotFit as reason:
            which = f"{noun} {number} of {len(each.changes)}: " if len(each.changes) > 1 else ""
            below = (_earlier(texts, change, noun) if reason.missing else "") or reason.below
            message = f"{which}{reason.problem} in {shown}{reason.rest}"
            raise _Failed(*(_sentence(_plain(words)) for words in (message, below))) from reason
        except TooMuch as much:
            raise Refused(FaultCode.TOO_LARGE, _too_large(shown)) from much
        first = min(fit.lines, default=0)
        lines = [line + fit.grown * len(fit.lines) if line > first else line for line in lines]
        lines += fit.lines
        if fit.repairs:
            repaired.append((number, fit.repairs))
        texts.append(fit.text)
        end = fit.end if change.whole_lines else 0
    text = bom + texts[-1].encode(errors="surrogateescape")
    return _Text(text, tuple(lines), tuple(repaired))


def _earlier(texts: Sequence[str], change: Change, noun: str) -> str:
    """Words about text that an earlier edit of the same call changed; empty if none did."""
    for number in range(len(texts) - 1, 0, -1):
        if is_there(texts[number - 1], change):
            edit = f"{noun} {number}"
            advice = f"give it as it is after {edit}, or make one {noun} of both."
            return f"{edit.capitalize()} changed this text: {advice}"
    return ""


def _sentence(words: str) -> str:
    """Names of arguments stay as they are."""
    return f"T{words[1:]}" if words.startswith("the ") else words


def _plain(words: str) -> str:
    """Bytes that are no UTF-8 cannot be told."""
    return words.encode(errors="surrogateescape").decode(errors="replace")


def _take_all(steps: Sequence[_Step], stack: ExitStack) -> None:
    news = [stack.enter_context(staged(step.here, step.new or b"", step.like)) for step in steps]
    with ExitStack() as undo:
        for step, new in zip(steps, news, strict=True):
            undo.callback(new.back)
            try:
                if step.new is None and step.file is not None and step.old is not None:
                    new.remove(step.file, step.old)
                else:
                    new.swap(step.file, step.old)
            except Moved as moved:
                message = (
                    f"`{step.here.place.shown}` was changed by another program at the same moment."
                    " No edit was applied. Read it again, then try again."
                )
                raise Refused(FaultCode.CONFLICT, message) from moved
        undo.pop_all()
