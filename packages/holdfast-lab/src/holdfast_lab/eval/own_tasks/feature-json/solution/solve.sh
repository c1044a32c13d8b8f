#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >>notes/render.py <<'END'


def as_json(notes):
    rows = enumerate(notes, 1)
    return json.dumps([{"number": n, "text": each.text, "done": each.done} for n, each in rows])
END
sed -i 's/^"""How notes are printed."""/&\n\nimport json/' notes/render.py
sed -i 's/    commands.add_parser("list")/    commands.add_parser("list").add_argument("--json", action="store_true")/
s/from notes.render import line/from notes.render import as_json, line/
s/^    else:/    elif asked.json:\n        print(as_json(notes))\n    else:/' notes/__main__.py
