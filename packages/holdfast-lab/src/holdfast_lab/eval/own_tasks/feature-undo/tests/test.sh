#!/bin/sh
# Writes 1 to reward.txt if the task is solved, else 0.
set -u
root=${EVAL_ROOT:-/app}
logs=${EVAL_LOGS:-/logs/verifier}
mkdir -p "$logs"
echo 0 >"$logs/reward.txt"
cd "$root" || exit 0
python3 - <<'END' && echo 1 >"$logs/reward.txt"
import sys

sys.path.insert(0, ".")
import random

from editor.commands import Delete, Insert, Move, Replace
from editor.session import Session

s = Session(["a", "b", "c"])
assert s.undo() is False and s.redo() is False
s.do(Replace("b", "bb"))
s.do(Delete(1, 5))
assert s.text == "a"
assert s.undo() is True and s.text == "a\nbb\nc"
assert s.undo() is True and s.text == "a\nb\nc"
assert s.undo() is False
assert s.redo() and s.redo() and s.text == "a" and not s.redo()
s.undo()
s.do(Insert(3, "d"))
assert s.redo() is False and s.text == "a\nbb\nc\nd"
for wrong in (Delete(9), Insert(9, "x"), Replace("", "x"), Move(0, 9)):
    before = s.text
    try:
        s.do(wrong)
    except (IndexError, ValueError):
        assert s.text == before
    else:
        raise AssertionError(wrong)
s.undo()
assert s.text == "a\nbb\nc", "a failed command was remembered"
s = Session(["a"])
with s.group():
    s.do(Insert(1, "b"))
    with s.group():
        s.do(Insert(2, "c"))
    with s.group():
        pass
assert s.undo() and s.text == "a" and not s.undo()
assert s.redo() and s.text == "a\nb\nc"
with s.group():
    pass
assert s.undo() and s.text == "a"
s.redo()
try:
    with s.group():
        s.do(Delete(0))
        raise KeyError("x")
except KeyError:
    assert s.text == "a\nb\nc"
else:
    raise AssertionError("the exception was swallowed")
assert s.undo() and s.text == "a"
chance = random.Random(1)
s, seen = Session(["x y", "y", "z"]), []
for _ in range(300):
    before, n = s.text, len(s.buffer.lines)
    seen.append(before)
    s.do(
        chance.choice(
            [
                lambda: Insert(chance.randint(0, n), chance.choice("xyz")),
                lambda: Replace(chance.choice("xyz"), chance.choice(["x", "yy", "z"])),
                lambda: Delete(chance.randrange(n), chance.randint(1, 3)) if n > 6 else Insert(0, "xz"),
                lambda: Move(chance.randrange(n), chance.randrange(n)) if n else Insert(0, "xz"),
            ]
        )()
    )
    if max(map(len, s.buffer.lines), default=0) > 200:
        s.undo()
        seen.pop()
last = s.text
for before in reversed(seen):
    assert s.undo() and s.text == before
for _ in seen:
    assert s.redo()
assert s.text == last
END
