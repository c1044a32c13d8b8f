#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >export/markdown.py <<'END'
"""A table in Markdown."""

from export import exporter


@exporter("markdown")
def markdown(rows):
    lines = [f"| {name.replace('|', chr(92) + '|')} | {amount} |" for name, amount in rows]
    return "\n".join(["| name | amount |", "|---|---:|", *lines])
END
sed -i 's/^import export.names/import export.markdown\nimport export.names/; s/join(EXPORTERS)/join(sorted(EXPORTERS))/' export/__main__.py
