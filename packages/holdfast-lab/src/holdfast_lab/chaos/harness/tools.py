"""Tools whose effects can be counted from outside, for tests that kill real workers.

Each effect is one POST of the tool's name and the call id to a recording server, which answers with
anything. A keyed run sends the call id as its idempotency key: the other side does it once, however
often it is told.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from holdfast.domain.parts import JsonValue
from holdfast.ports.tools import Effect, Run, ToolOutput, ToolSpec, never
from holdfast.tools.toolbox import Function, Functions

ANSWER_S: Final = 10.0
FLOOD_LINES: Final = 20_000
_SCHEMA: Final[Mapping[str, JsonValue]] = {
    "type": "object",
    "properties": {"note": {"type": "string"}, "seconds": {"type": "number"}},
}


def recorder_name(effect: Effect) -> str:
    return f"record_{effect.value}"


class Testing(Functions):
    """`url`: where effects are recorded."""

    __test__ = False  # of no interest to a test runner

    def __init__(self, url: str) -> None:
        self._url = url
        super().__init__(
            *(Function(_spec(recorder_name(effect), effect), self._record) for effect in Effect),
            Function(_spec("hang", Effect.ONCE), self._hang),
            Function(_spec("flood", Effect.REPEATABLE), self._flood),
        )

    async def _record(self, run: Run) -> ToolOutput:
        """The effect, then a pause of `seconds`, in which a test may kill us."""
        await self._happen(run)
        seconds = run.call.arguments.get("seconds", 0)
        await asyncio.sleep(float(seconds) if isinstance(seconds, int | float) else 0.0)
        return ToolOutput(f"recorded {run.call.call_id}")

    async def _happen(self, run: Run) -> None:
        await post(self._url, f"{run.call.tool} {run.call.call_id}", key=run.call.call_id)

    async def _hang(self, run: Run) -> ToolOutput:
        """Begins, says so, and never ends by itself."""
        await self._happen(run)
        run.emit("hanging\n")
        await asyncio.Event().wait()
        raise AssertionError("this event is never set")

    async def _flood(self, run: Run) -> ToolOutput:
        """More than any model could bear to read."""
        lines = [f"line {number}: wörds and wörds\n" for number in range(FLOOD_LINES)]
        for line in lines[:100]:
            run.emit(line)
        return ToolOutput("".join(lines))


def _spec(name: str, effect: Effect) -> ToolSpec:
    description = f"For tests: {name.replace('_', ' ')}."
    return ToolSpec(
        name=name,
        description=description,
        schema=_SCHEMA,
        effect=effect,
        foreign=False,
        sends_out=never,
    )


async def post(url: str, line: str, *, key: str) -> None:
    """One POST over a connection of its own; raises OSError unless it was answered with 2xx."""
    address = urlsplit(url)
    body = line.encode("utf-8", "replace")
    head = (
        f"POST {address.path or '/'} HTTP/1.1\r\nhost: {address.netloc}\r\nconnection: close\r\n"
        f"idempotency-key: {key}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    async with asyncio.timeout(ANSWER_S):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(head.encode("latin-1", "replace") + body)
            await writer.drain()
            status = await reader.readline()
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
    if b" 2" not in status[:12]:
        raise OSError(f"not recorded: {status!r}")
