"""The errors of this package, as types. `code` is stable and for programs; see reference/api.md.

HoldfastError
    ConfigurationError, WaitTimeoutError, TurnFailedError, TurnRemovedError
    APIError
        APIConnectionError, and APITimeoutError below it
        APIStatusError, and one class per kind of answer below it
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from holdfast_client.reply import Reply


class HoldfastError(Exception):
    """Every error that this package raises by itself."""


class ConfigurationError(HoldfastError):
    """No server is configured, or its configuration is wrong."""


class ConnectionLost(HoldfastError):
    """A stream ended or broke. Callers never see it: the stream continues."""


class WaitTimeoutError(HoldfastError):
    """What was waited for did not happen in time. The turn continues."""


class TurnRemovedError(HoldfastError):
    """The message is no longer in the chat: it was deleted from the queue, or an edit hid it."""


class TurnFailedError(HoldfastError):
    """The turn ended in an error: `reply.error`."""

    def __init__(self, reply: "Reply[Any]") -> None:
        super().__init__(reply.error.message if reply.error else "The turn failed.")
        self.reply = reply


class APIError(HoldfastError):
    """A request failed. `status`: None if there was no answer. `request_id`: names the request in
    the server's log. `retryable`: the same request may succeed later."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        retryable: bool = False,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retryable = retryable
        self.request_id = request_id


class APIConnectionError(APIError):
    """No answer. It is not known whether the server did it; with the same idempotency key the
    request can be repeated."""

    def __init__(self, message: str, *, code: str = "connection_error") -> None:
        super().__init__(message, code=code, retryable=True)


class APITimeoutError(APIConnectionError):
    """No answer in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="timeout")


class APIStatusError(APIError):
    """The server answered with a problem. `extra`: the fields beside the usual ones."""

    status: int

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str | None = None,
        extra: Mapping[str, Any] | None = None,
        *,
        retryable: bool = False,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            detail or title, code=code, status=status, retryable=retryable, request_id=request_id
        )
        self.title = title
        self.detail = detail
        self.extra = dict(extra or {})
        self.retry_after_s = retry_after_s


class BadRequestError(APIStatusError):
    """400, 413, 415, 422: the request itself is wrong."""


class AuthenticationError(APIStatusError):
    """401: no valid API key."""


class PermissionDeniedError(APIStatusError):
    """403: the API key or the role does not allow this."""


class NotFoundError(APIStatusError):
    """404: it does not exist, or you may not read it."""


class ConflictError(APIStatusError):
    """409: the state of the chat, or of the account, does not allow this."""


class PreconditionFailedError(APIStatusError):
    """412: it has changed since the ETag in `if_match`."""


class RateLimitError(APIStatusError):
    """429."""


class InternalServerError(APIStatusError):
    """500 and above: the server failed, or a gateway before it."""


_BY_STATUS: Final[Mapping[int, type[APIStatusError]]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionFailedError,
    413: BadRequestError,
    415: BadRequestError,
    422: BadRequestError,
    429: RateLimitError,
}
_PASSING: Final = frozenset({429, 502, 503, 504})
_USUAL: Final = frozenset({"type", "title", "status", "code", "detail", "retryable", "request_id"})


def is_passing(error: APIStatusError) -> bool:
    """Too many requests, or a server that is not there right now: the next try may succeed."""
    return error.status in _PASSING


def api_error(
    status: int, problem: object, retry_after: str | None, request_id: str | None = None
) -> APIStatusError:
    """What an answer means. `problem` is its JSON, or anything else if a gateway answered."""
    said: dict[str, Any] = problem if isinstance(problem, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    known = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIStatusError)
    return known(
        status,
        str(said.get("code", "http_error")),
        str(said.get("title", f"The server answered {status}.")),
        said.get("detail"),
        {name: value for name, value in said.items() if name not in _USUAL},
        retryable=bool(said.get("retryable", status in _PASSING)),
        request_id=said.get("request_id") or request_id,
        retry_after_s=_seconds(retry_after),
    )


def _seconds(retry_after: str | None) -> float | None:
    """Our servers say seconds. A gateway may say a date: then our own pause is as good."""
    if retry_after is None or not retry_after.isascii() or not retry_after.isdigit():
        return None
    return float(retry_after)
