"""The registry of settings: one declaration gives everything that other code needs to know of it.

    Setting ──▶ decode, encode     the stored row
            ──▶ request_fields     what the settings may be
            ──▶ patch_fields       what `PATCH /organization/settings` accepts
            ──▶ response_fields    what `GET /organization/settings` returns
            ──▶ audit_change       what the audit log says of a change: before and after
            ──▶ stops              whether a change forbids something from the next attempt on
            ──▶ help, bounds       the reference

A name that is not declared stays unread: another version of the server has set it.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Final, Generic, TypeVar, Union, cast, get_args, get_origin

import orjson
from pydantic import Field, TypeAdapter

from holdfast.domain.audit import Detail
from holdfast.domain.parts import JsonObject, JsonValue

_LOG: Final = logging.getLogger(__name__)
T = TypeVar("T")


class SettingScope(StrEnum):
    """The narrowest place that may set it; every wider one may, too. From wide to narrow."""

    DEPLOYMENT = "deployment"
    ORGANISATION = "organisation"
    USER = "user"

    def includes(self, wider: "SettingScope") -> bool:
        order = list(SettingScope)
        return order.index(wider) <= order.index(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting(Generic[T]):
    name: str
    scope: SettingScope
    accepts: Any
    """The type of a value in a request, with its bounds, as pydantic reads it."""
    default: T
    """If no scope sets it. None: as the settings of the process say."""
    if_unreadable: T
    """Instead of a stored value that this version cannot read. The server's limits still hold."""
    help: str
    """One sentence for the reference and the API: what it limits, its unit."""
    encoder: Callable[[T], JsonValue] | None = None
    decoder: Callable[[Any], T] | None = None
    """The inverse of `encoder`. Bounds are for requests: a stored value may be older than they."""
    audited: Callable[[T], Detail] | None = None
    """What the audit log says of a value; without it, the value itself."""
    is_secret: bool = False
    """Responses, the audit log and logs say only whether it is set. Rows are plain JSON."""
    stops: bool = False
    """Whether a change is a hard stop: no attempt begins under what was set before (ADR 0056)."""

    @cached_property
    def plain_type(self) -> Any:  # noqa: ANN401  (a type, for pydantic)
        """The type of a value, without bounds."""
        return _without_bounds(self.accepts)

    def encode(self, value: T) -> JsonValue:
        if self.encoder is not None:
            return self.encoder(value)
        return self._adapter.dump_python(value, mode="json")

    def decode(self, stored: JsonValue) -> T:
        try:
            if self.decoder is not None:
                return self.decoder(stored)
            return self._adapter.validate_python(stored)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            _LOG.warning(
                "settings: stored %s cannot be read; %s applies: %s",
                self.name,
                "the safe choice" if self.is_secret else self.encode(self.if_unreadable),
                type(error).__name__ if self.is_secret else error,
            )
            return self.if_unreadable

    def show(self, value: T) -> JsonObject:
        """What a response says."""
        return self._only_whether(value) if self.is_secret else {self.name: self.encode(value)}

    def audit_detail(self, value: T) -> Detail:
        if self.is_secret:
            return self._only_whether(value)
        if self.audited is not None:
            return self.audited(value)
        return cast("Detail", {self.name: value})

    def _only_whether(self, value: T) -> dict[str, bool]:
        return {f"{self.name}_is_set": value != self.default}

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self.plain_type)


@dataclass(frozen=True, slots=True)
class SettingValues:
    """What one scope sets, decoded. None, like a name that is missing, means: not set here."""

    values: Mapping[str, object] = field(default_factory=dict[str, object])

    def of(self, setting: Setting[T]) -> T:
        return look_up(setting, self)


def look_up(setting: Setting[T], *layers: SettingValues) -> T:
    """The value of the first layer that sets it: the user's, the organisation's, the
    deployment's, and then the default."""
    for layer in layers:
        value = layer.values.get(setting.name)
        if value is not None:
            return cast("T", value)
    return setting.default


class Registry:
    def __init__(self, settings: Iterable[Setting[Any]]) -> None:
        self._settings = tuple(settings)
        names = [setting.name for setting in self._settings]
        assert len(set(names)) == len(names), "a setting is declared once"

    def __iter__(self) -> Iterator[Setting[Any]]:
        return iter(self._settings)

    def in_scope(self, scope: SettingScope) -> list[Setting[Any]]:
        """What may be set there."""
        return [setting for setting in self if setting.scope.includes(scope)]

    def decode(self, scope: SettingScope, stored: Mapping[str, JsonValue]) -> SettingValues:
        return SettingValues(
            {
                setting.name: setting.decode(stored[setting.name])
                for setting in self.in_scope(scope)
                if setting.name in stored
            }
        )

    def encode(self, scope: SettingScope, values: SettingValues) -> JsonObject:
        return {
            setting.name: setting.encode(values.of(setting)) for setting in self.in_scope(scope)
        }

    def show(self, scope: SettingScope, values: SettingValues) -> JsonObject:
        """The body of a response."""
        shown: dict[str, JsonValue] = {}
        for setting in self.in_scope(scope):
            shown |= setting.show(values.of(setting))
        return shown

    def audit_detail(self, scope: SettingScope, values: SettingValues) -> Detail:
        detail: dict[str, Any] = {}
        for setting in self.in_scope(scope):
            detail |= setting.audit_detail(values.of(setting))
        return detail

    def differing(
        self, scope: SettingScope, before: SettingValues, after: SettingValues
    ) -> list[Setting[Any]]:
        return [each for each in self.in_scope(scope) if before.of(each) != after.of(each)]

    def audit_change(
        self, changed: Iterable[Setting[Any]], before: SettingValues, after: SettingValues
    ) -> Detail:
        """What was changed, as JSON text, as the audit log has it of providers and models."""
        texts: dict[str, str] = {}
        for name, values in (("before", before), ("after", after)):
            detail: dict[str, Any] = {}
            for setting in changed:
                detail |= setting.audit_detail(values.of(setting))
            texts[name] = orjson.dumps(detail, option=orjson.OPT_SORT_KEYS).decode()
        return texts

    def request_fields(self, scope: SettingScope) -> dict[str, Any]:
        """For `pydantic.create_model`: what may be left out has its default."""
        return {
            setting.name: (
                setting.accepts,
                Field(default=setting.default, description=setting.help),
            )
            for setting in self.in_scope(scope)
        }

    def patch_fields(self, scope: SettingScope) -> dict[str, Any]:
        """For `pydantic.create_model`: what is left out stays, null unsets."""
        return {
            setting.name: (
                setting.accepts | None,
                Field(default=None, description=setting.help),
            )
            for setting in self.in_scope(scope)
        }

    def response_fields(self, scope: SettingScope) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for setting in self.in_scope(scope):
            if setting.is_secret:
                about = f"Whether it is set. {setting.help}"
                fields[f"{setting.name}_is_set"] = (bool, Field(description=about))
            else:
                fields[setting.name] = (setting.plain_type, Field(description=setting.help))
        return fields


def _without_bounds(annotation: Any) -> Any:  # noqa: ANN401
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _without_bounds(arguments[0])
    if not arguments:
        return annotation
    plain = tuple(map(_without_bounds, arguments))
    return Union[plain] if origin in {Union, UnionType} else origin[plain]  # noqa: UP007
