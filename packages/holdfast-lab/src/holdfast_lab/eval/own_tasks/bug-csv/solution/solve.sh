#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >table.py <<'END'
"""Comma separated text."""


def read_rows(text):
    """A list of rows, each a list of fields."""
    rows, row, field, at, quoted = [], [], "", 0, False
    while at < len(text):
        char = text[at]
        if quoted:
            if char == '"' and text[at + 1 : at + 2] == '"':
                field, at = field + '"', at + 1
            elif char == '"':
                quoted = False
            else:
                field += char
        elif char == '"' and not field:
            quoted = True
        elif char == ",":
            row, field = [*row, field], ""
        elif char == "\n" or text[at : at + 2] == "\r\n":
            at += char == "\r"
            rows, row, field = [*rows, [*row, field]], [], ""
        else:
            field += char
        at += 1
    if row or field or not text.endswith("\n"):
        rows.append([*row, field])
    return rows
END
