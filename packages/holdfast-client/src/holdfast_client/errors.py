"""What can go wrong, as types. `ApiError.code` is stable and for programs; see reference/api.md."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from holdfast_client.reply import Reply


class HoldfastError(Exception):
    """Everything that this package raises by itself."""


class NotConfigured(HoldfastError):
    """No server is configured, or its configuration is wrong."""


class Unreachable(HoldfastError):
    """No answer. Whether a change was made is unknown; with its key it can be repeated."""


class ConnectionLost(HoldfastError):
    """A stream ended or broke. Callers never see it: the stream goes on."""


class WaitTimeout(HoldfastError):
    """What was waited for did not happen in time. Nothing was stopped by that."""


class TurnFailed(HoldfastError):
    """`run` ended in an error that a person can read: `reply.error`."""

    def __init__(self, reply: "Reply") -> None:
        super().__init__(reply.error.sentence if reply.error else "The turn failed.")
        self.reply = reply


class ApiError(HoldfastError):
    """The server's answer was a problem. `extra`: what it said beside the usual fields."""

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str | None = None,
        extra: Mapping[str, Any] | None = None,
        *,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail or title)
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.extra = dict(extra or {})
        self.retry_after_s = retry_after_s


class NotAuthenticated(ApiError):
    """401: no credential that holds."""


class NotAllowed(ApiError):
    """403: the credential or the role does not allow this."""


class NotFound(ApiError):
    """404: unknown, or not yours."""


class Conflict(ApiError):
    """409 and 412: not possible where the chat, or the account, stands."""


class Refused(ApiError):
    """400, 413, 422: the request itself."""


class TooMany(ApiError):
    """429."""


class Unavailable(ApiError):
    """503, and what gateways answer without a server behind them: 502, 504."""


_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: Refused,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    413: Refused,
    422: Refused,
    429: TooMany,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
_USUAL: Final = frozenset({"type", "title", "status", "code", "detail"})


def api_error(status: int, problem: object, retry_after: str | None) -> ApiError:
    """What an answer means. `problem` is its JSON, or anything else if a gateway spoke."""
    said: dict[str, Any] = problem if isinstance(problem, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    return _BY_STATUS.get(status, ApiError)(
        status,
        str(said.get("code", "http_error")),
        str(said.get("title", f"The server answered {status}.")),
        said.get("detail"),
        {name: value for name, value in said.items() if name not in _USUAL},
        retry_after_s=_seconds(retry_after),
    )


def _seconds(retry_after: str | None) -> float | None:
    """Our servers say seconds. A gateway may say a date: then our own pause is as good."""
    if retry_after is None or not retry_after.isascii() or not retry_after.isdigit():
        return None
    return float(retry_after)
