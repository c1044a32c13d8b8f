"""The sync half of the SDK, made of the async half: its tokens with other names.

`python scripts/generate_docs.py` writes these files, and `--check` looks at them, too.
"""

import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
ASYNC: Final = "packages/holdfast-client/src/holdfast_client/aio"
SYNC: Final = "packages/holdfast-client/src/holdfast_client/sync"
BY_HAND: Final = frozenset({"__init__.py", "ground.py"})
_DROPPED: Final = frozenset({"async", "await"})
_NAMES: Final[Mapping[str, str]] = {
    "aio": "sync",
    "aclose": "close",
    "aclosing": "closing",
    "aiter_raw": "iter_raw",
    "aread": "read",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}
_TYPE: Final = re.compile(r'"\w+(\[\w+\])?"')
_HEAD: Final = "# Made of {} by scripts/generate_sync.py. Do not edit.\n"


def rewritten(source: str) -> str:
    """Without `async` and `await`, and by the sync names."""
    made: list[tokenize.TokenInfo] = []
    dropped = 0
    row = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.start[0] != row:
            row, dropped = token.start[0], 0
        text = token.string
        if token.type == tokenize.NAME and text in _DROPPED:
            dropped += len(text) + 1
            continue
        if token.type in (tokenize.NAME, tokenize.STRING):
            text = _renamed(token)
        start = (row, token.start[1] - dropped)
        dropped -= len(text) - len(token.string) if token.start[0] == token.end[0] else 0
        end = (token.end[0], start[1] + len(text)) if token.start[0] == token.end[0] else token.end
        made.append(token._replace(string=text, start=start, end=end))
    return tokenize.untokenize(made)


def _renamed(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.STRING:  # maybe a type that is named before it is there
        is_type = _TYPE.fullmatch(token.string) is not None
        return re.sub(r"\bAsync(?=[A-Z])", "", token.string) if is_type else token.string
    return _NAMES.get(token.string, token.string.removeprefix("Async"))


def twin(name: str) -> str:
    source = (ROOT / ASYNC / name).read_text(encoding="utf-8")
    made = _HEAD.format(f"holdfast_client/aio/{name}") + rewritten(source)
    target = f"{SYNC}/{name}"
    made = _ruff(made, "check", "--quiet", "--fix", "--select=I", f"--stdin-filename={target}", "-")
    return _ruff(made, "format", "--quiet", f"--stdin-filename={target}", "-")


def _ruff(source: str, *arguments: str) -> str:
    done = subprocess.run(
        ["ruff", *arguments], cwd=ROOT, input=source, capture_output=True, text=True, check=True
    )
    return done.stdout


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    f"{SYNC}/{path.name}": partial(twin, path.name)
    for path in sorted((ROOT / ASYNC).glob("*.py"))
    if path.name not in BY_HAND
}
