"""A patch of `apply_patch` in one line: what it does to which files."""

import re
from typing import Final, cast

APPLY_PATCH: Final = "apply_patch"
_HEAD: Final = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to):(.*)$", re.MULTILINE)
_VERBS: Final = {"Add File": "add ", "Update File": "", "Delete File": "delete "}


def patched(tool: str, arguments: object) -> str | None:
    """`a.py → b.py, add c.py`. None: it is no patch, or names no file."""
    if tool != APPLY_PATCH or not isinstance(arguments, dict):
        return None
    patch = cast("dict[str, object]", arguments).get("patch")
    files: list[str] = []
    for head, path in _HEAD.findall(patch) if isinstance(patch, str) else ():
        if head != "Move to":
            files.append(f"{_VERBS[head]}{path.strip()}")
        elif files:
            files[-1] += f" → {path.strip()}"
    return ", ".join(files) or None
