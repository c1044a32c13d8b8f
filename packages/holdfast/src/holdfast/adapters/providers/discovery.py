"""Asks providers for their lists of models, with bounds on time and bytes.

What a list says is better than what our families guess and weaker than what settings say. A list
that cannot be read changes nothing: the families still hold, and one line of the log says why.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
import orjson

from holdfast.adapters.providers.errors import ProviderError, from_response, protocol, timed_out
from holdfast.adapters.providers.listings import (
    PublishedFacts,
    list_request,
    listed_models,
    named_in,
    show_request,
    shown_model,
)
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.stream import translated
from holdfast.adapters.providers.transport import Transport
from holdfast.adapters.providers.types import Endpoint, Request
from holdfast.domain.chat import ErrorKind

EVERY_S: Final = 24 * 3600.0
AGAIN_S: Final = 3600.0
"""After a list could not be read."""
ANSWER_S: Final = 15.0
ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
"""OpenRouter's list has about 2 MB."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a provider said of one configured model: `listed`, `error`, or neither if it has no
    list, or one without the model."""

    name: str
    endpoint: Endpoint
    listed: PublishedFacts | None = None
    error: ProviderError | None = None


async def discover(
    transport: Transport, configs: Mapping[str, ModelConfig]
) -> AsyncIterator[Found]:
    """Each configured model once; each list is fetched once."""
    lists: dict[object, dict[str, PublishedFacts] | ProviderError] = {}
    for name, config in configs.items():
        endpoint, model = config.endpoint, config.facts.model
        show, listing = show_request(endpoint, model), list_request(endpoint)
        request = show or listing
        if request is None:
            yield Found(name=name, endpoint=endpoint)
            continue
        key = (endpoint.vendor, request.url, request.body, endpoint.secrets)
        if key not in lists:
            try:
                answer = await fetched(transport, request, endpoint)
            except ProviderError as error:
                lists[key] = error
            else:
                lists[key] = (
                    {model: shown_model(answer)} if show else listed_models(endpoint.wire, answer)
                )
        found = lists[key]
        if isinstance(found, ProviderError):
            yield Found(name=name, endpoint=endpoint, error=found)
        else:
            yield Found(name=name, endpoint=endpoint, listed=named_in(found, model))


async def fetched(transport: Transport, request: Request, endpoint: Endpoint) -> object:
    """The JSON of an answer; raises `ProviderError`."""
    try:
        async with asyncio.timeout(ANSWER_S):
            return await _fetched(transport, request, endpoint)
    except TimeoutError as error:
        failure, cause = timed_out("list", ANSWER_S), error
    except (aiohttp.ClientError, OSError) as error:
        failure, cause = translated(error), error
    except ProviderError as error:
        failure, cause = error, error
    except ValueError as error:
        # Not quoted: what cannot be a header or a host may be a mistyped credential.
        detail = "the address or a header cannot be sent"
        failure, cause = ProviderError(ErrorKind.CONFIG, detail, retryable=False), error
    raise failure.named(endpoint.vendor, endpoint.title, endpoint.secrets) from cause


async def _fetched(transport: Transport, request: Request, endpoint: Endpoint) -> object:
    response = await transport.send(request, endpoint, silence_s=ANSWER_S)
    try:
        headers = {name.lower(): value for name, value in response.headers.items()}
        body = bytearray()
        while not response.content.at_eof() and len(body) <= ANSWER_BYTES_MAX:
            body += await response.content.readany()
        if response.status != 200:
            raise from_response(response.status, headers, bytes(body), transport.now())
        if len(body) > ANSWER_BYTES_MAX:
            raise protocol(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise protocol("an answer that is not JSON") from error
    finally:
        response.close()


async def keep_discovering(
    transport: Transport,
    registry: ModelRegistry,
    *,
    every_s: float = EVERY_S,
    again_s: float = AGAIN_S,
) -> None:
    """Ask at once, then daily, and when the models have changed. Turns that run keep the facts that
    they began with."""
    while True:
        registry.changed.clear()
        told: list[ProviderError] = []  # one list serves several models
        async for found in discover(transport, registry.given):
            if found.error is not None and found.error not in told:
                told.append(found.error)
                _LOG.warning(
                    "providers: the list of models could not be read",
                    extra={
                        "model": found.name,
                        "vendor": found.endpoint.vendor,
                        "detail": found.error.detail,
                    },
                )
            elif found.listed is not None:
                registry.learn(found.name, found.listed)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(again_s if told else every_s):
                await registry.changed.wait()
