"""Rows of providers and models become the records that the models file has, and those become models
of this process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from pydantic import ValidationError

from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.adapters.providers.types import Endpoint
from holdfast.admin.catalogue.added import AddedModel, OpenedProvider
from holdfast.bootstrap.options import model_config_of
from holdfast.bootstrap.providers import provider_endpoint
from holdfast.domain.errors import NameTaken
from holdfast.domain.ids import UserId
from holdfast.domain.parts import JsonObject
from holdfast.ports.catalogue import ModelRow, ModelState
from holdfast.settings import ModelSettings, Settings
from holdfast.settings.providers import ProviderSettings
from holdfast.settings.wrong import sentences_of
from holdfast.telemetry.logs import LEARNED

SOURCE: Final = "database"
OF_THE_SERVER: Final = frozenset({"key_file", "key_env", "token"})
"""Fields of the models file that read files, variables and programs of the server: an admin of an
organisation must not."""
SHORT_FORM: Final = frozenset({"provider", "vendor", "base_url", "api_key", "aws", "values"})


class AddedModelBuilder:
    def __init__(self, registry: ModelRegistry, settings: Settings) -> None:
        self._registry = registry
        self._settings = settings

    @property
    def _file_names(self) -> frozenset[str]:
        return self._registry.names_of("settings")

    @property
    def has_file_models(self) -> bool:
        return bool(self._file_names)

    @property
    def file_models(self) -> Sequence[str]:
        return [name for name in self._registry.names() if name in self._file_names]

    def build(self, models: Sequence[AddedModel]) -> Mapping[str, ModelState]:
        states: dict[str, ModelState] = {}
        configs: dict[str, ModelConfig] = {}
        for each in models:
            state, config = self._built(each)
            states[each.row.name] = state
            if config is not None:
                configs[each.row.name] = config
        self._registry.replace(configs, source=SOURCE)
        return states

    def _built(self, added: AddedModel) -> tuple[ModelState, ModelConfig | None]:
        row, provider = added.row, added.provider
        if row.name in self._file_names:
            return ModelState.NAME_IN_FILE, None
        if not row.is_enabled:
            return ModelState.DISABLED, None
        if not provider.row.is_enabled:
            return ModelState.PROVIDER_DISABLED, None
        if provider.secrets is None:
            return ModelState.KEY_UNREADABLE, None
        try:
            return ModelState.AVAILABLE, self._config(row, provider)
        except ValueError:
            return (ModelState.WRONG_SETTINGS if provider.secrets else ModelState.NO_KEY), None

    def check_provider(self, name: str, record: JsonObject, secrets: JsonObject) -> None:
        provider = _provider(name, record, secrets)
        if secrets:
            provider_endpoint(provider)
        # Without a secret it may be incomplete: its models say then that there is no key.

    def check_model(self, row: ModelRow, provider: OpenedProvider) -> None:
        if row.name in self._file_names:
            raise NameTaken(row.name)
        if provider.secrets:
            self._config(row, provider)
        else:
            _model(row)

    def endpoint_of(self, provider: OpenedProvider) -> Endpoint:
        """`ValueError` says what is wrong."""
        given = _provider(provider.row.name, provider.row.record, provider.secrets or {})
        LEARNED.learn(*given.secrets())
        return provider_endpoint(given)

    def host_of(self, record: JsonObject) -> str:
        """Whatever decides where requests go."""
        url = urlsplit(str(record.get("base_url", "")))
        values = orjson.dumps(record.get("values", {}), option=orjson.OPT_SORT_KEYS).decode()
        return f"{record.get('vendor')} {url.scheme}://{url.netloc} {values}"

    def _config(self, row: ModelRow, provider: OpenedProvider) -> ModelConfig:
        config = model_config_of(_model(row), self.endpoint_of(provider), self._settings)
        if not provider.user_keys:
            return config
        return replace(config, user_endpoint=UserEndpoints(self, provider).find)


class UserEndpoints:
    """A provider with the keys of users; each is made when it is first needed."""

    def __init__(self, builder: AddedModelBuilder, provider: OpenedProvider) -> None:
        self._builder = builder
        self._provider = provider
        self._made: dict[UserId, Endpoint | None] = {}

    def find(self, user_id: UserId) -> Endpoint | None:
        """None: the user has no key, or it does not fit the settings of the provider."""
        key = self._provider.user_keys.get(user_id)
        if key is None:
            return None
        if user_id not in self._made:
            secrets = {**(self._provider.secrets or {}), "key": key}
            try:
                made = self._builder.endpoint_of(replace(self._provider, secrets=secrets))
            except ValueError:
                made = None
            self._made[user_id] = made
        return self._made[user_id]


def _provider(name: str, record: JsonObject, secrets: JsonObject) -> ProviderSettings:
    if refused := sorted(OF_THE_SERVER & record.keys()):
        raise ValueError(f"{', '.join(refused)}: only the models file of the server may have it")
    return _validated(ProviderSettings, {**record, **secrets, "name": name})


def _model(row: ModelRow) -> ModelSettings:
    if refused := sorted(SHORT_FORM & row.record.keys()):
        raise ValueError(f"{', '.join(refused)}: a field of the provider")
    # The provider is a row; the file's check of its name does not apply.
    return _validated(ModelSettings, {**row.record, "name": row.name, "provider": "added"})


def _validated(kind: Any, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 - of that kind
    try:
        return kind.model_validate_json(orjson.dumps(dict(given)))
    except ValidationError as error:
        raise ValueError(" ".join(sentences_of(error, "")).removesuffix(".")) from None
