"""The bridge: what it says counts only if the provider's own finish reason came with it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic_ai import exceptions, messages
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from holdfast.adapters.providers.bridges.pydantic_ai import BridgeStream, classified
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import Deadlines
from holdfast.adapters.providers.types import Call, OneTool
from holdfast.domain.chat import ErrorKind
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending
from holdfast.domain.parts import Reasoning, Text, ToolCall
from holdfast.ports.models import TextDelta
from tests.support.model import (
    NOW,
    assistant,
    call_for,
    recorded_turn,
    results,
    tool_call,
    tool_result,
    user,
)
from tests.support.waits import HANG_S

Saying = Any
PATIENT = Deadlines()
HEARD: list[tuple[list[messages.ModelMessage], AgentInfo]] = []


class Finishing(WrapperModel):
    """A model whose replies end with a reason, as a real provider's do."""

    def __init__(self, model: FunctionModel, reason: str | None, finish: Any = "stop") -> None:
        super().__init__(model)
        self.reason = reason
        self.finish = finish

    @asynccontextmanager
    async def request_stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[StreamedResponse]:
        async with super().request_stream(*args, **kwargs) as stream:
            if self.reason:
                stream.provider_details = {"finish_reason": self.reason}
                stream.finish_reason = self.finish
            yield stream


def model(*says: Saying, reason: str | None = "stop", finish: Any = "stop") -> Finishing:
    async def speak(heard: list[messages.ModelMessage], info: AgentInfo) -> AsyncIterator[Saying]:
        HEARD.append((heard, info))
        for say in says:
            if isinstance(say, Exception):
                raise say
            if say is None:
                await asyncio.Event().wait()
            yield say

    return Finishing(FunctionModel(stream_function=speak), reason, finish)


async def heard_from(
    speaker: Finishing, call: Call | None = None, deadlines: Deadlines = PATIENT
) -> tuple[BridgeStream, list[Any], ProviderError | None]:
    stream = BridgeStream(speaker, call or call_for("chat", [user("Hi")]), lambda: NOW, deadlines)
    events: list[Any] = []
    try:
        async with asyncio.timeout(HANG_S), stream:
            async for event in stream:
                events.append(event)  # noqa: PERF401 - what came before an error counts
    except ProviderError as error:
        return stream, events, error
    return stream, events, None


async def test_a_finished_reply_is_an_answer() -> None:
    thought = {0: DeltaThinkingPart(content="hm")}
    call = {2: DeltaToolCall(name="clock", json_args='{"z":', tool_call_id="c1")}
    rest = {2: DeltaToolCall(json_args="1}")}

    stream, events, error = await heard_from(model(thought, call, rest))
    assert error is None
    assert stream.final is not None
    assert stream.final.parts == (
        Reasoning("hm", NOW),
        ToolCall(CallId("c1"), "clock", {"z": 1}),
    )
    assert (stream.final.finish, stream.final.ending) == ("stop", Ending.COMPLETE)

    stream, events, error = await heard_from(model("Hel", "lo"))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]
    assert stream.partial() == (Text("Hello"),)
    assert stream.opened


async def test_only_a_finished_reply_has_a_known_bill() -> None:
    finished, _, _ = await heard_from(model("Hel", "lo"))
    broken, _, error = await heard_from(model("Hel", "lo", reason=None))

    assert finished.usage is not None
    assert finished.usage == finished.usage_min
    assert error is not None
    assert broken.usage is None
    assert broken.usage_min.output > 0


async def test_a_reply_without_the_providers_own_reason_is_refused() -> None:
    stream, events, error = await heard_from(model("Hello", reason=None))

    assert error is not None
    assert (error.kind, error.retryable) == (ErrorKind.STREAM_CLOSED, True)
    assert stream.final is None
    assert stream.partial() == (Text("Hello"),)
    assert events


async def test_filters_lengths_and_silence() -> None:
    _, _, error = await heard_from(model("x", reason="refusal", finish="content_filter"))
    assert error is not None
    assert error.kind is ErrorKind.CONTENT_FILTER

    stream, _, _ = await heard_from(model("x", reason="length", finish="length"))
    assert stream.final is not None
    assert stream.final.ending is Ending.LENGTH

    _, _, error = await heard_from(model(None), deadlines=Deadlines(first_part_s=0.1))
    assert error is not None
    assert (error.kind, error.retryable) == (ErrorKind.TIMEOUT, True)

    _, events, error = await heard_from(model("x", None), deadlines=Deadlines(progress_s=0.1))
    assert error is not None
    assert error.kind is ErrorKind.TIMEOUT
    assert events


async def test_what_it_cannot_promise_it_refuses() -> None:
    _, _, error = await heard_from(
        model("x"), call_for("chat", [user("Hi")], tool_choice=OneTool("clock"))
    )
    assert error is not None
    assert error.kind is ErrorKind.CONFIG


async def test_the_prompt_follows_the_same_rules_as_on_our_own_wires() -> None:
    history = [
        *recorded_turn("anthropic"),
        user("Again"),
        assistant(tool_call("t9")),
        results(tool_result("t9", "noon")),
    ]

    await heard_from(model("x"), call_for("chat", history, system=("Be kind.",)))

    sent, info = HEARD[-1]
    spelled = str(sent)
    assert "wants the weather" not in spelled
    assert "srvtoolu" not in spelled
    assert "noon" in spelled
    assert [tool.name for tool in info.function_tools] == ["read_file", "clock"]
    kinds = [type(message).__name__ for message in sent]
    assert kinds[0] == "ModelRequest"


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (exceptions.ModelHTTPError(529, "m", {"error": {}}), ErrorKind.OVERLOADED, True),
        (exceptions.ModelHTTPError(401, "m", None), ErrorKind.AUTH, False),
        (exceptions.UserError("no"), ErrorKind.CONFIG, False),
        (ValueError("odd"), ErrorKind.UNKNOWN, False),
    ],
)
async def test_errors_are_classified(error: Exception, kind: ErrorKind, retryable: bool) -> None:
    _, _, seen = await heard_from(model("x", error))

    assert seen is not None
    assert (seen.kind, seen.retryable) == (kind, retryable)
    assert classified(error, NOW).kind is kind
