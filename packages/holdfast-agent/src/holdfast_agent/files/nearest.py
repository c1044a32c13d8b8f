"""Names that are near to one that does not exist, so that the next call can be right.

First the same path in other letter case, then the same file name elsewhere, then names that are
spelled alike. Looked for in what `.gitignore` does not name, for a short time.
"""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files import paths
from holdfast_agent.files.beneath import Beneath, Place
from holdfast_agent.files.walking import Walk
from holdfast_agent.wire import FaultCode

NAMES_MAX: Final = 3
LOOK_S: Final = 0.5
FILES_MAX: Final = 20_000
ALIKE: Final = 0.75


@contextmanager
def nearest_named(beneath: Beneath, place: Place) -> Generator[None]:
    """What is refused inside because it does not exist is refused with the nearest names."""
    try:
        yield
    except Refused as refused:
        if refused.code is not FaultCode.NOT_FOUND:
            raise
        names = ", ".join(f"`{paths.shown(path)}`" for path in nearest(beneath, place))
        advice = f"Nearest names: {names}." if names else "Use list_files to see what is there."
        raise Refused(refused.code, f"{refused.message} {advice}") from refused


def nearest(beneath: Beneath, place: Place) -> list[str]:
    """At most `NAMES_MAX` paths from the root, nearest first."""
    try:
        with beneath.root() as root:
            known = list(_paths(root))
    except Refused:
        return []
    wanted = place.path.casefold()
    name = wanted.rpartition("/")[2]
    same_path = [path for path in known if path.casefold() == wanted]
    same_name = [path for path in known if path.casefold().rpartition("/")[2] == name]
    by_name: dict[str, list[str]] = {}
    for path in known:
        by_name.setdefault(path.casefold().rpartition("/")[2], []).append(path)
    alike = get_close_matches(name, by_name, n=NAMES_MAX, cutoff=ALIKE)
    near = [path for each in alike for path in _near_first(by_name[each], wanted)]
    found = [*same_path, *_near_first(same_name, wanted), *near]
    return list(dict.fromkeys(found))[:NAMES_MAX]


def _near_first(found: list[str], wanted: str) -> list[str]:
    """Paths that share most steps with the one that was wanted first."""
    steps = set(wanted.split("/"))
    return sorted(found, key=lambda path: (-len(steps & set(path.casefold().split("/"))), path))


def _paths(root: int) -> Iterator[str]:
    """Of files and of the folders that hold them."""
    until = time.monotonic() + LOOK_S
    folders: set[str] = set()
    walk = Walk(root, ".", (), hidden=True)
    for seen in islice(walk.files(), FILES_MAX):
        for parent in PurePosixPath(seen.path).parents:
            path = str(parent)
            if path == "." or path in folders:
                break
            folders.add(path)
            yield path
        yield seen.path
        if time.monotonic() > until:
            return
