"""Patches as `apply_patch` takes them, read into changes of files. Pure.

    *** Begin Patch
    *** Update File: src/a.py        also: *** Add File, *** Delete File
    *** Move to: src/b.py            may be left out
    @@ class Shape                   a line above the change; may be left out, or be several
     a line that stays
    -a line that goes
    +a line that comes
    *** End of File                  these are the last lines of the file
    *** End Patch

A patch without its last line was cut off, and nothing of it is done. Where its lines are in a file,
the agent finds: line numbers are not looked at. How models wrap a patch (a fence, a here-document)
is taken off; every other line that is none of the format is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast.domain.parts import JsonObject, JsonValue
from holdfast.tools.workspace.arguments import normalised
from holdfast_agent.wire import Change, FileEdit

ARGUMENT: Final = "patch"
BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
END_OF_FILE: Final = "*** End of File"
FILES_MAX: Final = 200
HUNKS_MAX: Final = 1000
"""Of one file."""
ANCHORS_MAX: Final = 20
PATH_CHARS_MAX: Final = 4096
LINE_SHOWN_MAX: Final = 80
_HEAD: Final = re.compile(r"\*\*\* (Add|Update|Delete) File:(.*)$")
_MOVE: Final = re.compile(r"\*\*\* Move to:(.*)$")
_PATH: Final = re.compile(r"^(\*\*\* (?:(?:Add|Update|Delete) File|Move to):)(.*)$", re.MULTILINE)
_NUMBERS: Final = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_WRAPPER: Final = re.compile(r"(```\w*|(apply_patch\s*)?<<-?\s*(['\"]?)\w+\3|apply_patch)?\s*$")
_BLANKS: Final = "\r\n\t "
_WRAPPED: Final = re.compile(r"(```|\w+)?\s*$")
WRAPPERS_MAX: Final = 6
"""Lines around a patch."""
LINES_BELOW: Final = "Write the lines that change below it, each with - or + in front."
TOO_MANY: Final = (
    f"a file has at most {HUNKS_MAX} hunks, and a hunk {ANCHORS_MAX} lines with @@. Make several "
    "calls."
)
CUT_OFF: Final = (
    f"The patch ends without the line {END}: it may be cut off. Send the whole patch again, "
    "in several calls if it is long."
)
NO_FILE: Final = (
    "The patch names no file. Write a line such as *** Update File: PATH above the rest."
)
MOVED: Final = (
    "{path} is moved, and then changed under its old name. Put all its hunks below *** Move to."
)
NO_NEWLINE: Final = "\\ No newline at end of file"

GRAMMAR: Final = r"""start: begin file+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?

file: add | delete | update
add: "*** Add File: " path LF added+
delete: "*** Delete File: " path LF
update: "*** Update File: " path LF move? (hunk+ last?)?
move: "*** Move to: " path LF
hunk: anchor | line
anchor: ("@@" | "@@ " /(.+)/) LF
line: ("+" | "-" | " ") /(.*)/ LF
last: "*** End of File" LF
path: /(.+)/
added: "+" /(.*)/ LF

%import common.LF
"""
"""For models that are kept to a grammar while they write, in the syntax of Lark."""


class BadPatch(Exception):
    """The text is not in the format; the words say where, and what to do."""


@dataclass(slots=True)
class _Hunk:
    number: int
    """Of its first line in the patch."""
    anchors: list[str] = field(default_factory=list[str])
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    blanks: int = 0
    """Lines at its end that are empty, without the blank of a line that stays."""
    at_end: bool = False

    @property
    def is_empty(self) -> bool:
        return not (self.old or self.new or self.blanks)

    def put(self, line: str) -> bool:
        """False: it is no line of a hunk."""
        if not line:
            self.blanks += 1
            return True
        if line[0] not in " +-":
            return False
        self.keep_blanks()
        if line[0] != "+":
            self.old.append(line[1:])
        if line[0] != "-":
            self.new.append(line[1:])
        return True

    def keep_blanks(self) -> None:
        """What follows shows that they are lines of the file."""
        self.old += [""] * self.blanks
        self.new += [""] * self.blanks
        self.blanks = 0

    def change(self) -> Change:
        if not (self.old or self.new):
            raise _bad(self.number, f"this hunk has no lines. {LINES_BELOW}")
        old, new = ("".join(f"{line}\n" for line in lines) for lines in (self.old, self.new))
        anchors = tuple(self.anchors)
        return Change(old=old, new=new, whole_lines=True, anchors=anchors, at_end=self.at_end)


@dataclass(slots=True)
class _Section:
    """What the patch says about one file."""

    verb: str
    path: str
    number: int
    move_to: str | None = None
    added: list[str] = field(default_factory=list[str])
    hunks: list[_Hunk] = field(default_factory=list[_Hunk])

    def put(self, number: int, line: str) -> None:
        fits = self._add(line) if self.verb == "Add" else self._update(number, line)
        if not fits:
            raise _bad(number, f"{_quoted(line)} does not fit there. {self._expected()}")

    def _add(self, line: str) -> bool:
        if line and line[0] != "+":
            return False
        self.added.append(line)
        return True

    def _update(self, number: int, line: str) -> bool:
        if self.verb == "Delete":
            return not line.strip()
        moved = _MOVE.match(line)
        if moved and self.move_to is None and not self.hunks:
            self.move_to = _path(moved[1], number)
            return True
        if line.startswith("@@"):
            self._anchor(number, line)
            return True
        if line.rstrip() == END_OF_FILE and self.hunks:
            self.hunks[-1].at_end = True
            return True
        if line == NO_NEWLINE or (not line and not self.hunks):
            return True
        if not self.hunks:
            self.hunks.append(_Hunk(number))
        return self.hunks[-1].put(line)

    def _anchor(self, number: int, line: str) -> None:
        if self.hunks and not self.hunks[-1].is_empty:
            self.hunks[-1].keep_blanks()
        if not self.hunks or not self.hunks[-1].is_empty:
            self.hunks.append(_Hunk(number))
        anchor = "" if _NUMBERS.match(line) else line[2:].strip()
        if anchor:
            self.hunks[-1].anchors.append(anchor)
        if len(self.hunks) > HUNKS_MAX or len(self.hunks[-1].anchors) > ANCHORS_MAX:
            raise _bad(number, TOO_MANY)

    def _expected(self) -> str:
        if self.verb == "Add":
            return "In a new file each line begins with +."
        if self.verb == "Delete":
            return f"After a deletion comes the next file, or {END}."
        return "In a hunk each line begins with a space (it stays), - (it goes) or + (it comes)."

    def edit(self) -> FileEdit:
        if self.verb == "Delete":
            return FileEdit(path=self.path, how="delete")
        if self.verb == "Add":
            while self.added and not self.added[-1]:
                self.added.pop()
            return FileEdit(
                path=self.path, how="add", text="".join(f"{line[1:]}\n" for line in self.added)
            )
        if not self.hunks and self.move_to is None:
            raise _bad(self.number, f"{self.path} gets no change. {LINES_BELOW}")
        changes = tuple(hunk.change() for hunk in self.hunks)
        return FileEdit(path=self.path, changes=changes, move_to=self.move_to)


def parse(text: str) -> tuple[FileEdit, ...]:
    """What a patch does to files, in its order. Raises `BadPatch`."""
    lines = unwrapped(text).split("\n")
    if lines[0].rstrip() != BEGIN:
        words = f"the first line of a patch is {BEGIN}, not {_quoted(lines[0])}."
        raise _bad(1, f"{words} Send the whole patch again in this format.")
    if lines[-1].rstrip() != END:
        raise BadPatch(CUT_OFF)
    sections: list[_Section] = []
    for number, line in enumerate(lines[1:-1], start=2):
        head = _HEAD.match(line)
        if head is not None:
            sections.append(_Section(head[1], _path(head[2], number), number))
        elif sections:
            sections[-1].put(number, line)
        elif line.strip():
            raise _bad(number, f"{_quoted(line)} belongs to no file. {NO_FILE}")
    if not sections:
        raise BadPatch(NO_FILE)
    if len(sections) > FILES_MAX:
        raise BadPatch(f"A patch changes at most {FILES_MAX} files. Make several calls.")
    return _merged([section.edit() for section in sections])


def _merged(edits: Sequence[FileEdit]) -> tuple[FileEdit, ...]:
    """Two sections that update one file are one: the agent takes each file once."""
    whole: dict[str, FileEdit] = {}
    for number, edit in enumerate(edits):
        key = edit.path if edit.how == "edit" else f"{number}\n"
        before = whole.get(key)
        if before is None:
            whole[key] = edit
        elif before.move_to is not None:
            raise BadPatch(MOVED.format(path=edit.path))
        elif len(before.changes) + len(edit.changes) > HUNKS_MAX:
            raise BadPatch(f"{edit.path}: {TOO_MANY}")
        else:
            changes = before.changes + edit.changes
            whole[key] = FileEdit(path=edit.path, changes=changes, move_to=edit.move_to)
    return tuple(whole.values())


def _path(after: str, number: int) -> str:
    said = after.strip()
    if not said or len(said) > PATH_CHARS_MAX:
        raise _bad(number, "give the path of a file, relative to the workspace.")
    return said


def _bad(number: int, words: str) -> BadPatch:
    return BadPatch(f"Line {number} of the patch: {words}")


def _quoted(line: str) -> str:
    more = "…" if len(line) > LINE_SHOWN_MAX else ""
    return f"`{line[:LINE_SHOWN_MAX]}{more}`"


# What stands around it, and how its paths are written.


def unwrapped(text: str) -> str:
    """The patch without what a shell or Markdown puts around it."""
    lines = text.strip(_BLANKS).split("\n")
    begin = next((at for at, line in enumerate(lines[:WRAPPERS_MAX]) if line.strip() == BEGIN), -1)
    if begin < 0 or not all(map(_WRAPPER.match, lines[:begin])):
        return "\n".join(lines)
    ending = "\r" if lines[begin].endswith("\r") else ""  # then all of it came with this one
    lines = [BEGIN, *(line.removesuffix(ending) for line in lines[begin + 1 :])]
    for below in range(min(WRAPPERS_MAX, len(lines))):
        at = len(lines) - 1 - below
        if lines[at].strip() == END and all(map(_WRAPPED.match, lines[at + 1 :])):
            return "\n".join([*lines[:at], END])
    return "\n".join(lines)


def normalised_patch(schema: JsonObject, arguments: JsonObject) -> JsonObject:
    """The arguments as the schema has them, with paths in one spelling: approval rules, digests and
    people see no `./a//b`."""
    given = normalised(schema, {name: _last(value) for name, value in arguments.items()})
    patch = given.get(ARGUMENT)
    if not isinstance(patch, str):
        return given
    lines = _PATH.sub(lambda found: f"{found[1]} {plain_path(found[2].strip())}", unwrapped(patch))
    return {**given, ARGUMENT: lines}


def _last(value: JsonValue) -> JsonValue:
    """`["apply_patch", PATCH]`, as a command line, is the patch."""
    said = value[-1] if isinstance(value, list) and value else None
    return said if isinstance(said, str) and BEGIN in said else value


def plain_path(path: str) -> str:
    """Without needless steps. `..` stays: what it means depends on the files."""
    if path.startswith('"'):
        return path
    steps = [step for step in path.split("/") if step not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(steps)


# What approval rules see of it.


def judged_as(arguments: JsonObject) -> tuple[tuple[str, JsonObject], ...]:
    """For each file the tool that would do the same to it, and the arguments that a rule sees.

    A path that can be written in another way counts against the call: it is no text, which fits
    every rule that asks or denies, and none that allows. So does a patch that cannot be read."""
    patch = arguments.get(ARGUMENT)
    try:
        edits = parse(patch) if isinstance(patch, str) else ()
    except BadPatch:
        edits = ()
    told = [each for edit in edits for each in _judged(edit)]
    return tuple(
        (tool, {**arguments, **seen}) for tool, seen in told or [("edit_file", {"path": ()})]
    )


def _judged(edit: FileEdit) -> list[tuple[str, dict[str, JsonValue]]]:
    path = _judged_path(edit.path)
    if edit.how == "add":
        return [("write_file", {"path": path, "content": edit.text})]
    seen: list[JsonValue] = [
        {"old_string": change.old, "new_string": change.new} for change in edit.changes
    ]
    told: list[tuple[str, dict[str, JsonValue]]] = [("edit_file", {"path": path, "edits": seen})]
    if edit.move_to is not None:
        told.append(("write_file", {"path": _judged_path(edit.move_to), "content": ()}))
    return told


def _judged_path(path: str) -> JsonValue:
    steps = path.split("/")
    is_plain = plain_path(path) == path and not path.startswith(("/", '"')) and ".." not in steps
    return path if is_plain else (path,)
