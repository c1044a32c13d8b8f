"""A lane over valkey-glide, a client of Redis to measure beside ours: ADR 0012."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from holdfast.bus.redis import APPEND
from holdfast_lab.bench.bus_bare import TickingPublisher, channel_of, scripts, ticking
from holdfast_lab.bench.lanes import TICK_S, Event, Heard


class BareGlide:
    """valkey-glide: its batch, and its callback for what is published."""

    @asynccontextmanager
    async def publisher(self, url: str) -> AsyncGenerator[TickingPublisher]:
        glide = import_module("glide")
        client = await glide.GlideClient.create(self._settings(glide, url))
        sha = (await client.custom_command(["SCRIPT", "LOAD", APPEND])).decode()

        async def flush(batch: list[Event]) -> None:
            calls = glide.Batch(is_atomic=False)
            for call in scripts(batch):
                words = [each if isinstance(each, bytes) else str(each) for each in call]
                calls.custom_command(["EVALSHA", sha, *words])
            await client.exec(calls, raise_on_error=True)

        try:
            async with ticking(flush) as publisher:
                yield publisher
        finally:
            await client.close()

    @asynccontextmanager
    async def reader(self, url: str, chats: Sequence[UUID], heard: Heard) -> AsyncGenerator[None]:
        glide = import_module("glide")
        by_channel = {channel_of(chat).encode(): chat for chat in chats}

        def on_message(message: Any, _context: object) -> None:  # noqa: ANN401  # it has no types
            head, _, payload = message.message.partition(b"\n")
            heard(by_channel[message.channel], int(head[6:]), payload)

        exact = glide.GlideClientConfiguration.PubSubChannelModes.Exact
        followed = glide.GlideClientConfiguration.PubSubSubscriptions(
            {exact: {channel_of(chat) for chat in chats}}, on_message, None
        )
        client = await glide.GlideClient.create(self._settings(glide, url, followed))
        try:
            while True:
                if len(await client.pubsub_channels()) >= len(chats):
                    break
                await asyncio.sleep(TICK_S)
            yield
        finally:
            await client.close()

    def _settings(self, glide: ModuleType, url: str, followed: object = None) -> object:
        address = urlsplit(url)
        return glide.GlideClientConfiguration(
            [glide.NodeAddress(address.hostname, address.port)], pubsub_subscriptions=followed
        )
