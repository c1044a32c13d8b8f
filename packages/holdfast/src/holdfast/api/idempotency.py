"""The digest of a request under an idempotency key: equal JSON is the same request."""

import hashlib
import json
from typing import Final, NoReturn

import orjson
from starlette.responses import Response

REPLAYED_HEADER: Final = "idempotent-replayed"


def digest_of(method: str, path: str, body: bytes) -> bytes:
    """Of the route and the JSON of the body, whatever its white space and the order of its fields.

    A number stays the text that was sent: as floats, two long integers can be one number, and a
    request would get the answer of another one.
    """
    return hashlib.sha256(f"{method} {path}\n".encode() + _canonical(body)).digest()


def _canonical(body: bytes) -> bytes:
    """A body that is no JSON stays as it is: the route does not read it, or refuses it."""
    try:
        value = json.loads(  # noqa: TID251 - orjson cannot keep the text of a number
            body, parse_int=_number, parse_float=_number, parse_constant=_no_constant
        )
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError, RecursionError):
        return body


def _number(text: str) -> orjson.Fragment:
    return orjson.Fragment(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and the infinities are no JSON


def as_replay(response: Response) -> Response:
    """The answer to a request that took effect before, under the same key."""
    response.headers[REPLAYED_HEADER] = "true"
    return response
