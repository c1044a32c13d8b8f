"""What holds of real models and can be shown without a key: `just bench-models`.

Each figure comes from a run: of the product's codecs, turns and prices against the simulator, which
refuses what the vendors refuse; of the catalogue against pydantic-ai's profiles; of the codecs'
tables against the types of the official SDKs. Ten minutes, because hidden thinking is waited for on
the real clock. Parts: `just bench-models vendors faults`; the figures of the others are kept.
"""

import argparse
import asyncio
import gc
import os
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

import orjson
import uvloop

from benchmarks.provider_clients import BARE, OURS, open_clients
from benchmarks.providers import Bench, Found, replayed, rotated
from benchmarks.report import FOLDER, write_json, write_page
from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import Deadlines
from holdfast.adapters.providers.transport import open_transport
from holdfast.domain.chat import Chat, Status
from holdfast.domain.parts import Text
from holdfast.settings import Settings
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.options import TurnOptions
from holdfast_simulator.server import Config, running
from tests.integration.providers.test_thinking import MODELS
from tests.integration.providers.test_vendors import PLAYED, Played, turn
from tests.integration.turn.test_coding_prefix import mended_in_two_turns, open_project
from tests.support import fault_table, provider_cost, provider_faults
from tests.support.builders import user
from tests.support.database import migrated_template
from tests.support.model import WIRE_NAMES
from tests.support.turns import Turns, turns_on
from tests.unit.providers.test_catalog_oracle import ORACLES, differences, known
from tests.unit.providers.test_known import SAID, unnamed

Figures = Mapping[str, float]
HIDDEN_S: Final = 600
SLACK_S: Final = 240
ROUNDS: Final = 5


def now() -> datetime:
    return datetime.now(UTC)


async def vendors() -> Figures:
    """A turn with an image, thinking and a tool at each vendor, a turn at each other one, and a
    turn back. Green: no request was refused."""
    refused = {one.vendor: 0 for one in PLAYED}
    requests = 0
    async with open_transport(now) as transport:
        for there in PLAYED:
            async with running(Config(hang_max_s=20)) as simulator:
                try:
                    await _to_each_and_back(there, transport, simulator)
                except (ProviderError, AssertionError) as error:
                    refused[there.vendor] += 1
                    print(there, error)
                refused[there.vendor] += sum(bool(one.rejected_by) for one in simulator.record)
                requests += len(list(simulator.record))
    return {
        "vendors": len(refused),
        "vendors_green": sum(not count for count in refused.values()),
        "vendor_pairs": len(PLAYED) ** 2,
        "vendor_requests": requests,
        "vendor_refusals": sum(refused.values()),
    }


async def _to_each_and_back(there: Played, transport: Any, simulator: Any) -> None:  # noqa: ANN401
    begun = await turn(there, transport, simulator, [])
    for other in PLAYED:
        history = await turn(other, transport, simulator, begun)
        await turn(there, transport, simulator, history)


async def faults() -> Figures:
    account = await provider_faults.run()
    return {
        "faults": len({fault for fault, _ in account.seen}),
        "wires": len({wire for _, wire in account.seen}),
        "silent_successes": len(fault_table.silent_successes(account)),
        "hangs": len(account.late()),
        "fault_attempts": len(account.seen),
    }


async def costs() -> Figures:
    bill = (await provider_cost.run()).figures
    return {
        "cost_requests": bill.requests,
        "cost_unknown": bill.unknown,
        "cost_mismatch_micros": bill.mismatch_micros,
    }


async def prefix() -> Figures:
    """The coding tutorial in two turns, while everything around the chat changes."""
    async with migrated_template() as template, open_project(template) as project:
        first = await mended_in_two_turns(project)
        record = list(project.simulator.record)
    billed = [entry.billed for entry in record]
    last, following = billed[first - 1], billed[first]
    assert last is not None
    assert following is not None
    return {
        "prefix_requests": len(record),
        "prefix_refusals": sum(entry.status != 200 for entry in record),
        "prefix_prompt_tokens_turn_1": last.input_tokens,
        "prefix_cache_read_tokens_turn_2": following.cache_read_tokens,
    }


async def hidden() -> Figures:
    """Ten minutes of thinking that is not shown, by the real clock, on all wires at once. A turn of
    the product with its default deadlines and retries."""
    async with (
        migrated_template() as template,
        running(Config(hang_max_s=HIDDEN_S + SLACK_S)) as simulator,
        turns_on(template, simulator.url) as turns,
    ):
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        prompt = f'Well? [[sim: hidden={HIDDEN_S * 1000} | say "Forty-two."]]'
        chats = {wire: await turns.world.running(user(prompt, model=wire)) for wire in WIRE_NAMES}
        async with asyncio.timeout(HIDDEN_S + SLACK_S), asyncio.TaskGroup() as tasks:
            done = [
                tasks.create_task(_hidden_turn(turns, wire, chat)) for wire, chat in chats.items()
            ]
        took_s = loop.time() - began_s
        assert took_s >= HIDDEN_S
        by_wire: dict[str, int] = dict.fromkeys(WIRE_NAMES, 0)
        for entry in simulator.record:
            by_wire[entry.wire] += 1
        billed = sum(entry.billed is not None for entry in simulator.record)
    return {
        "hidden_thinking_s": HIDDEN_S,
        "hidden_thinking_wires": len(by_wire),
        "hidden_thinking_answers": sum(task.result() for task in done),
        "hidden_thinking_attempts": max(by_wire.values()),
        "hidden_thinking_bills": billed,
    }


async def _hidden_turn(turns: Turns, wire: str, chat: Chat) -> bool:
    facts = facts_of(VENDORS[f"simulator-{wire}"], MODELS[wire])
    assert facts.thinks
    fields = Settings.model_fields
    clocks = ("first_part_s", "silence_s", "progress_s", "thinking_s")
    deadlines = Deadlines(**{name: fields[name].default for name in clocks})
    driver = turns.process(options=TurnOptions(), facts=facts, deadlines=deadlines)
    chat = await driver.drive(chat, Interrupts(chat))
    assert chat.status is Status.IDLE, chat.error
    messages = await turns.world.read(chat.chat_id)
    parts = messages[-1].body.parts
    return "".join(part.text for part in parts if isinstance(part, Text)) == "Forty-two."


async def catalogue() -> Figures:
    return {
        "catalogue_models": sum(len(known(family)) for family in ORACLES),
        "catalogue_differences": len(differences()),
        "sdk_literals": sum(len(said) for said, _ in SAID.values()),
        "sdk_literals_unnamed": sum(len(unnamed(said, table)) for said, table in SAID.values()),
    }


def paced() -> Figures:
    """CPU of a delta that comes alone, of ours and of bare aiohttp."""
    found = Found({}, {})
    with replayed() as bench:
        uvloop.run(_measure_paced(bench, found))
    ratios = {wire: found.ratio("paced", wire, OURS, BARE) for wire in WIRE_NAMES}
    return {
        "paced_delta_ratio_to_bare": round(median(ratios.values()), 3),
        "paced_delta_ratio_to_bare_worst": round(max(ratios.values()), 3),
        "paced_rounds": ROUNDS,
        "paced_load": round(os.getloadavg()[0], 1),
    }


async def _measure_paced(bench: Bench, found: Found) -> None:
    async with open_clients(bench.server.url) as clients:
        chosen = {wire: {name: by[name] for name in (BARE, OURS)} for wire, by in clients.items()}
        for wire, by_name in chosen.items():  # unmeasured: first uses import and compile much
            for client in by_name.values():
                await bench.request_ms(client, wire)
        gc.collect()
        gc.freeze()
        for number in range(ROUNDS):
            for wire, by_name in chosen.items():
                for name, client in rotated(by_name, number):
                    found.add("paced", wire, name, await bench.paced_us(client, wire))


PARTS: Final[Mapping[str, Callable[[], Awaitable[Figures]]]] = {
    "catalogue": catalogue,
    "costs": costs,
    "faults": faults,
    "prefix": prefix,
    "vendors": vendors,
    "hidden": hidden,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}, paced and page")
    chosen: list[str] = parser.parse_args().parts or [*PARTS, "paced"]
    assert set(chosen) <= {*PARTS, "paced", "page"}, chosen
    for part, measure in PARTS.items():
        if part in chosen:
            figures = asyncio.run(_measured(measure))
            write_json("models", figures)
            print(part, figures, flush=True)
    if "paced" in chosen:  # last: it binds this process to one core
        figures = paced()
        write_json("models", figures)
        print("paced", figures, flush=True)
    page()


async def _measured(measure: Callable[[], Awaitable[Figures]]) -> Figures:
    return await measure()


def page() -> None:
    figures = orjson.loads((FOLDER / "models.json").read_bytes())
    template = (FOLDER / "models.template.md").read_text()
    write_page("models", template.format(**figures))


if __name__ == "__main__":
    main()
