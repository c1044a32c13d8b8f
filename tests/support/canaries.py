"""Keys that no sink may show again, in every secret column, and every place where one could.

A sink is all that came out at one place, as bytes: `logs` at DEBUG, `rows` of every table, the
`bus` (Redis, or PostgreSQL with the payloads of NOTIFY), `metrics`, `prompts`, `traces`,
`responses`, `events`, the `audit` log. Each must show `SIGN` or a word of its own, which proves
that it was looked at.
"""

import asyncio
import base64
import io
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import asyncpg
import orjson
from aiohttp import web
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from redis.asyncio import Redis
from typing_extensions import override

from holdfast.domain.secrets import PROVIDER_CREDENTIAL, SECRET_COLUMNS, USER_KEY, SecretColumn
from holdfast.telemetry.logs import logging_to
from holdfast_lab.chaos.harness.client import Answer, Client
from holdfast_lab.chaos.harness.private_redis import private_redis
from holdfast_simulator.server import Config, Simulator, running
from tests.support.database import temporary_database
from tests.support.replica import API_KEY, Replicas
from tests.support.waits import HANG_S
from tests.support.watch_cost import BUS as BUS_APPLICATION
from tests.support.web import Cell, a_cell
from tests.support.wire import tapped

SIGN: Final = "sign-of-life"
"""Part of names and texts that are no secret."""
SHOWN: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rows", "bus", "prompts", "traces", "responses", "events", "audit"), SIGN),
    "logs": "holdfast",
    "metrics": "holdfast_worker_acquired_total",
}
"""What each sink must show."""
HERE: Final = f'{SIGN} [[sim: call clock {{}} | then | say "Here is the {SIGN}."]]'


@dataclass
class Sinks:
    found: dict[str, list[bytes]] = field(
        default_factory=lambda: {name: list[bytes]() for name in SHOWN}
    )

    def put(self, sink: str, said: str | bytes) -> None:
        self.found[sink].append(said.encode() if isinstance(said, str) else said)

    def hits(self, canaries: Mapping[str, str]) -> list[str]:
        """`SINK: NAME of the canary, as FORM`, each once."""
        everything = {sink: b"\n".join(said) for sink, said in self.found.items()}
        return [
            f"{sink}: {name}, {form}"
            for sink, said in everything.items()
            for name, canary in canaries.items()
            for form, seen in forms(canary).items()
            if seen in said
        ]

    def unseen(self) -> list[str]:
        """Sinks that show nothing: nothing was looked at."""
        return [
            sink for sink, word in SHOWN.items() if word.encode() not in b"".join(self.found[sink])
        ]


def forms(canary: str) -> dict[str, bytes]:
    plain = canary.encode()
    coded = {
        "plain": plain,
        "base64": base64.b64encode(plain).rstrip(b"="),
        "hex": plain.hex().encode(),
        "quoted for an address": quote(canary, safe="").encode(),
        "as JSON": orjson.dumps(canary)[1:-1],
    }
    return {name: seen for name, seen in coded.items() if name == "plain" or seen != plain}


class Recorded(Client):
    """A client that keeps every answer."""

    sinks: Sinks

    @override
    async def ask(self, *given: Any, **more: Any) -> Answer:
        answer = await super().ask(*given, **more)
        self.sinks.put("responses", f"{answer.status} {dict(answer.headers)}")
        self.sinks.put("responses", answer.raw)
        return answer


@dataclass
class Sweep:
    cell: Cell
    admin: Recorded
    sinks: Sinks
    careless: str
    """The address of a provider that repeats the key in its refusal."""
    simulator: Simulator
    canaries: dict[str, str] = field(default_factory=dict[str, str])

    def canary(self, name: str) -> str:
        return self.canaries.setdefault(name, f"sk-canary-{secrets.token_hex(12)}/{name[:3]}+4711")

    async def done(self, method: str, path: str, body: object = None) -> Any:
        answer = await self.admin.ask(method, path, body)
        assert answer.status < 300, answer.raw
        return answer.json if answer.raw else None

    async def turn(self, model: str, *statuses: str) -> None:
        made = await self.done("POST", "chats", {"message": {"text": HERE, "model": model}})
        async with asyncio.timeout(HANG_S), self.admin.stream(made["chat_id"]) as events:
            async for event in events:
                self.sinks.put("events", orjson.dumps(event))
                if event["type"] == "chat.state" and event["data"]["status"] in statuses:
                    break
        for path in ("", "/messages", "/queue", "/branches", "/shares"):
            await self.admin.get(f"chats/{made['chat_id']}{path}")


async def a_provider(sweep: Sweep) -> None:
    """A key and a header of a provider, through everything that an admin does with them."""
    where = {"base_url": sweep.simulator.url, "key": sweep.canary("key of a provider")}
    headers = {"x-account": sweep.canary("header of a provider")}
    given = {"name": f"acme {SIGN}", "vendor": "simulator-anthropic", **where}
    made = await sweep.done(
        "POST", "organization/providers", {**given, "settings": {"headers": headers}}
    )
    path = f"organization/providers/{made['id']}"
    added = {"provider_id": made["id"], "settings": {"model": "claude-sonnet-5"}}
    model = await sweep.done("POST", "organization/models", {"name": SIGN, **added})
    tested = f"organization/models/{model['id']}/test"
    await sweep.done("POST", f"{path}/discover")
    await sweep.done("POST", tested)
    await sweep.turn(SIGN, "idle")
    # Refusals: by the field that is wrong, by a name that is taken, by the provider's own words.
    await sweep.admin.post("organization/providers", {**given, "settings": {"headers": headers}})
    await sweep.admin.post("organization/providers", {**given, "name": "b", "vendor": "nobody"})
    await sweep.admin.ask("PATCH", path, {"key": [sweep.canary("key of the wrong type")]})
    for key in ("first replaced key", "second replaced key"):
        careless = {"base_url": sweep.careless, "key": sweep.canary(key)}
        await sweep.done("PATCH", path, {**careless, "settings": {"headers": headers}})
        await sweep.done("POST", f"{path}/discover")
        await sweep.done("POST", tested)
        await sweep.turn(SIGN, "failed")
    gone = await sweep.done("POST", "organization/providers", {**given, "name": "gone"})
    await sweep.done("DELETE", f"organization/providers/{gone['id']}")


async def a_user_key(sweep: Sweep) -> None:
    """A user's own key, set, used, refused by the provider in its words, replaced and deleted."""
    name = f"own {SIGN}"
    given = {"name": name, "vendor": "simulator-anthropic", "user_keys": True}
    where = {"base_url": sweep.simulator.url, "key": sweep.canary("key beside one of a user")}
    made = await sweep.done("POST", "organization/providers", {**given, **where})
    added = {"provider_id": made["id"], "settings": {"model": "claude-sonnet-5"}}
    await sweep.done("POST", "organization/models", {"name": name, **added})
    path = f"provider-keys/{made['id']}"
    await sweep.done("PUT", path, {"key": sweep.canary("key of a user")})
    await sweep.turn(name, "idle")
    await sweep.admin.ask("PUT", path, {"key": [sweep.canary("user key of the wrong type")]})
    await sweep.done("PATCH", f"organization/providers/{made['id']}", {"base_url": sweep.careless})
    await sweep.done("PUT", path, {"key": sweep.canary("replaced key of a user")})
    # Without a key of its own the provider is not asked at all.
    key = {"key": sweep.canary("second key beside one of a user")}
    await sweep.done("PATCH", f"organization/providers/{made['id']}", key)
    await sweep.turn(name, "failed")
    await sweep.done("GET", "provider-keys")
    await sweep.done("PUT", path, {"key": sweep.canary("last key of a user")})


PLANTS: Final[Mapping[SecretColumn, Callable[[Sweep], Awaitable[None]]]] = {
    PROVIDER_CREDENTIAL: a_provider,
    USER_KEY: a_user_key,
}
LOOKED_AT: Final = (
    *("organization/overview", "organization/users", "organization/vendors", "models", "me"),
    *("organization/approvals", "organization/providers", "organization/models", "chats"),
    *("organization/settings", "organization/chats", "version", "api-keys", "sessions"),
    "provider-keys",
)


BUSES: Final = ("redis", "postgres")


async def swept(template: str, folder: Path, bus: str) -> tuple[Sinks, dict[str, str]]:
    """Plant, use, look everywhere: the sinks and the canaries. `bus`: one of `BUSES`."""
    master = secrets.token_hex(32)
    key_file = folder / "master.key"
    await asyncio.to_thread(_write, key_file, master)
    sinks, logs, spans = Sinks(), io.StringIO(), exporter()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(temporary_database(template))
        simulator = await stack.enter_async_context(running(Config(hang_max_s=20)))
        stack.enter_context(logging_to(logs, level="DEBUG", secrets=(API_KEY,)))
        database_url, bus_url = await stack.enter_async_context(_heard_bus(bus, url, sinks))
        cell = await stack.enter_async_context(
            a_cell(
                Replicas(database_url, simulator),
                master_key_file=key_file,
                bus_url=bus_url,
            )
        )
        admin = Recorded(cell.admin.http, cell.admin.url, cell.admin.headers)
        admin.sinks = sinks
        careless = await stack.enter_async_context(_careless(sinks))
        sweep = Sweep(cell, admin, sinks, careless, simulator)
        sweep.canaries |= {"master key": master, "key of the models file": API_KEY}
        for column in SECRET_COLUMNS:
            await PLANTS[column](sweep)
        for path in LOOKED_AT:
            await sweep.done("GET", path)
        sinks.put("audit", (await admin.get("organization/audit-log?limit=200")).raw)
        sinks.put("metrics", (await admin.get("/metrics")).raw)
        for entry in simulator.record:
            sinks.put("prompts", orjson.dumps(entry.body))
        await _dump(url, sinks)
    sinks.put("logs", logs.getvalue())
    for span in spans.get_finished_spans():
        sinks.put("traces", span.to_json())
    return sinks, sweep.canaries


def exporter() -> InMemorySpanExporter:
    """Spans of this process from now on."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider(shutdown_on_exit=False)
        trace.set_tracer_provider(provider)  # once per process: there is no way back
    kept = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return kept


def _write(key_file: Path, master: str) -> None:
    key_file.touch(mode=0o600)
    key_file.write_text(master)


async def _dump(url: str, sinks: Sinks) -> None:
    """Every row of every table, in clear; bytes as hexadecimal digits."""
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch(
            "select relname from pg_class where relkind = 'r'"
            " and relnamespace = 'public'::regnamespace"
        )
        for (name,) in tables:
            for (row,) in await connection.fetch(f'select t::text from "{name}" as t'):
                sinks.put("rows", row)
    finally:
        await connection.close()


@asynccontextmanager
async def _heard_bus(bus: str, url: str, sinks: Sinks) -> AsyncGenerator[tuple[str, str]]:
    """The address of the database and of the bus; `sinks` has all that passes on the bus."""
    if bus == "redis":
        async with private_redis() as redis, _monitored(redis.url, sinks):
            yield url, redis.url
        return
    assert bus == "postgres", bus

    def hear(application: str, data: bytes) -> None:
        if application == BUS_APPLICATION:
            sinks.put("bus", data)

    async with tapped(url, hear) as tap:
        yield tap.url, ""


@asynccontextmanager
async def _monitored(url: str, sinks: Sinks) -> AsyncGenerator[None]:
    """Every command that the bus's Redis gets."""
    client: Any = Redis.from_url(url)  # pyright: ignore[reportUnknownMemberType]

    async def listen(monitor: Any) -> None:
        while True:
            sinks.put("bus", (await monitor.next_command())["command"])

    try:
        async with client.monitor() as monitor:
            listening = asyncio.create_task(listen(monitor))
            yield
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    finally:
        await client.aclose()


@asynccontextmanager
async def _careless(sinks: Sinks) -> AsyncGenerator[str]:
    """A provider that refuses every key, and repeats it, with the headers."""

    async def refuse(request: web.Request) -> web.Response:
        sinks.put("prompts", await request.read())
        key, given = request.headers.get("x-api-key"), dict(request.headers)
        said = f"Incorrect API key provided: {key}. Headers: {given}"
        error = {"type": "error", "error": {"type": "authentication_error", "message": said}}
        return web.json_response(error, status=401)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port: int = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
