"""Settings become values: each part gets options of its own, and none of them sees the settings."""

import os
import re
import socket
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.adapters.postgres.pool import PoolOptions
from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS, AwsKeys, endpoint_of
from holdfast.adapters.providers.models import ModelConfig
from holdfast.adapters.providers.stream import Deadlines
from holdfast.bootstrap.approvals import approval_policy
from holdfast.domain.parts import Need
from holdfast.settings import ModelSettings, ProcessRole, Settings, WrongSettings, env_name
from holdfast.stream.options import HubOptions, WatchOptions
from holdfast.turn.options import AWAIT_S, ToolOptions, TurnOptions
from holdfast.turn.retry import RetryPolicy
from holdfast.worker.options import LeaseTimings, WorkerOptions

_PLACE: Final = re.compile(r"\{(\w+)\}")
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

    def __post_init__(self) -> None:
        assert self.serves or self.drives, "a server that does nothing"
        assert self.turn.tools.handover_s <= self.worker.drain_s


def server_options(settings: Settings) -> ServerOptions:
    return ServerOptions(
        serves=settings.role is not ProcessRole.WORKER,
        drives=settings.role is not ProcessRole.API,
        turn=_turn_options(settings),
        worker=_worker_options(settings),
    )


def pool_options(settings: Settings) -> PoolOptions:
    return PoolOptions(
        connections_max=settings.database_connections_max,
        command_timeout_s=settings.database_command_timeout_s,
        wait_s=settings.database_command_timeout_s,
        pooler=settings.database_pooler,
        statements_per_person=settings.statements_per_user_max,
    )


def _turn_options(settings: Settings) -> TurnOptions:
    return TurnOptions(
        system=(settings.system_prompt,) if settings.system_prompt else (),
        default_model=default_model(settings) or None,
        replies_max=settings.steps_max,
        retry=RetryPolicy(
            attempts_max=settings.attempts_max,
            first_delay_s=settings.retry_first_delay_s,
            delay_s_max=settings.retry_delay_s_max,
        ),
        tools=ToolOptions(handover_s=settings.drain_s * HANDOVER_SHARE),
        approvals=approval_policy(settings),
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


def model_configs(settings: Settings) -> dict[str, ModelConfig]:
    """The models that chats may use; raises `WrongSettings` with all that is wrong with them."""
    configs: dict[str, ModelConfig] = {}
    wrong: list[str] = []
    for number, model in enumerate(settings.models):
        try:
            configs[model.name] = _config(model, settings)
        except ValueError as error:
            wrong.append(f"{env_name('models')}[{number}] ({model.name}): {error}.")
    if not settings.models and settings.role is not ProcessRole.API:
        wrong.append(f"{env_name('models')} names no model: who drives turns needs one.")
    if wrong:
        raise WrongSettings(*wrong)
    return configs


def default_model(settings: Settings) -> str:
    return settings.default_model or next((model.name for model in settings.models), "")


def _config(model: ModelSettings, settings: Settings) -> ModelConfig:
    vendor = VENDORS.get(model.vendor)
    if vendor is None:
        raise ValueError(f"no vendor is named {model.vendor!r}; there are {', '.join(VENDORS)}")
    if model.aws is not None and model.api_key is not None:
        raise ValueError("set either api_key or aws, not both")
    needed = set(_PLACE.findall(vendor.base_url)) if not model.base_url else set[str]()
    if unknown := sorted(model.values.keys() - needed):
        raise ValueError(f"the address of {vendor.name} has no place for {', '.join(unknown)}")
    places: dict[str, Any] = model.values  # its keys are checked: none is a parameter's name
    endpoint = endpoint_of(vendor, _credential(model), base_url=model.base_url or None, **places)
    return ModelConfig(
        endpoint=endpoint,
        facts=facts_of(vendor, model.model_name),
        deadlines=Deadlines(
            first_part_s=model.first_part_s or settings.first_part_s,
            silence_s=model.silence_s or settings.silence_s,
            progress_s=model.progress_s or settings.progress_s,
        ),
        fallback=model.fallback,
        fallback_on_usage_limit=model.fallback_on_usage_limit,
    )


def _credential(model: ModelSettings) -> str | AwsKeys | None:
    if model.aws is not None:
        token = model.aws.token
        return AwsKeys(
            model.aws.access_key,
            model.aws.secret.get_secret_value(),
            model.aws.region,
            None if token is None else token.get_secret_value(),
        )
    return None if model.api_key is None else model.api_key.get_secret_value()
