"""`just bench-safety`: how long a disabled user acts; writes benchmarks/safety.md and .json.

The test suite runs the same code once with fewer chats. The other figures in the file are kept.
"""

import argparse
import asyncio
from typing import Any, Final

import orjson

from benchmarks.report import FOLDER, stamp, write_json, write_page
from tests.support.letting_go import LetGo, let_go

RUNS: Final = 5
CHATS: Final = 4
NAME: Final = "safety"


def figures(runs: list[LetGo]) -> dict[str, Any]:
    assert all(each.has_ended for each in runs), "not all has ended"
    return {
        "disable_runs": len(runs),
        "disable_chats": sum(len(each.chats_s) for each in runs),
        "disable_streams": sum(len(each.streams_s) for each in runs),
        "disable_to_stop_s": round(max(each.longest_s for each in runs), 2),
        "disable_chats_s": round(max(max(each.chats_s) for each in runs), 2),
        "disable_streams_s": round(max(max(each.streams_s) for each in runs), 2),
        "disable_refused_s": round(max(max(each.refused_s) for each in runs), 2),
        "disable_queued_ran": sum(each.queued_ran for each in runs),
    }


def page(f: dict[str, Any]) -> str:
    return f"""# Safety

{stamp()} Written by `just bench-safety`. Beside other work on the same machine; seconds are of the
wall clock, since the answer to the request that disabled the user.

## A user who was disabled

Two replicas on one database. On each of them chats of the user run, with messages in their queues;
one chat waits for a client's tool. The user has streams open on both, and both know the user's key.

| {f["disable_runs"]} runs | s, at most |
|---|---|
| until no turn ran or waited, of {f["disable_chats"]} chats | {f["disable_chats_s"]} |
| until the stream ended, of {f["disable_streams"]} streams | {f["disable_streams_s"]} |
| until the replica refused the key | {f["disable_refused_s"]} |
| **until the last of them** | **{f["disable_to_stop_s"]}** |

The bound is 5 s. Queued messages that began after that: {f["disable_queued_ran"]}. A test shows
that chats and streams go on without the sweep of the workers and the watch of the replicas.
"""


async def run(runs: int) -> None:
    found: list[LetGo] = []
    for _ in range(runs):
        found.append(await let_go(chats=CHATS))
        print(found[-1], flush=True)
    write_json(NAME, figures(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    asyncio.run(run(parser.parse_args().runs))
    write_page(NAME, page(orjson.loads((FOLDER / f"{NAME}.json").read_bytes())))


if __name__ == "__main__":
    main()
