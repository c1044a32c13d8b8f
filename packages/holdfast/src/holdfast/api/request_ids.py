"""The id of a request: in its answer, in a problem document and in the log."""

import secrets
from collections.abc import MutableMapping
from typing import Any, Final

KEY: Final = "holdfast.request_id"
"""In the scope of a request."""
HEADER: Final = "x-request-id"
_PREFIX: Final = "req_"
_RANDOM_BYTES: Final = 12


def new_request_id() -> str:
    return _PREFIX + secrets.token_hex(_RANDOM_BYTES)


def request_id_of(scope: MutableMapping[str, Any]) -> str:
    """The id that the guard gave; without a guard (in tests) a new one."""
    return scope.setdefault(KEY, new_request_id())
