"""Every setting, read from the environment here and nowhere else.

`docs/reference/settings.md` is generated from these classes. The composition root turns them into
values; no other package sees them. All wrong settings are reported at once, a sentence for each.
"""

import os
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_settings import NoDecode, SettingsConfigDict, SettingsError

from holdfast.settings import limits
from holdfast.settings.approvals import ForeignText
from holdfast.settings.catalogue import DiscoverModels, PricesFile
from holdfast.settings.chat_texts import ChatTextsGiven, ChatTextsMode, TitleModel
from holdfast.settings.connections import ConnectionsMax, ConnectionsPerAddressMax, HeadSeconds
from holdfast.settings.database import DatabaseSettings
from holdfast.settings.models import ModelSettings
from holdfast.settings.models_file import models_in, with_keys, wrong_models
from holdfast.settings.oidc import OidcSettings
from holdfast.settings.providers import ProviderSettings
from holdfast.settings.replies import FinishRepliesSeconds
from holdfast.settings.secrets import MasterKeyCommand, MasterKeyFile
from holdfast.settings.templates import (
    CommandTemplateSettings,
    LocalTemplateSettings,
    TemplateSettings,
    templates_in,
)
from holdfast.settings.wrong import ENV_PREFIX, WrongSettings, env_name, sentences_of

BUS_SCHEMES: Final = ("redis", "rediss", "valkey", "valkeys")
HEARTBEATS_PER_LEASE: Final = 3
"""So that a lease outlives two lost heartbeats."""

LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


class ProcessRole(StrEnum):
    ALL = "all"
    API = "api"
    WORKER = "worker"


def _known_scheme(url: str) -> str:
    if url and urlsplit(url).scheme not in BUS_SCHEMES:
        raise ValueError(f"should be empty or begin with {', '.join(BUS_SCHEMES)}, and '://'")
    return url


def _plain_prefix(prefix: str) -> str:
    if not prefix or set("{}") & set(prefix):
        raise ValueError("should not be empty, and should have no braces")
    return prefix


def _origins(given: object) -> object:
    """Each as a browser says it: scheme and host, in small letters, nothing after them."""
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, list | tuple):
        return given
    origins: list[str] = []
    for each in cast("list[object]", listed):
        origin = str(each).strip().rstrip("/").lower()
        url = urlsplit(origin)
        if url.scheme not in ("http", "https") or f"{url.scheme}://{url.netloc}" != origin:
            raise ValueError("should be origins such as https://chat.example, with commas between")
        origins.append(origin)
    return tuple(origins)


_HOST: Final = re.compile(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?"
)


def _hosts(given: object) -> object:
    """Plain names, maybe with a port: they become part of a header and of a page."""
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, list | tuple):
        return given
    hosts = tuple(str(each).strip().lower() for each in cast("list[object]", listed))
    if not all(_HOST.fullmatch(host) for host in hosts):
        raise ValueError("should be hosts such as pictures.example, with commas between")
    return hosts


def _http(url: str) -> str:
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc):
        raise ValueError("should be empty or an http(s) address such as http://localhost:4318")
    return url


def _no_system_prompt() -> str | None:
    """An empty variable is as good as none for every other setting: here it asks for no prompt."""
    return os.environ.get(env_name("system_prompt"))  # noqa: TID251 - these are the settings


class Settings(DatabaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX,
        env_ignore_empty=True,  # as compose files leave what is not set
        extra="ignore",
        frozen=True,
        hide_input_in_errors=True,  # an address or a model may have a secret in it
    )

    # The bus.
    bus_url: Annotated[str, AfterValidator(_known_scheme)] = Field(
        default="",
        repr=False,
        description="The bus for hints and live parts. Empty: the database; otherwise the URL of"
        " a Redis or Valkey server, such as `redis://host:6379/0`. It must be the"
        " same for all replicas.",
    )
    bus_prefix: Annotated[str, AfterValidator(_plain_prefix)] = Field(
        default="holdfast",
        description="Prefix of every key and channel on Redis.",
    )

    # Secrets at rest.
    master_key_file: MasterKeyFile = None
    master_key_command: MasterKeyCommand = ()

    # The process.
    role: ProcessRole = Field(
        default=ProcessRole.ALL,
        description="What this process does: `api` serves people, `worker` drives turns, `all`"
        " both.",
    )
    worker_name: str = Field(
        default="",
        max_length=200,
        description="Name of this worker. Empty: the host name and the process id.",
    )
    worker_capacity: int = Field(
        default=600,
        ge=1,
        le=10_000,
        description="Maximum number of chats driven at once, per process; interrupts not counted.",
    )
    lease_ttl_s: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="Seconds without a heartbeat after which a worker's chats are taken over.",
    )
    heartbeat_every_s: float = Field(
        default=3.0, gt=0, description="Seconds between two heartbeats of a worker."
    )
    drain_s: float = Field(
        default=25.0,
        ge=1,
        le=3600,
        description="Seconds that a stopping worker may take to release its chats, and to wait"
        " for tools that must not run twice. Set the kill timeout of the process a"
        " little higher.",
    )
    finish_replies_s: FinishRepliesSeconds = 20.0

    # People.
    host: str = Field(default="127.0.0.1", description="Address that the HTTP server listens on.")
    port: int = Field(
        default=8080,
        ge=0,
        le=65535,
        description="Port that the HTTP server listens on. 0: any free port.",
    )
    origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = Field(
        default=(),
        description="Allowed browser origins, such as `https://chat.example`, separated by"
        " commas. A cookie of a sign-in is accepted from these origins only. Empty:"
        " localhost with the port.",
    )
    image_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_hosts)] = Field(
        default=(),
        description="Hosts from which the page loads images, over HTTPS: names such as"
        " `pictures.example`, separated by commas. A listed host learns who reads a chat, and a"
        " prompt injection can make the model send it more. Images on other hosts are shown as"
        " links.",
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Proxies whose `X-Forwarded-For` is trusted: addresses, comma-separated.",
    )
    stalled_s: float = Field(
        default=60.0,
        ge=1,
        le=3600,
        description="Seconds after which the connection of a client that reads nothing is"
        " closed. The client may reconnect and resume without loss. Linux only.",
    )
    connections_max: ConnectionsMax = 20_000
    connections_per_address_max: ConnectionsPerAddressMax = 1_000
    head_s: HeadSeconds = 15.0
    rate_per_s: limits.RatePerSecond = 50.0
    rate_burst: limits.RateBurst = 500
    stranger_rate_per_s: limits.StrangerRatePerSecond = 20.0
    stranger_rate_burst: limits.StrangerRateBurst = 400
    requests_max: limits.RequestsMax = 500
    statements_per_user_max: limits.StatementsPerUserMax = 3
    list_s: limits.ListSeconds = 2.0
    chats_per_user_max: limits.ChatsPerUserMax = 100_000
    bytes_per_user_max: limits.BytesPerUserMax = 0
    streams_per_user_max: limits.StreamsPerUserMax = 100
    streams_per_chat_max: limits.StreamsPerChatMax = 10
    admin_email: str = Field(
        default="",
        description="On an empty database, `holdfast serve` creates the first admin with this"
        " address. Or use `holdfast admin init`.",
    )
    admin_password: SecretStr | None = Field(
        default=None, description="The password of that admin; 12 characters or more."
    )
    oidc: tuple[OidcSettings, ...] = Field(
        default=(),
        description="Identity providers to log in through, as a JSON list; see below.",
    )
    organisation: str = Field(
        default="Holdfast",
        min_length=1,
        max_length=200,
        description="Name of the first organisation.",
    )

    # Turns and models.
    attempts_max: int = Field(
        default=10,
        ge=1,
        le=10,
        description="Maximum number of attempts at one step; each takeover counts as one.",
    )
    steps_max: int = Field(
        default=250,
        ge=1,
        le=10_000,
        description="Model replies after a user message until the turn pauses. A retry lets it go "
        "on for as many more.",
    )
    retry_first_delay_s: float = Field(
        default=1.0,
        gt=0,
        description="Seconds before the second attempt; doubled for each further one.",
    )
    retry_delay_s_max: float = Field(
        default=60.0,
        gt=0,
        description="Maximum backoff, in seconds; a longer `Retry-After` is respected.",
    )
    first_part_s: float = Field(
        default=120.0,
        gt=0,
        description="Seconds until the first part of a reply, or the model's thinking, begins; a"
        " model may override it.",
    )
    silence_s: float = Field(
        default=120.0,
        gt=0,
        description="Seconds without any data in a reply before the attempt fails.",
    )
    progress_s: float = Field(
        default=300.0,
        gt=0,
        description="Seconds with only keep-alive events in a reply before the attempt fails.",
    )
    thinking_s: float = Field(
        default=900.0,
        gt=0,
        description="Seconds that a model may think without showing anything before the attempt"
        " fails; instead of `silence_s` and `progress_s` while it thinks.",
    )
    approvals: str = Field(
        default="",
        description="Which tool calls run, wait for approval, or never run: a JSON object, or the"
        " path of a JSON or TOML file with it; see docs/how-to/approvals.md. Empty: all run.",
    )
    foreign_text: ForeignText = "ask"
    approval_wait_s: float = Field(
        default=7 * 24 * 3600.0, gt=0, description="Seconds that a call waits for approval."
    )
    providers: tuple[ProviderSettings, ...] = Field(
        default=(),
        description="Where models are served, as a JSON list; see below.",
    )
    models: tuple[ModelSettings, ...] = Field(
        default=(),
        description="The models that chats may use, as a JSON list; see below.",
    )
    _beside_file: tuple[ProviderSettings, ...] | None = PrivateAttr(default=None)
    """The providers that are not of `models_file`; None: it was not read yet."""
    models_file: Path | None = Field(
        default=None,
        description="File with that list, or with an object of both lists, `providers` and"
        " `models`; safer for keys than the environment. Read again when it changes, and at"
        " SIGHUP.",
    )
    default_model: str = Field(
        default="",
        description="Name of the default model. Empty: the first of the list.",
    )
    discover_models: DiscoverModels = True
    chat_texts: ChatTextsGiven = ChatTextsMode.ALL
    title_model: TitleModel = ""
    prices_file: PricesFile = None
    web_fetch: bool = Field(
        default=False,
        description="Offers models the tool `web_fetch`, by which the server reads public web pages"
        " for them. Private addresses are refused. A page can carry instructions against the user,"
        " and an address can carry data out: allow it where both are acceptable.",
    )
    system_prompt: str | None = Field(
        default_factory=_no_system_prompt,
        description="System prompt for all chats, in place of the built-in one. Set but empty:"
        " none. An organisation's instructions are added to it.",
    )

    # Workspaces.
    templates: tuple[TemplateSettings, ...] = Field(
        default=(),
        description="Workspace templates, as a JSON list; see below. The first is the default."
        " Empty: chats have no workspaces.",
    )
    templates_file: Path | None = Field(default=None, description="File with that list.")
    workspaces_folder: Path | None = Field(
        default=None,
        description="Folder for the workspaces of `local` templates.",
    )
    workspaces_per_user_max: int = Field(
        default=100,
        ge=1,
        le=1_000_000,
        description="Maximum number of workspaces per user, stopped ones included. At the limit"
        " no workspace is created (`too_many_workspaces`).",
    )
    workspace_secret: Annotated[SecretStr, Field(min_length=32)] | None = Field(
        default=None,
        description="Secret from which the tokens of agents reached over a network are derived:"
        " 32 characters or more, the same on all replicas. Required for `command`"
        " templates.",
    )

    # What operators see.
    log_level: LogLevel = Field(default="INFO", description="Minimum level of the log lines.")
    log_format: Literal["json", "console"] = Field(
        default="json",
        description="`json`: one object per line; `console`: plain text for a terminal.",
    )
    metrics_host: str = Field(
        default="127.0.0.1", description="Address that a worker serves its metrics on."
    )
    metrics_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="Port that a worker serves its Prometheus metrics on. 0: not served.",
    )
    otlp_endpoint: Annotated[str, AfterValidator(_http)] = Field(
        default="",
        description="Endpoint for traces, OTLP over HTTP: `http://localhost:4318`. Empty: no"
        " traces. Needs `holdfast[otlp]`.",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        wrong = tuple(self._misfits())
        if wrong:
            raise WrongSettings(*wrong)
        return self

    def _misfits(self) -> Iterator[str]:
        yield from self.database_misfits()
        if self.heartbeat_every_s * HEARTBEATS_PER_LEASE >= self.lease_ttl_s:
            yield (
                f"{env_name('heartbeat_every_s')} must be less than a third of"
                f" {env_name('lease_ttl_s')} ({self.lease_ttl_s:g}): a worker must survive two"
                " lost heartbeats."
            )
        if self.retry_first_delay_s > self.retry_delay_s_max:
            yield (
                f"{env_name('retry_first_delay_s')} must not be more than"
                f" {env_name('retry_delay_s_max')} ({self.retry_delay_s_max:g})."
            )
        if bool(self.admin_email) != (self.admin_password is not None):
            both = f"{env_name('admin_email')} and {env_name('admin_password')}"
            yield f"Set both {both}, or neither."
        if self.oidc and not self.origins:
            yield (
                f"{env_name('oidc')} needs {env_name('origins')}: providers send people back to the"
                " first of them."
            )
        if len({provider.name for provider in self.oidc}) < len(self.oidc):
            yield f"{env_name('oidc')}: two providers have one name."
        if self.master_key_file is not None and self.master_key_command:
            both = f"{env_name('master_key_file')} or {env_name('master_key_command')}"
            yield f"Set either {both}, not both."
        for listed in ("models", "templates"):
            file = f"{listed}_file"
            if getattr(self, listed) and getattr(self, file) is not None:
                yield f"Set either {env_name(listed)} or {env_name(file)}, not both."

    @property
    def own_origins(self) -> frozenset[str]:
        if self.origins:
            return frozenset(self.origins)
        return frozenset(f"http://{host}:{self.port}" for host in ("localhost", "127.0.0.1"))

    @property
    def redis_url(self) -> str:
        """The bus's address in the words of the driver, which knows no Valkey; empty: no Redis."""
        for ours, theirs in (("valkeys://", "rediss://"), ("valkey://", "redis://")):
            if self.bus_url.startswith(ours):
                return theirs + self.bus_url.removeprefix(ours)
        return self.bus_url

    def with_models_file(self) -> Self:
        """With the file as it is now; raises `WrongSettings`."""
        if self.models_file is None:
            return self
        beside = self.providers if self._beside_file is None else self._beside_file
        found = models_in(self.models_file)
        update = {"models": found.models, "providers": (*beside, *found.providers)}
        read = self.model_copy(update=update)
        read._beside_file = beside
        return read

    def secrets(self) -> frozenset[str]:
        """What must never be seen in a log."""
        urls = (str(self.database_url), self.direct_url, self.bus_url)
        passwords = [urlsplit(url).password for url in urls]
        keys = [secret for model in self.models for secret in model.secrets()]
        keys += [secret for provider in self.providers for secret in provider.secrets()]
        keys += [
            provider.client_secret.get_secret_value()
            for provider in self.oidc
            if provider.client_secret is not None
        ]
        for secret in (self.admin_password, self.workspace_secret):
            if secret is not None:
                keys.append(secret.get_secret_value())
        return frozenset(filter(None, (*passwords, *(unquote(p) for p in passwords if p), *keys)))


def read_settings(**given: Any) -> Settings:  # noqa: ANN401 - Settings checks them
    """The settings of this process; raises `WrongSettings` with all that is wrong."""
    try:
        settings = Settings(**given)
        settings = settings.with_models_file()
        if settings.templates_file is not None:
            templates = templates_in(settings.templates_file)
            settings = settings.model_copy(update={"templates": templates, "templates_file": None})
    except ValidationError as error:
        raise WrongSettings(*sentences_of(error)) from None  # its cause would show what was given
    except SettingsError as error:
        listed = ("oidc", "templates", "providers", "master_key_command")
        field = next((name for name in listed if name in str(error)), "models")
        wrong = f"{env_name(field)} should be a JSON list of objects."
        raise WrongSettings(wrong) from None
    return _checked(settings, *_wrong_templates(settings))


def reread_models(settings: Settings) -> Settings:
    """The settings with the models file as it is now; raises `WrongSettings`."""
    return _checked(settings.with_models_file())


def _checked(settings: Settings, *more: str) -> Settings:
    fits = wrong_models(settings.providers, settings.models, settings.default_model)
    if wrong := (*fits, *more):
        raise WrongSettings(*wrong)
    return settings.model_copy(update={"providers": with_keys(settings.providers)})


def _wrong_templates(settings: Settings) -> Iterator[str]:
    names = [template.name for template in settings.templates]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        yield f"{env_name('templates')}: two templates are named {', '.join(doubled)}."
    local = any(isinstance(each, LocalTemplateSettings) for each in settings.templates)
    if local and settings.workspaces_folder is None:
        yield f"{env_name('templates')} has a local template: set {env_name('workspaces_folder')}."
    command = any(isinstance(each, CommandTemplateSettings) for each in settings.templates)
    if command and settings.workspace_secret is None:
        yield (
            f"{env_name('templates')} has a command template: set {env_name('workspace_secret')} to"
            " 32 random characters or more, the same on all replicas."
        )
