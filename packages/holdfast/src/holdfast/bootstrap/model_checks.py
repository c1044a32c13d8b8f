"""Whether the configured models work, and what their providers say of them: `holdfast models`.

Needs the settings and the network, no database: an operator runs it before the first start.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from holdfast.adapters.providers.discovery import Found, discover
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.transport import Transport, open_transport
from holdfast.bootstrap.options import load_price_list, model_configs
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Text
from holdfast.ports.catalogue import TriedModel
from holdfast.ports.models import Ask, ModelFailed, Models, Usage
from holdfast.ports.tools import ToolSpec
from holdfast.settings import Settings, WrongSettings, env_name

ANSWER_S: Final = 180.0
TRY_S: Final = 60.0
"""For an admin who waits for the answer."""
QUESTION: Final = "Answer with the one word: ready"
TOOL: Final = ToolSpec(
    name="note",
    description="Keep a note. There is nothing to note now.",
    schema={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedModel:
    """What came of asking a model for one word. `failure` None: it answered."""

    name: str
    vendor: str
    model: str
    status: int | None = None
    request_id: str | None = None
    first_part_s: float | None = None
    took_s: float
    usage: Usage | None = None
    cost_micros: int | None = None
    failure: str | None = None


@asynccontextmanager
async def _opened(
    settings: Settings, names: Sequence[str]
) -> AsyncGenerator[tuple[Transport, dict[str, ModelConfig]]]:
    configs = model_configs(settings)
    unknown = [name for name in names if name not in configs]
    if unknown:
        known = ", ".join(configs)
        raise WrongSettings(
            f"{env_name('models')} has no model named {', '.join(unknown)}; there are {known}."
        )
    chosen = {name: config for name, config in configs.items() if not names or name in names}
    async with open_transport(_now) as transport:
        yield transport, chosen


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - no database is asked for the time


async def check_models(settings: Settings, names: Sequence[str]) -> AsyncIterator[CheckedModel]:
    """Ask each of these models for one word, with one tool; no names: all of them."""
    async with _opened(settings, names) as (transport, configs):
        load_price_list(settings)
        models = ConfiguredModels(transport, ModelRegistry(configs))
        for name, config in configs.items():
            yield await _checked(models, name, config)


async def _checked(models: ConfiguredModels, name: str, config: ModelConfig) -> CheckedModel:
    loop = asyncio.get_running_loop()
    ask = Ask(
        chat_id=ChatId(UUID(int=0)),
        model=name,
        effort=None,
        history=(MessageBody(role=Role.USER, parts=(Text(QUESTION),)),),
        tools=(TOOL,),
    )
    stream = models.stream(ask)
    began_s = loop.time()
    first_part_s: float | None = None
    failure = status = request_id = None
    try:
        async with asyncio.timeout(ANSWER_S), stream:
            first_part_s = loop.time() - began_s
            async for _ in stream:
                pass
        status = 200
        request_id = None if stream.final is None else stream.final.response_id
    except ModelFailed as error:
        failure = f"{error.turn_error().sentence} ({error.kind.value}: {error.detail})"
        status = error.status if isinstance(error, ProviderError) else None
        request_id = error.request_id
    except TimeoutError:
        failure = f"No whole reply within {ANSWER_S:.0f} s."
    return CheckedModel(
        name=name,
        vendor=config.endpoint.vendor,
        model=config.facts.model,
        status=status,
        request_id=request_id,
        first_part_s=first_part_s,
        took_s=loop.time() - began_s,
        usage=stream.usage,
        cost_micros=models.cost_micros(name, stream.usage, _now()),
        failure=failure,
    )


async def try_model(models: Models, name: str) -> TriedModel:
    """Ask a model that this server has for one word. The failure has the provider's own words."""
    loop = asyncio.get_running_loop()
    ask = Ask(
        chat_id=ChatId(UUID(int=0)),
        model=name,
        effort=None,
        history=(MessageBody(role=Role.USER, parts=(Text(QUESTION),)),),
    )
    began_s = loop.time()
    failure: str | None = None
    try:
        async with asyncio.timeout(TRY_S), models.stream(ask) as stream:
            async for _ in stream:
                pass
    except ModelFailed as error:
        failure = f"{error.turn_error().sentence} ({error.kind.value}: {error.detail})"
    except TimeoutError:
        failure = f"No whole reply within {TRY_S:.0f} s."
    return TriedModel(loop.time() - began_s, failure)


async def discover_models(settings: Settings, names: Sequence[str]) -> AsyncIterator[Found]:
    """What the providers' lists say of these models; no names: of all of them."""
    async with _opened(settings, names) as (transport, configs):
        async for found in discover(transport, configs):
            yield found
