"""JSON on the wire, by the parser that pydantic brings."""

from pydantic_core import from_json, to_json

from holdfast_client.models import Json


def loads(data: bytes | str) -> Json:
    """Raises ValueError."""
    return from_json(data)


def dumps(value: object) -> bytes:
    """What JSON cannot say (NaN, infinity) is null."""
    return to_json(value, inf_nan_mode="null")
