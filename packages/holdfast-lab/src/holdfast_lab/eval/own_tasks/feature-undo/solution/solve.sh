#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
python3 - <<'END'
from pathlib import Path

path = Path("editor/commands.py")
text = path.read_text()
for old, new in (
    ("        buffer.lines.insert(self.at, self.line)\n", "        buffer.lines.insert(self.at, self.line)\n\n    def undo(self, buffer):\n        del buffer.lines[self.at]\n"),
    ("        del buffer.lines[self.at : self.at + self.count]\n", "        self.gone = buffer.lines[self.at : self.at + self.count]\n        del buffer.lines[self.at : self.at + self.count]\n\n    def undo(self, buffer):\n        buffer.lines[self.at : self.at] = self.gone\n"),
    ("        for at, line in enumerate(buffer.lines):\n            buffer.lines[at] = line.replace(self.old, self.new)\n", "        self.before = {at: line for at, line in enumerate(buffer.lines) if self.old in line}\n        for at, line in self.before.items():\n            buffer.lines[at] = line.replace(self.old, self.new)\n\n    def undo(self, buffer):\n        for at, line in self.before.items():\n            buffer.lines[at] = line\n"),
    ("        buffer.lines.insert(self.to, buffer.lines.pop(self.at))\n", "        buffer.lines.insert(self.to, buffer.lines.pop(self.at))\n\n    def undo(self, buffer):\n        buffer.lines.insert(self.at, buffer.lines.pop(self.to))\n"),
):
    assert text.count(old) == 1, old
    text = text.replace(old, new)
path.write_text(text)
END
cat >editor/session.py <<'END'
"""A buffer, and the commands that were given."""

from contextlib import contextmanager

from editor.buffer import Buffer


class Session:
    def __init__(self, lines=()):
        self.buffer = Buffer(lines)
        self._done, self._undone, self._open = [], [], []

    @property
    def text(self):
        return "\n".join(self.buffer.lines)

    def do(self, command):
        command.run(self.buffer)
        self._undone.clear()
        if self._open:
            self._open[-1].append(command)
        else:
            self._done.append([command])

    @contextmanager
    def group(self):
        steps = []
        self._open.append(steps)
        try:
            yield
        except BaseException:
            self._open.pop()
            for command in reversed(steps):
                command.undo(self.buffer)
            raise
        self._open.pop()
        if steps and self._open:
            self._open[-1].extend(steps)
        elif steps:
            self._done.append(steps)

    def undo(self):
        if not self._done:
            return False
        steps = self._done.pop()
        for command in reversed(steps):
            command.undo(self.buffer)
        self._undone.append(steps)
        return True

    def redo(self):
        if not self._undone:
            return False
        steps = self._undone.pop()
        for command in steps:
            command.run(self.buffer)
        self._done.append(steps)
        return True
END
