"""An attack that is played on a mainland of its own, in a process of its own.

    python -m holdfast_lab.chaos.network.mainland ATTACK COUNT SEED

Tells in lines of JSON how it goes, and at last what it found.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from holdfast.tasks import end_on_terminate
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.network import partitions
from holdfast_lab.chaos.stage.island import run

PLAYS: Mapping[str, Callable[[Order], Awaitable[Found]]] = {
    "partitions": partitions.cut_off,
    "unfenced": partitions.cut_off_unfenced,
}


def _tell(what: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(what) + b"\n")
    sys.stdout.flush()


async def _play(name: str, count: int, seed: int) -> None:
    end_on_terminate()
    await run("ip", "link", "set", "lo", "up")
    found = await PLAYS[name](Order(count, seed, lambda said: _tell({"said": said})))
    _tell({"found": vars(found)})


if __name__ == "__main__":
    asyncio.run(_play(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
