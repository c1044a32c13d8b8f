"""What operators see of a server that ran: every metric, the logs of a turn, its spans."""

import asyncio
import io
import logging
import re
from collections.abc import Generator
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from holdfast.bootstrap import Adapters, Server
from holdfast.domain.chat import Status
from holdfast.ports.models import Ask, Models, ModelStream, Route, Usage
from holdfast.telemetry.logs import logging_to
from holdfast.telemetry.metrics import METRICS, MetricKind
from tests.support.builders import user
from tests.support.buses import until
from tests.support.canaries import exporter
from tests.support.replica import API_KEY, Replicas, ask, at_rest
from tests.support.waits import HANG_S


@pytest.fixture
def spans() -> Generator[InMemorySpanExporter]:
    kept = exporter()
    yield kept
    kept.clear()


async def run_some(server: Server) -> None:
    """A turn with a tool, and one that fails."""
    chat = await ask(server, user("[[sim: call clock {}]]"))
    assert server.hub is not None
    async with server.hub.follow(chat.chat_id, None) as events:
        await anext(aiter(events))
    assert (await at_rest(server, chat.chat_id)).status is Status.IDLE
    failing = await ask(server, user("[[sim: fault=unauthorized]]"))
    assert (await at_rest(server, failing.chat_id)).status is Status.FAILED


MOVED = {
    # What must have risen after these two turns, beside being there.
    "holdfast_bus_sent_total",
    "holdfast_worker_acquired_total",
    "holdfast_worker_acquires_total",
    "holdfast_worker_heartbeats_total",
    "holdfast_worker_leases_total",
    "holdfast_worker_capacity",
    "holdfast_database_connections",
    "holdfast_turns_total",
    "holdfast_turn_steps_total",
    "holdfast_turn_attempts_total",
    "holdfast_turn_failures_total",
    "holdfast_turn_live_parts_total",
    "holdfast_turn_tokens_total",
    "holdfast_tool_runs_total",
    "holdfast_stream_events_total",
    "holdfast_stream_reads_total",
    "holdfast_commit_seconds",
    "holdfast_model_first_part_seconds",
    "holdfast_model_reply_seconds",
    "holdfast_tool_seconds",
    "holdfast_drive_seconds",
}


OURS = [row for row in METRICS if row.part not in {"http", "places"}]
"""Of a server without its HTTP edge; for the edge see test_heads.py and test_limits.py
in tests/integration/api."""


async def test_every_metric_is_there_after_a_server_ran(cell: Replicas) -> None:
    async with cell.open() as server:
        await run_some(server)
        async with asyncio.timeout(60):
            while not server.metrics.value("holdfast_worker_heartbeats_total"):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        text = server.metrics.text().decode()
    types = dict(re.findall(r"(?m)^# TYPE (holdfast_\w+) (\w+)$", text))
    assert types == {row.name: row.kind.value for row in OURS}
    assert text.count("# HELP holdfast_") == len(types)
    for row in OURS:
        name = f"{row.name}_count" if row.kind is MetricKind.HISTOGRAM else row.name
        labels = dict(row.labels or {})
        samples = re.findall(rf"(?m)^{name}(?:{{([^}}]*)}})? (\S+)$", text)
        assert samples, row.name
        for key, value in labels.items():
            assert any(f'{key}="{value}"' in said for said, _ in samples), row
        if row.name in MOVED:
            assert sum(float(number) for _, number in samples) > 0, row.name
    assert {row.name for row in OURS} >= MOVED
    assert 'holdfast_turn_failures_total{kind="auth"} 1.0' in text
    labels = 'kind="auth",status="401",vendor="simulator-anthropic"'
    assert f"holdfast_provider_errors_total{{{labels}}} 1.0" in text
    assert API_KEY not in text


class Telling:
    """Models that log the way a careless driver might."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def stream(self, ask: Ask) -> ModelStream:
        log = logging.getLogger("some.careless.module")
        log.info("asking with %s", API_KEY)
        try:
            int(f"key {API_KEY}")
        except ValueError:
            log.exception("could not")
        return self._models.stream(ask)

    def cost_micros(self, model: str | None, usage: Usage | None, at: datetime) -> int | None:
        return self._models.cost_micros(model, usage, at)

    def context_window(self, model: str | None) -> int | None:
        return self._models.context_window(model)

    def route(self, model: str | None) -> Route:
        return self._models.route(model)


async def test_logs_are_an_object_per_line_with_the_chat_and_without_secrets(
    cell: Replicas,
) -> None:
    def around(adapters: Adapters) -> Adapters:
        return replace(adapters, models=Telling(adapters.models))

    stream = io.StringIO()
    with logging_to(stream, level="DEBUG", secrets=cell.settings().secrets()):
        async with cell.open(around, worker_name="w1") as server:
            chat = await ask(server, user('[[sim: say "hi"]]'))
            await at_rest(server, chat.chat_id)
            worker_id = str(server.worker and server.worker.worker_id)
    lines: list[dict[str, Any]] = [orjson.loads(line) for line in stream.getvalue().splitlines()]
    said, failed = [line for line in lines if line["logger"] == "some.careless.module"]
    for line in (said, failed):
        assert line["chat_id"] == str(chat.chat_id)
        assert line["worker_id"] == worker_id
        assert line["turn"] == "1.1"
        assert line["worker"] == "w1"
    assert said["event"] == "asking with ***"
    assert "Traceback" in failed["exception"]
    assert "canary" not in stream.getvalue()


async def test_a_turn_is_a_tree_of_spans(cell: Replicas, spans: InMemorySpanExporter) -> None:
    async with cell.open() as server:
        await run_some(server)
    finished = spans.get_finished_spans()
    turns = [span for span in finished if span.name == "turn"]
    assert len(turns) == 2
    assert all(span.parent is None for span in turns)
    below = [span.name for span in finished if _parent(span, finished) is turns[0]]
    assert below.count("attempt") == 2, "one asks for the tool, one answers with its result"
    assert below.count("tool") == 1
    assert API_KEY not in "".join(span.to_json() for span in finished)
    (told,) = [span.attributes for span in finished if "error.type" in (span.attributes or {})]
    assert told is not None
    assert (told["error.type"], told["http.response.status_code"]) == ("auth", 401)
    assert told["holdfast.provider"] == "simulator-anthropic"
    assert told["server.address"] == urlsplit(cell.simulator.url).netloc
    assert str(told["holdfast.request_id"]).startswith("req_")
    assert told["holdfast.detail"]


def _parent(span: ReadableSpan, spans: tuple[ReadableSpan, ...]) -> ReadableSpan | None:
    if span.parent is None:
        return None
    parents = [each for each in spans if each.context == span.parent]
    return parents[0] if parents else None


def logged(stream: io.StringIO, event: str) -> list[dict[str, Any]]:
    lines = [orjson.loads(line) for line in stream.getvalue().splitlines()]
    return [line for line in lines if line["event"] == event]


async def test_a_failed_attempt_and_a_failed_turn_are_logged_with_the_providers_words(
    cell: Replicas,
) -> None:
    stream = io.StringIO()
    with logging_to(stream, secrets=cell.settings().secrets()):
        async with cell.open(retry_first_delay_s=0.01, attempts_max=2) as server:
            overloaded = await ask(server, user("[[sim: fault=overloaded]]"))
            await at_rest(server, overloaded.chat_id)
            refused = await ask(server, user("[[sim: fault=unauthorized]]"))
            assert (await at_rest(server, refused.chat_id)).status is Status.FAILED
    first, *_ = attempts = logged(stream, "turn: attempt failed")
    assert {line["kind"] for line in attempts} == {"overloaded", "auth"}
    assert first["level"] == "warning"
    assert first["chat_id"] == str(overloaded.chat_id)
    assert (first["model"], first["provider"]) == ("sim", "simulator-anthropic")
    assert (first["attempt"], first["retry_in_s"] > 0) == (1, True)
    assert first["request_id"].startswith("req_")
    assert first["detail"]
    assert first["host"] == urlsplit(cell.simulator.url).netloc
    assert (first["retry_after_s"], first["next_model"]) == (None, None)
    (turn,) = [
        line for line in logged(stream, "turn: failed") if line["chat_id"] == str(refused.chat_id)
    ]
    assert (turn["kind"], turn["status"]) == ("auth", 401)
    assert turn["request_id"].startswith("req_")
    assert turn["detail"]
    assert API_KEY not in stream.getvalue()


async def test_a_drain_is_logged_from_its_first_moment_to_the_last(cell: Replicas) -> None:
    stream = io.StringIO()
    with logging_to(stream):
        async with cell.open(worker_name="w1") as server:
            await ask(server, user("[[sim: words=2000 | rate=10]]"))
            await until(lambda: server.metrics.value("holdfast_turn_live_parts_total") > 0)
            server.drain()
            server.drain()
            async with asyncio.timeout(HANG_S):
                await server.run()
    (draining,) = logged(stream, "worker: draining")
    (handed,) = logged(stream, "worker: handed over")
    assert (draining["chats"], draining["worker"]) == (1, "w1")
    assert (handed["chats"], handed["not_in_time"], handed["seconds"] >= 0) == (1, 0, True)
    assert len(logged(stream, "server: draining")) == 1
    (stopped,) = logged(stream, "server: stopped")
    assert stopped["server"] == "w1"
