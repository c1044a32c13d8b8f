#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
python3 - <<'END'
from pathlib import Path


def change(name, *pairs):
    path = Path("notes", name)
    text = path.read_text()
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


change("model.py", ("    done: bool = False", '    done: bool = False\n    due: str = ""'))
change(
    "storage.py",
    ('[json.dumps({"text": note.text, "done": note.done}) for note in notes]', "[json.dumps(_row(note)) for note in notes]"),
    ('done=row["done"])', 'done=row["done"], due=row.get("due", ""))\n\n\ndef _row(note):\n    row = {"text": note.text, "done": note.done}\n    return {**row, "due": note.due} if note.due else row'),
)
change("render.py", ('{note.text}"', '{note.text}" + (f" (due {note.due})" if note.due else "")'))
change(
    "__main__.py",
    ("import argparse\n", "import argparse\nfrom datetime import date\n"),
    ('    add.add_argument("text")\n', '    add.add_argument("text")\n    add.add_argument("--due", type=day, default="")\n'),
    ('    commands.add_parser("list")\n', '    commands.add_parser("list").add_argument("--overdue", type=day)\n'),
    ("Note(asked.text)", "Note(asked.text, due=asked.due)"),
    ("            print(line(number, note))", "            if asked.overdue is None or (not note.done and note.due and note.due < asked.overdue):\n                print(line(number, note))"),
    ("def main():", "def day(text):\n    return date.fromisoformat(text).isoformat()\n\n\ndef main():"),
)
END
