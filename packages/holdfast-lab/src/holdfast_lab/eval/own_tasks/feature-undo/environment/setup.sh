#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir editor
cat >editor/__init__.py <<'END'
"""A text buffer with commands."""
END
cat >editor/buffer.py <<'END'
"""Text as a list of lines."""


class Buffer:
    def __init__(self, lines=()):
        self.lines = list(lines)

    def check(self, at, last):
        if not 0 <= at <= last:
            raise IndexError(at)
END
cat >editor/commands.py <<'END'
"""What can be done to a buffer."""


class Insert:
    """A line before the line `at`; at the end if `at` is the number of lines."""

    def __init__(self, at, line):
        self.at, self.line = at, line

    def run(self, buffer):
        buffer.check(self.at, len(buffer.lines))
        buffer.lines.insert(self.at, self.line)


class Delete:
    """`count` lines from the line `at` on; fewer at the end of the text."""

    def __init__(self, at, count=1):
        self.at, self.count = at, count

    def run(self, buffer):
        buffer.check(self.at, len(buffer.lines) - 1)
        del buffer.lines[self.at : self.at + self.count]


class Replace:
    """A text by another one in all lines."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def run(self, buffer):
        if not self.old:
            raise ValueError("nothing to replace")
        for at, line in enumerate(buffer.lines):
            buffer.lines[at] = line.replace(self.old, self.new)


class Move:
    """The line `at` to the place `to`, counted without it."""

    def __init__(self, at, to):
        self.at, self.to = at, to

    def run(self, buffer):
        buffer.check(self.at, len(buffer.lines) - 1)
        buffer.check(self.to, len(buffer.lines) - 1)
        buffer.lines.insert(self.to, buffer.lines.pop(self.at))
END
cat >editor/session.py <<'END'
"""A buffer, and the commands that were given."""

from editor.buffer import Buffer


class Session:
    def __init__(self, lines=()):
        self.buffer = Buffer(lines)

    @property
    def text(self):
        return "\n".join(self.buffer.lines)

    def do(self, command):
        command.run(self.buffer)
END
