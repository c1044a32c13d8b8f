"""The server: delivery options, the record, the bill, and clients that leave early."""

import asyncio
from typing import Any

import aiohttp
import pytest

from holdfast_simulator.answer import Answering
from holdfast_simulator.asked import WireName
from holdfast_simulator.options import Options
from holdfast_simulator.server import Config, Simulator, running
from tests.support.raw_http import Ending, Json, Outcome, post
from tests.support.simulator import KEYS, PATHS, body
from tests.support.waits import HANG_S
from tests.support.workers import until

A, R, C, G = WireName.ANTHROPIC, WireName.RESPONSES, WireName.CHAT, WireName.GEMINI
WIRES = list(WireName)
SAY = '[[sim: say "one two three four five — six"]]'


async def ask(
    simulator: Simulator, wire: WireName, given: Json | None = None, **options: str
) -> Outcome:
    headers = KEYS[wire] | {f"x-sim-{name}": value for name, value in options.items()}
    silence_s = 0.8 if "hang" in options.get("fault", "") else 50
    async with asyncio.timeout(HANG_S):
        return await post(
            simulator.url, PATHS[wire], given or body(wire, SAY), headers, silence_s=silence_s
        )


async def look(simulator: Simulator, path: str) -> Any:
    async with aiohttp.ClientSession() as client, client.get(simulator.url + path) as answer:
        return await answer.json()


def usage_sent(outcome: Outcome, wire: WireName) -> tuple[int, int]:
    """Total input and output as the stream itself told them."""
    last = outcome.data()[-1]
    match wire:
        case WireName.ANTHROPIC:
            found = outcome.data()[-2]["usage"]
            cached = found["cache_read_input_tokens"] + found["cache_creation_input_tokens"]
            return found["input_tokens"] + cached, found["output_tokens"]
        case WireName.RESPONSES:
            found = last["response"]["usage"]
            return found["input_tokens"], found["output_tokens"]
        case WireName.CHAT:
            return last["usage"]["prompt_tokens"], last["usage"]["completion_tokens"]
        case WireName.GEMINI:
            found = last["usageMetadata"]
            output = found["candidatesTokenCount"] + found.get("thoughtsTokenCount", 0)
            return found["promptTokenCount"], output


@pytest.mark.parametrize("wire", WIRES)
async def test_the_bill_is_what_the_stream_told(simulator: Simulator, wire: WireName) -> None:
    told = [
        usage_sent(await ask(simulator, wire, body(wire, "x" * 9000 + SAY)), wire),
        usage_sent(await ask(simulator, wire, body(wire, "y"), scenario="golden"), wire),
    ]
    billing = await look(simulator, "/sim/billing")
    assert billing["streams"] == 2
    assert billing["usage"]["input_tokens"] == sum(given for given, _ in told)
    assert billing["usage"]["output_tokens"] == sum(made for _, made in told)
    assert list(billing["models"]) == [body(wire).get("model", "gemini-3-pro-preview")]


@pytest.mark.parametrize("wire", [R, C, G])
async def test_a_repeated_prompt_is_read_from_the_cache(
    simulator: Simulator, wire: WireName
) -> None:
    for _ in range(2):
        await ask(simulator, wire, body(wire, "x" * 9000 + SAY))
    entries = list(simulator.record)
    billed = [entry.billed for entry in entries]
    assert billed[0] is not None
    assert billed[1] is not None
    assert billed[0].cache_read_tokens == 0
    assert billed[1].cache_read_tokens >= 1024


async def test_a_breakpoint_is_written_then_read(simulator: Simulator) -> None:
    given = body(A, SAY)
    long = {"type": "text", "text": "x" * 9000, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    given["system"] = [long]
    first, second = [(await ask(simulator, A, given)).data()[0] for _ in range(2)]
    wrote, read = first["message"]["usage"], second["message"]["usage"]
    assert wrote["cache_creation"]["ephemeral_1h_input_tokens"] > 2000
    assert read["cache_read_input_tokens"] == wrote["cache_creation_input_tokens"]


@pytest.mark.parametrize("wire", WIRES)
async def test_chunks_of_single_bytes_and_other_line_ends_say_the_same(
    simulator: Simulator, wire: WireName
) -> None:
    plain = (await ask(simulator, wire)).events()
    bytewise = await ask(simulator, wire, chunk="bytes:1")
    assert {len(piece) for piece in bytewise.chunks} == {1}
    assert bytewise.events() == plain
    at_once = await ask(simulator, wire, chunk="all")
    assert len(at_once.chunks) == 1
    assert at_once.events() == plain
    for line, end in (("lf", b"\n"), ("crlf", b"\r\n"), ("cr", b"\r")):
        outcome = await ask(simulator, wire, line=line)
        assert outcome.body.endswith(end * 2)
        assert outcome.events() == plain
    default = await ask(simulator, wire)
    assert default.body.endswith(b"\r\n\r\n" if wire is G else b"\n\n")


async def test_deltas_pings_rate_and_latency_are_obeyed(simulator: Simulator) -> None:
    outcome = await ask(simulator, A, deltas="3", pings="1")
    deltas = [e for e in outcome.data() if e["type"] == "content_block_delta"]
    assert len(deltas) == 3
    assert sum(e["type"] == "ping" for e in outcome.data()) == 4
    clock = asyncio.get_running_loop().time
    began = clock()
    await ask(simulator, A, rate="50", latency="100")
    entry = simulator.record.get(2)
    assert entry is not None
    assert clock() - began >= 0.1 + (entry.output - 2) / 50


@pytest.mark.parametrize("wire", WIRES)
async def test_the_same_request_gets_the_same_bytes(simulator: Simulator, wire: WireName) -> None:
    first = await ask(simulator, wire, scenario="golden")
    async with running(Config()) as other:
        second = await ask(other, wire, scenario="golden")
    assert first.body == second.body


@pytest.mark.parametrize("wire", WIRES)
async def test_a_client_that_leaves_is_billed_for_what_was_sent(
    simulator: Simulator, wire: WireName
) -> None:
    given = body(wire, SAY)
    if wire is C:
        given["stream_options"]["continuous_usage_stats"] = True
    outcome = await ask(simulator, wire, given, fault="hang-mid@3")
    assert outcome.ending is Ending.SILENT
    async with asyncio.timeout(HANG_S):
        entry = await look(simulator, "/sim/requests/1?wait=30")
    assert entry["finished"]
    assert not entry["completed"]
    assert entry["disconnected_after_s"] > 0
    # "one", " two", " three": one, one and two tokens.
    assert entry["usage"]["output_tokens"] == 4
    assert entry["usage"]["input_tokens"] > 0
    assert entry["bytes_sent"] == len(outcome.body)
    if wire in (C, G):
        # These can tell their usage all along: the last that was told is what is billed.
        billed = (entry["usage"]["input_tokens"], entry["usage"]["output_tokens"])
        assert usage_sent(outcome, wire) == billed
    assert (await look(simulator, "/sim/billing"))["streams"] == 1


@pytest.mark.parametrize("fault", ["hang-before-headers", "hang-before-event", "overloaded"])
async def test_what_never_began_is_not_billed(simulator: Simulator, fault: str) -> None:
    await ask(simulator, C, fault=fault)
    entry = await look(simulator, "/sim/requests/1?wait=30")
    assert entry["usage"] is None
    assert (await look(simulator, "/sim/billing"))["streams"] == 0


async def test_the_record_keeps_requests_without_secrets(simulator: Simulator) -> None:
    await ask(simulator, A, scenario="reasoning")
    (brief,) = (await look(simulator, "/sim/requests"))["requests"]
    assert (brief["wire"], brief["status"], brief["source"]) == (
        "anthropic",
        200,
        "scenario:reasoning",
    )
    full = await look(simulator, "/sim/requests/1")
    assert full["headers"]["x-api-key"] == "***"
    assert full["body"]["messages"][0]["content"] == SAY
    assert full["events"]["message_stop"] == 1
    assert full["sent"].startswith("event: message_start")
    async with aiohttp.ClientSession() as client:
        async with client.delete(simulator.url + "/sim/requests") as answer:
            assert answer.status == 204
        async with client.get(simulator.url + "/sim/requests/1") as answer:
            assert answer.status == 404


async def test_waiting_for_an_entry_is_bounded(simulator: Simulator) -> None:
    async with asyncio.TaskGroup() as tasks, aiohttp.ClientSession() as client:
        headers = KEYS[A] | {"x-sim-fault": "hang-before-headers"}
        asking = post(simulator.url, PATHS[A], body(A, SAY), headers, silence_s=HANG_S)
        hanging = tasks.create_task(asking)
        await until(lambda: simulator.record.get(1) is not None, HANG_S)
        async with client.get(simulator.url + "/sim/requests/1?wait=0.05") as answer:
            assert answer.status == 202
        hanging.cancel()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refusal_has_the_shape_of_its_api(simulator: Simulator, wire: WireName) -> None:
    outcome = await ask(simulator, wire, body(wire) | {"frobnicate": 1})
    assert outcome.status == 400
    error = outcome.json()["error"]
    match wire:
        case WireName.ANTHROPIC:
            assert error["type"] == "invalid_request_error"
        case WireName.GEMINI:
            assert error["status"] == "INVALID_ARGUMENT"
        case _:
            assert set(error) == {"message", "type", "param", "code"}
    entry = simulator.record.get(1)
    assert entry is not None
    assert entry.rejected_by in ("unknown-parameter", "unknown-field")


@pytest.mark.parametrize("wire", WIRES)
async def test_bytes_that_are_no_json_are_refused(simulator: Simulator, wire: WireName) -> None:
    outcome = await post(simulator.url, PATHS[wire], b"{", KEYS[wire])
    assert outcome.status == 400


@pytest.mark.parametrize("wire", [A, C])
async def test_a_prompt_beyond_the_window_is_refused(simulator: Simulator, wire: WireName) -> None:
    outcome = await ask(simulator, wire, body(wire, "x" * 900_000))
    assert outcome.status == 400
    assert "token" in outcome.json()["error"]["message"]


async def test_a_directive_that_cannot_be_read_is_said_so(simulator: Simulator) -> None:
    outcome = await ask(simulator, C, body(C, "[[sim: sing]]"))
    assert outcome.status == 400
    assert "simulator: 'sing' is no item" in outcome.json()["error"]["message"]


async def test_the_output_limit_of_the_request_is_obeyed(simulator: Simulator) -> None:
    outcome = await ask(simulator, A, body(A, "[[sim: words=100]]") | {"max_tokens": 5})
    assert outcome.data()[-2]["delta"]["stop_reason"] == "max_tokens"
    assert outcome.data()[-2]["usage"]["output_tokens"] <= 5


async def test_models_are_listed_in_the_style_of_who_asks(simulator: Simulator) -> None:
    async with aiohttp.ClientSession() as client:
        async with client.get(simulator.url + "/v1/models") as answer:
            assert (await answer.json())["object"] == "list"
        headers = {"anthropic-version": "2023-06-01"}
        async with client.get(simulator.url + "/v1/models", headers=headers) as answer:
            assert (await answer.json())["has_more"] is False
        async with client.get(simulator.url + "/v1beta/models") as answer:
            assert (await answer.json())["models"]
        async with client.get(simulator.url + "/sim/faults") as answer:
            assert len(await answer.json()) >= 40
        async with client.post(simulator.url + "/v1beta/models/m:embed", json={}) as answer:
            assert answer.status == 404
        async with client.get(simulator.url + "/sim/redirected") as answer:
            assert answer.status == 410
    assert simulator.record.redirects_followed == 1


async def test_defaults_apply_to_every_request() -> None:
    async with running(Config(defaults=Options(piece_bytes=2))) as simulator:
        outcome = await ask(simulator, C)
    assert max(map(len, outcome.chunks)) == 2


async def test_many_streams_at_once_are_kept_apart(simulator: Simulator) -> None:
    async with asyncio.TaskGroup() as tasks:
        running_now = [
            tasks.create_task(ask(simulator, C, body(C, f'[[sim: say "number {n} of many"]]')))
            for n in range(40)
        ]
    for number, task in enumerate(running_now):
        deltas = [c["delta"] for e in task.result().data() for c in e["choices"]]
        text = "".join(delta.get("content") or "" for delta in deltas)
        assert text == f"number {number} of many"


async def test_a_long_prompt_fits_where_the_beta_for_it_is_asked(simulator: Simulator) -> None:
    given = body(A, "so " * 270_000 + SAY)

    assert (await ask(simulator, A, given)).status == 400
    headers = KEYS[A] | {"anthropic-beta": "context-1m-2025-08-07"}
    async with asyncio.timeout(HANG_S):
        outcome = await post(simulator.url, PATHS[A], given, headers, silence_s=50)
    assert usage_sent(outcome, A)[0] > 200_000


async def test_searches_are_told_when_they_are_over(simulator: Simulator) -> None:
    outcome = await ask(simulator, A, body(A, '[[sim: search "news" | say "Nothing new."]]'))

    first, last = (e for e in outcome.data() if e["type"] in ("message_start", "message_delta"))
    assert "server_tool_use" not in first["message"]["usage"]
    assert last["usage"]["server_tool_use"]["web_search_requests"] == 1


async def test_a_write_that_finds_its_client_gone_is_recorded_and_no_error(
    simulator: Simulator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: object) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(Answering, "answer", lost)

    assert (await ask(simulator, C)).status == 499

    entry = await look(simulator, "/sim/requests/1?wait=30")
    assert entry["disconnected_after_s"] is not None
    assert caplog.records == []
