"""The errors of the HTTP edge: a request that no verb sees, and answers in HTTP's own terms.

HoldfastError
├── EdgeError
│   ├── NotAuthenticated
│   ├── OriginRefused
│   ├── NoSuchProvider
│   ├── PreconditionFailed
│   ├── Overloaded
│   ├── TooManyRequests
│   ├── TooManyConnections
│   ├── HeadersTooLarge
│   ├── AddressTooLong
│   ├── InvalidRequest          the framework's errors, translated: see `problems.translated`
│   ├── NoSuchRoute
│   ├── MethodNotAllowed
│   ├── RequestNotAnswered
│   ├── InternalError
│   └── BadRequest              what is wrong with a body before its content is looked at
│       ├── MalformedJson
│       ├── BodyTooLarge
│       └── BodyTooSlow
└── Unavailable
    └── NotReady
"""

from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException
from typing_extensions import override

from holdfast.domain.errors import NO_WRITES, HoldfastError, Unavailable


class EdgeError(HoldfastError):
    def header_fields(self) -> Mapping[str, str]:
        """What the answer carries beside the document."""
        return {}


class NotAuthenticated(EdgeError):
    """No credential, or none that holds: unknown, expired, revoked, of a disabled account."""

    code = "not_authenticated"
    is_public = False

    @override
    def header_fields(self) -> Mapping[str, str]:
        return {"www-authenticate": "Bearer"}


class OriginRefused(EdgeError):
    """A cookie from a page that is not ours."""

    code = "origin_refused"
    is_public = False


class NoSuchProvider(EdgeError):
    """Of identity: none has this name."""

    code = "not_found"
    is_public = False


class PreconditionFailed(EdgeError):
    code = "precondition_failed"

    def __init__(self, tag: str) -> None:
        super().__init__("what was seen is no longer what is there")
        self.tag = tag
        self.extra = {"etag": tag}

    @override
    def header_fields(self) -> Mapping[str, str]:
        return {"etag": self.tag}


class Overloaded(EdgeError):
    """The process has as many requests or connections as it takes."""

    code = "overloaded"
    is_public = False
    retry_after_s = 1.0


class TooManyRequests(EdgeError):
    """Of one user, or of one address without a credential."""

    code = "too_many_requests"

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("too many requests")
        self.retry_after_s = retry_after_s


class TooManyConnections(EdgeError):
    """Of one client address."""

    code = "too_many_connections"
    is_public = False
    retry_after_s = 1.0


class HeadersTooLarge(EdgeError):
    code = "headers_too_large"
    is_public = False


class AddressTooLong(EdgeError):
    code = "address_too_long"
    is_public = False


class InvalidRequest(EdgeError):
    """`wrong`: where and what, for each error."""

    code = "invalid_request"
    is_public = False

    def __init__(self, wrong: Sequence[Mapping[str, str]]) -> None:
        super().__init__(f"{len(wrong)} errors")
        self.extra = {"errors": wrong}


class NoSuchRoute(EdgeError):
    code = "no_such_route"


class MethodNotAllowed(EdgeError):
    """`allowed`: the methods of the route, as the `Allow` header names them; None: not known."""

    code = "method_not_allowed"

    def __init__(self, detail: str, allowed: str | None) -> None:
        super().__init__(detail)
        self.allowed = allowed

    @override
    def header_fields(self) -> Mapping[str, str]:
        return {} if self.allowed is None else {"allow": self.allowed}


class RequestNotAnswered(EdgeError):
    """Whatever else the framework refuses."""

    code = "http_error"


class InternalError(EdgeError):
    """Our own mistake. `error_id` is in the log, with what happened."""

    code = "internal"
    is_public = False

    def __init__(self, error_id: str) -> None:
        super().__init__(f"internal error {error_id}")
        self.extra = {"id": error_id}


class BadRequest(EdgeError, HTTPException):
    """An HTTPException, so that FastAPI lets it pass while it reads a body."""

    def __init__(self, detail: str) -> None:
        HTTPException.__init__(self, 400, detail)

    @property
    @override
    def sentence(self) -> str:
        return self.detail


class MalformedJson(BadRequest):
    code = "malformed_json"


class BodyTooLarge(BadRequest):
    code = "body_too_large"


class BodyTooSlow(BadRequest):
    code = "body_too_slow"


class NotReady(Unavailable):
    """The database is the reason. Its own words are for operators, and stand in the log."""

    def __init__(self, reason: Unavailable) -> None:
        super().__init__(str(reason), retry_after_s=reason.retry_after_s)

    @property
    @override
    def sentence(self) -> str:
        return NO_WRITES
