"""Small shapes that several wires share: schemas, efforts, bodies, and the guard around a codec."""

from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar, cast

import orjson

from holdfast.adapters.providers.errors import protocol
from holdfast.adapters.providers.reply import is_shallow
from holdfast.adapters.providers.types import Call, Decoder, Object, ThinkingStyle
from holdfast.domain.messages import EFFORTS
from holdfast.domain.parts import JsonObject, ToolCall
from holdfast.ports.models import Event

_NOT_NULL: Final = ("properties", "required")
_ELSEWHERE: Final[Mapping[str, str]] = {
    "temperature": "generationConfig.temperature",
    "thinking": "generationConfig.thinkingConfig",
}
"""Where Gemini has a setting that the other wires have at the top."""

P = ParamSpec("P")
R = TypeVar("R")


def schema_of(schema: JsonObject) -> Object:
    """A tool's parameters as an object schema without null lists (L36)."""
    # Nearly all schemas are clean, and looking is much cheaper than rebuilding.
    clean = b"null" not in orjson.dumps(schema, default=_plain)
    return {
        "type": "object",
        "properties": {},
        **(schema if clean else cast(Object, _clean(schema))),
    }


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        return {k: _clean(v) for k, v in items if not (v is None and k in _NOT_NULL)}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in cast(list[Any], value)]
    return value


def effort_of(call: Call) -> str | None:
    """The asked effort, or the next lower one that the model knows, or its lowest."""
    allowed = call.model.efforts
    asked = call.effort
    if asked is None or call.model.thinking is ThinkingStyle.NONE or not allowed:
        return None
    if asked in allowed or asked not in EFFORTS:
        return asked if asked in allowed else None
    lower = [effort for effort in allowed if EFFORTS.index(effort) < EFFORTS.index(asked)]
    return lower[-1] if lower else allowed[0]


def will_think(call: Call) -> bool:
    """Whether the model thinks before it answers this call, as far as we know."""
    effort = effort_of(call)
    return call.model.thinks if effort is None else effort != "none"


def arguments_of(call: ToolCall) -> JsonObject:
    """A stored call's arguments; what is no object, from older days, is replayed as {} (L35)."""
    arguments = cast(object, call.arguments)  # the type says so; old rows may not
    return cast(JsonObject, arguments) if isinstance(arguments, Mapping) else {}


def temperature_of(call: Call) -> float | None:
    return call.temperature if call.model.sampling else None


_STANDARD: Final = frozenset({"standard", "default", "auto", "unspecified"})


def tier_of(told: object) -> str | None:
    """The service tier that answered; None: the standard one, or the provider did not say."""
    return told if isinstance(told, str) and told and told not in _STANDARD else None


def encode(body: Object, call: Call, **fixed: object) -> bytes:
    """The body without the settings that the provider rejected. `extra` of the call may add or
    change anything but what is `fixed` (L40)."""
    whole = {**body, **call.extra, **fixed}
    for path in call.without:
        for place in (path, _ELSEWHERE.get(path, path)):
            whole = _left_out(whole, place.split("."))
    return orjson.dumps(whole, default=_plain)


def _left_out(body: Object, path: list[str]) -> Object:
    """A copy without the field; an object that has nothing else in it goes with the field."""
    first, *rest = path
    inner = body.get(first)
    kept = _left_out(cast(Object, inner), rest) if rest and isinstance(inner, Mapping) else {}
    others = {key: value for key, value in body.items() if key != first}
    return {**others, first: kept} if kept else others


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, object], value))
    if isinstance(value, tuple):
        return list(cast(tuple[object, ...], value))
    raise TypeError(f"not JSON: {type(value).__name__}")


def guarded(codec: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a codec; whatever it stumbles over is the provider's error, never our crash."""
    try:
        return codec(*args, **kwargs)
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise protocol(f"{type(error).__name__}: {error}") from error


def decode(decoder: Decoder, name: str, data: bytes) -> list[Event]:
    """One server-sent event through a decoder."""
    if data == b"[DONE]":
        return guarded(decoder.feed, name, None)
    try:
        parsed: Any = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        # Damage on the way: unlike a form that we do not know, it may not happen again.
        raise protocol(f"an event that is not JSON: {error}", retryable=True) from error
    if not isinstance(parsed, dict):
        raise protocol("an event that is not an object")
    if not is_shallow(data, cast(object, parsed)):
        raise protocol("an event that is too deep")
    return guarded(decoder.feed, name, cast(Object, parsed))
