#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir notes
cat >notes/__init__.py <<'END'
"""Notes on the command line."""
END
cat >notes/model.py <<'END'
"""What a note is."""

from dataclasses import dataclass


@dataclass
class Note:
    text: str
    done: bool = False
END
cat >notes/storage.py <<'END'
"""Notes in a file: one JSON object per line."""

import json
from pathlib import Path

from notes.model import Note


def load(path):
    path = Path(path)
    if not path.exists():
        return []
    return [_note(json.loads(line)) for line in path.read_text().splitlines()]


def save(path, notes):
    lines = [json.dumps({"text": note.text, "done": note.done}) for note in notes]
    Path(path).write_text("".join(line + "\n" for line in lines))


def _note(row):
    return Note(text=row["text"], done=row["done"])
END
cat >notes/render.py <<'END'
"""How notes are printed."""


def line(number, note):
    mark = "x" if note.done else " "
    return f"{number}. [{mark}] {note.text}"
END
cat >notes/__main__.py <<'END'
"""python3 -m notes FILE add TEXT | list | done NUMBER"""

import argparse

from notes.model import Note
from notes.render import line
from notes.storage import load, save


def main():
    parser = argparse.ArgumentParser(prog="notes")
    parser.add_argument("file")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add")
    add.add_argument("text")
    commands.add_parser("list")
    done = commands.add_parser("done")
    done.add_argument("number", type=int)
    asked = parser.parse_args()
    notes = load(asked.file)
    if asked.command == "add":
        notes.append(Note(asked.text))
        save(asked.file, notes)
    elif asked.command == "done":
        notes[asked.number - 1].done = True
        save(asked.file, notes)
    else:
        for number, note in enumerate(notes, 1):
            print(line(number, note))


if __name__ == "__main__":
    main()
END
