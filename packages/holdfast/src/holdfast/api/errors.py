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
│   ├── UnsupportedMediaType
│   ├── AddressTooLong
│   ├── InvalidRequest          the framework's errors, translated: see `problems.translated`
│   ├── IdNotFound              the path has no id, or one of another type
│   │   └── ChatIdNotFound
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

    code = "unauthenticated"
    is_public = False

    @override
    def header_fields(self) -> Mapping[str, str]:
        return {"www-authenticate": "Bearer"}


class OriginRefused(EdgeError):
    """A cookie from a page that is not ours."""

    code = "origin_not_allowed"
    is_public = False


class NoSuchProvider(EdgeError):
    """Of identity: none has this name."""

    code = "not_found"
    is_public = False


class PreconditionFailed(EdgeError):
    code = "precondition_failed"

    def __init__(self, tag: str) -> None:
        super().__init__("The resource has changed. Read it again.")
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

    code = "rate_limited"

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("Too many requests. Wait before the next one.")
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


class UnsupportedMediaType(EdgeError):
    code = "unsupported_media_type"

    def __init__(self) -> None:
        super().__init__("Send JSON, with the header `Content-Type: application/json`.")


class InvalidRequest(EdgeError):
    """`wrong`: the errors by field, at least one."""

    code = "invalid_request"

    def __init__(self, wrong: Sequence[Mapping[str, str]]) -> None:
        first = wrong[0]
        place = first["in"] if first["in"] == "body" else f"{first['in']} parameter"
        super().__init__(f"{place} {first['pointer']}".strip() + f": {first['detail']}")
        self.extra = {"errors": wrong}


class IdNotFound(EdgeError):
    """What the path has instead of an id cannot name anything: as good as unknown."""

    code = "not_found"


class ChatIdNotFound(IdNotFound):
    code = "chat_not_found"


class NoSuchRoute(EdgeError):
    code = "route_not_found"


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
    """Our own mistake. What happened is in the log, with the id of the request."""

    code = "internal"
    is_public = False


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
    code = "request_timeout"


class NotReady(Unavailable):
    """The database is the reason. Its own words are for operators, and stand in the log."""

    def __init__(self, reason: Unavailable) -> None:
        super().__init__(str(reason), retry_after_s=reason.retry_after_s)

    @property
    @override
    def sentence(self) -> str:
        return NO_WRITES
