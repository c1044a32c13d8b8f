"""Turns under faults of their model, by worker processes, and what they cost.

The simulator keeps a record of its own: a turn asked it as often as it says, and what is stored as
its price is what was billed, each request once.
"""

import asyncio
import random
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.postgres.verify import verify
from holdfast.bootstrap import Server, open_server
from holdfast.settings import Settings
from holdfast_lab.chaos.attack import Found, Order
from holdfast_lab.chaos.faults.models.bills import Bill, bill_of, unrecorded_item
from holdfast_lab.chaos.faults.models.documented import Documented, documented
from holdfast_lab.chaos.faults.models.outcomes import REPEATED
from holdfast_lab.chaos.faults.models.problems import problems
from holdfast_lab.chaos.faults.models.turns import (
    DELAY_S_MAX,
    LONG_S,
    Account,
    is_quick,
    play,
    script,
    settings_of,
)
from holdfast_lab.chaos.faults.streams.cell import QUICK
from holdfast_lab.chaos.faults.workers.trials import settings_for
from holdfast_lab.chaos.harness.cluster import Theatre, theatre
from holdfast_lab.chaos.harness.people import ORG, OWNER, add_user

WORKERS: Final = 2
TOGETHER_MAX: Final = 16
PATIENT_TOGETHER_MAX: Final = 4
PATIENT_S: Final = 2.0
AGAIN_MIN: Final = 5
AGAIN_SHARE_MAX: Final = 0.1
"""More than these, looked at again, are not explained by a busy machine."""


@dataclass(frozen=True)
class Cell:
    """Workers whose models fail, and a replica to read at."""

    server: Server
    simulator: str
    database_url: str


def accounts(count: int, seed: int, rows: Sequence[Documented] | None = None) -> list[Account]:
    """So many turns. All of them, once on every wire and, where that is retried soon, at every
    attempt; if that is too much, those that chance picks and that need no long wait."""
    every = [
        Account(row, always)
        for row in (documented() if rows is None else rows)
        if row.fault not in REPEATED
        for always in (False, True)
        if not always or (row.retryable and row.hint_s < LONG_S)
    ]
    chance = random.Random(seed)
    if count < len(every):
        short = [account for account in every if account.row.hint_s < LONG_S]
        return chance.sample(short, min(count, len(short)))
    again = [chance.choice(every) for _ in range(count - len(every))]
    return every + [Account(each.row, each.always) for each in again]


async def fail(
    order: Order, rows: Sequence[Documented] | None = None, mutant: str | None = None
) -> Found:
    every = accounts(order.count, order.seed, rows)
    found, bills = Found(len(every)), list[Bill]()
    with tempfile.TemporaryDirectory(prefix="holdfast-models-") as folder:
        path = Path(folder) / "script.json"
        path.write_bytes(script())
        async with theatre("--script", str(path)) as stage:
            wrong = await _run(stage, every, mutant, DELAY_S_MAX, TOGETHER_MAX, bills)
            # Who is too busy to listen is told where things stand, not how they got there: what
            # seems wrong is looked at again, few at a time and with longer waits.
            again = [Account(each.row, each.always, PATIENT_S) for each in wrong]
            order.say(f"{len(every)} turns, {len(again)} of them are looked at again")
            still = await _run(stage, again, mutant, PATIENT_S, PATIENT_TOGETHER_MAX, bills)
    found.violations += [
        f"{account.name}: {each}" for account, all_ in still.items() for each in all_
    ]
    if len(again) > max(AGAIN_MIN, AGAIN_SHARE_MAX * len(every)):
        found.violations.append(f"{len(again)} of {len(every)} turns went wrong at first")
    faults = len({account.row.fault for account in every})
    found.figures |= {"faults": faults, "looked_at_again": len(again)}
    found.figures["billed_but_not_stored"] = sum(len(bill.unrecorded) for bill in bills)
    found.open_items += unrecorded_item(bills)
    return found


async def _run(
    stage: Theatre,
    every: Sequence[Account],
    mutant: str | None,
    delay_s: float,
    together: int,
    bills: list[Bill],
) -> dict[Account, list[str]]:
    """Those with which something is wrong, and what. `bills` gets the bill of every turn."""
    if not every:
        return {}
    async with _cell(stage, mutant, delay_s) as cell:
        room = asyncio.Semaphore(together)

        async def one(account: Account) -> None:
            async with room:
                await play(cell.server, account)

        async with asyncio.TaskGroup() as tasks:
            for account in sorted(every, key=is_quick):
                tasks.create_task(one(account))
        asked = await _requests(cell.simulator)
        broken = await _broken(cell, every)
    wrong: dict[Account, list[str]] = {}
    for account in every:
        bill = bill_of(account, [each for each in asked if account.token in each["asked"]])
        bills.append(bill)
        wrong[account] = [*problems(account), *bill.problems, *broken.get(account.token, ())]
    return {account: sentences for account, sentences in wrong.items() if sentences}


@asynccontextmanager
async def _cell(stage: Theatre, mutant: str | None, delay_s: float) -> AsyncGenerator[Cell]:
    url = await stage.new_database()
    async with open_pool(url, PoolOptions(connections_min=1, connections_max=1)) as pool:
        await add_user(pool, ORG, OWNER)
    more = {**QUICK, **settings_of(stage.simulator, delay_s)}
    settings = {**settings_for(stage, url, "redis"), **more}
    # `hands`: with the tools that production has, which the model calls.
    workers = [
        await stage.engage("worker", settings, hands=True, mutant=mutant) for _ in range(WORKERS)
    ]
    try:
        async with open_server(Settings.model_validate({**settings, "role": "api"})) as server:
            yield Cell(server, stage.simulator, url)
    finally:
        for worker in workers:
            stage.dismiss(worker)


async def _requests(simulator: str) -> list[dict[str, Any]]:
    """What the simulator was asked, and what it billed for it."""
    async with aiohttp.ClientSession(simulator) as http:

        async def ask(path: str) -> Any:
            async with http.get(path) as response:
                return orjson.loads(await response.read())

        brief = (await ask("/sim/requests"))["requests"]
        full = [await ask(f"/sim/requests/{each['number']}?wait=5") for each in brief]
    return [{**each, "asked": orjson.dumps(each["body"]).decode()} for each in full]


async def _broken(cell: Cell, every: Sequence[Account]) -> dict[str, list[str]]:
    """Rules that rows break, by the token of their chat."""
    tokens = {account.chat.chat_id: account.token for account in every if account.chat is not None}
    async with open_pool(
        cell.database_url, PoolOptions(connections_min=1, connections_max=1)
    ) as pool:
        broken = await verify(pool, list(tokens))
    found: dict[str, list[str]] = {}
    for each in broken:
        found.setdefault(tokens[each.chat_id], []).append(f"{each.rule} ({each.detail})")
    return found
