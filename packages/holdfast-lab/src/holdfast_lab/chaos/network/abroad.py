"""Sends an attack to a mainland of its own, and brings home what it found."""

import asyncio
import sys
from typing import Any

import orjson

from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.stage.island import mainland_command, refuse_without_networks

MODULE = "holdfast_lab.chaos.network.mainland"


async def play_abroad(name: str, order: Order) -> Found:
    await refuse_without_networks()
    process = await asyncio.create_subprocess_exec(
        *mainland_command(),
        *(sys.executable, "-m", MODULE, name, str(order.count), str(order.seed)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    found: Found | None = None
    try:
        while line := await process.stdout.readline():
            told: dict[str, Any] = orjson.loads(line)
            if "found" in told:
                found = Found(**told["found"])
            else:
                order.say(told["said"])
    finally:
        if process.returncode is None and found is None:
            process.terminate()
        await process.wait()
    assert found is not None, f"{name} ended with {process.returncode} and found nothing"
    return found


async def partition(order: Order) -> Found:
    return await play_abroad("partitions", order)
