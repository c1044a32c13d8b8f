"""Settings become values: each part gets options of its own, and none of them sees the settings."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.adapters.postgres.pool import PoolOptions
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.providers.price_file import PriceFileWrong, use_price_file
from holdfast.adapters.providers.prices import load_prices
from holdfast.adapters.providers.registry import ModelConfig
from holdfast.adapters.providers.stream import Deadlines
from holdfast.adapters.providers.types import Endpoint
from holdfast.bootstrap.approvals import approval_policy
from holdfast.bootstrap.providers import (
    endpoints_of,
    model_cache,
    model_facts,
    model_price,
    model_tools,
    provider_endpoint,
)
from holdfast.domain.approvals import RuleAction
from holdfast.domain.parts import Need
from holdfast.domain.provider_tools import WEB_TOOLS
from holdfast.settings import ModelSettings, ProcessRole, Settings, WrongSettings, env_name
from holdfast.settings.chat_texts import ChatTextsMode
from holdfast.stream.options import HubOptions, WatchOptions
from holdfast.turn.default_prompt import default_prompt
from holdfast.turn.options import AWAIT_S, ToolOptions, TurnOptions
from holdfast.turn.retry import RetryPolicy
from holdfast.turn.texts.maker import ChatTextOptions
from holdfast.worker.options import LeaseTimings, WorkerOptions

HANDOVER_SHARE: Final = 0.8
"""Of the time for draining: what is left is for letting go of the chats, one statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What the graph is built with."""

    serves: bool = True
    """People may follow chats here."""
    drives: bool = True
    """Turns are driven here."""
    hub: HubOptions = field(default_factory=HubOptions)
    watch: WatchOptions = field(default_factory=WatchOptions)
    turn: TurnOptions = field(default_factory=TurnOptions)
    worker: WorkerOptions = field(default_factory=WorkerOptions)
    texts: ChatTextOptions = field(default_factory=ChatTextOptions)

    def __post_init__(self) -> None:
        assert self.serves or self.drives, "a server that does nothing"
        assert self.turn.tools.handover_s <= self.worker.drain_s


def server_options(settings: Settings) -> ServerOptions:
    return ServerOptions(
        serves=settings.role is not ProcessRole.WORKER,
        drives=settings.role is not ProcessRole.API,
        turn=_turn_options(settings),
        worker=_worker_options(settings),
        texts=_text_options(settings),
    )


def pool_options(settings: Settings) -> PoolOptions:
    return PoolOptions(
        connections_max=settings.database_connections_max,
        command_timeout_s=settings.database_command_timeout_s,
        wait_s=settings.database_command_timeout_s,
        pooler=settings.database_pooler,
        statements_per_person=settings.statements_per_user_max,
    )


def system_sections(settings: Settings) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The system prompt, and what models on one wire are told beside it. Both are built in, unless
    the operator has set a prompt."""
    given = settings.system_prompt
    if given is not None:
        return ((given,) if given else (), {})
    builtin = default_prompt(workspaces=bool(settings.templates))
    return ((builtin.text,), builtin.by_wire)


def _turn_options(settings: Settings) -> TurnOptions:
    system, system_by_wire = system_sections(settings)
    return TurnOptions(
        system=system,
        system_by_wire=system_by_wire,
        replies_max=settings.steps_max,
        retry=RetryPolicy(
            attempts_max=settings.attempts_max,
            first_delay_s=settings.retry_first_delay_s,
            delay_s_max=settings.retry_delay_s_max,
        ),
        tools=ToolOptions(handover_s=settings.drain_s * HANDOVER_SHARE),
        approvals=approval_policy(settings),
        foreign_text=RuleAction(settings.foreign_text),
        await_s=AWAIT_S | {Need.APPROVAL: settings.approval_wait_s},
        lease_s=settings.lease_ttl_s,
    )


def _worker_options(settings: Settings) -> WorkerOptions:
    every_s = settings.heartbeat_every_s
    usual = LeaseTimings()
    return WorkerOptions(
        name=settings.worker_name or f"{socket.gethostname()}:{os.getpid()}",
        capacity=settings.worker_capacity,
        lease=LeaseTimings(
            ttl_s=settings.lease_ttl_s,
            heartbeat_every_s=every_s,
            heartbeat_timeout_s=min(usual.heartbeat_timeout_s, every_s),
            retry_s=min(usual.retry_s, every_s),
        ),
        drain_s=settings.drain_s,
        finish_replies_s=min(settings.finish_replies_s, settings.drain_s * HANDOVER_SHARE),
    )


def _text_options(settings: Settings) -> ChatTextOptions:
    mode = settings.chat_texts
    return ChatTextOptions(
        titles=mode is not ChatTextsMode.OFF,
        labels=mode is ChatTextsMode.ALL,
        model=settings.title_model or None,
    )


def model_configs(settings: Settings) -> dict[str, ModelConfig]:
    """The models that chats may use; raises `WrongSettings` with all that is wrong with them."""
    configs: dict[str, ModelConfig] = {}
    wrong: list[str] = []
    endpoints = endpoints_of(
        settings.providers,
        lambda number, name, error: wrong.append(
            f"{env_name('providers')}[{number}] ({name}): {error}."
        ),
    )
    for number, model in enumerate(settings.models):
        if model.provider and model.provider not in endpoints:
            continue  # what is wrong with its provider is said above
        try:
            endpoint = endpoints.get(model.provider) or provider_endpoint(model.own_provider())
            configs[model.name] = model_config_of(model, endpoint, settings)
        except ValueError as error:
            wrong.append(f"{env_name('models')}[{number}] ({model.name}): {error}.")
    if not settings.models and not may_add_models(settings) and drives(settings):
        wrong.append(f"{env_name('models')} names no model: who drives turns needs one.")
    if wrong:
        raise WrongSettings(*wrong)
    return configs


def drives(settings: Settings) -> bool:
    return settings.role is not ProcessRole.API


def may_add_models(settings: Settings) -> bool:
    """Whether admins can add models with keys, so that a server without a models file is of use."""
    return settings.master_key_file is not None or bool(settings.master_key_command)


def load_price_list(settings: Settings) -> None:
    """Read all prices now, from the operator's file if there is one; raises `WrongSettings`."""
    if settings.prices_file is not None:
        try:
            use_price_file(settings.prices_file)
        except PriceFileWrong as error:
            raise WrongSettings(f"{env_name('prices_file')}: {error}.") from None
    load_prices()


def default_model(settings: Settings) -> str:
    return settings.default_model or next((model.name for model in settings.models), "")


def model_config_of(model: ModelSettings, endpoint: Endpoint, settings: Settings) -> ModelConfig:
    facts = model_facts(model, VENDORS[endpoint.vendor])
    return ModelConfig(
        endpoint=endpoint,
        facts=facts,
        deadlines=Deadlines(
            first_part_s=model.first_part_s or settings.first_part_s,
            silence_s=model.silence_s or settings.silence_s,
            progress_s=model.progress_s or settings.progress_s,
            thinking_s=model.thinking_s or settings.thinking_s,
        ),
        price=model_price(model),
        temperature=model.temperature,
        cache=model_cache(model),
        effort=model.effort,
        output_max=model.output_max,
        extra=model.extra,
        service_tier=model.service_tier or None,
        provider_tools=model_tools(model, facts, endpoint),
        web=model.web and bool({tool.name for tool in model.provider_tools} & WEB_TOOLS),
        settled=frozenset() if model.facts is None else frozenset(model.facts.model_fields_set),
        fallback=model.fallback,
        fallback_on_usage_limit=model.fallback_on_usage_limit,
    )
