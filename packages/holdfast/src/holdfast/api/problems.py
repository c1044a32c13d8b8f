"""Every error as a problem document (RFC 9457), from one table.

`code` is stable and for programs; `detail` is for people and may change. What we did not foresee is
a 500 with an id that stands in the log, and nothing else gets out.
"""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response

from holdfast.api.rates import TooManyRequests
from holdfast.chats.hints import encode_data
from holdfast.domain import denials, errors
from holdfast.ports.workspaces import NoWorkspace, TooManyWorkspaces, WorkspaceUnusable

MEDIA_TYPE: Final = "application/problem+json"
CAUSE_CHARS: Final = 60
ERRORS_SHOWN_MAX: Final = 20
_LOG: Final = logging.getLogger(__name__)


class NotAuthenticated(Exception):
    """No credential, or none that holds: unknown, expired, revoked, of a disabled account."""


class OriginRefused(Exception):
    """A cookie from a page that is not ours."""


class NoSuchProvider(Exception):
    """Of identity: none has this name."""


class PreconditionFailed(Exception):
    def __init__(self, tag: str) -> None:
        super().__init__("what was seen is no longer what is there")
        self.tag = tag


class NotReady(errors.Unavailable):
    """The database is the reason. Its own words are for operators, and stand in the log."""

    def __init__(self, reason: errors.Unavailable) -> None:
        super().__init__(str(reason), retry_after_s=reason.retry_after_s)


class Overloaded(Exception):
    retry_after_s = 1.0


class BadRequest(HTTPException):
    """What is wrong with a request before its content is looked at. An HTTPException, so that
    FastAPI lets it pass while it reads a body."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(KINDS[code].status, detail)
        self.code = code


@dataclass(frozen=True, slots=True)
class ProblemKind:
    status: int
    title: str


KINDS: Final[Mapping[str, ProblemKind]] = {
    # What was sent.
    "malformed_json": ProblemKind(400, "The request body is not JSON that the server accepts."),
    "invalid_request": ProblemKind(422, "The request does not match the schema of this route."),
    "field_refused": ProblemKind(422, "A field has an invalid value."),
    "content_refused": ProblemKind(422, "The text or JSON exceeds a limit."),
    "body_too_large": ProblemKind(413, "The request body is too large."),
    "body_too_slow": ProblemKind(408, "The request body did not arrive in time."),
    "headers_too_large": ProblemKind(431, "The headers are larger than the server accepts."),
    "address_too_long": ProblemKind(414, "The address is longer than the server accepts."),
    "no_such_route": ProblemKind(404, "Route not found."),
    "method_not_allowed": ProblemKind(405, "The route does not support this method."),
    "http_error": ProblemKind(400, "The request cannot be answered."),
    # Who sent it.
    "not_authenticated": ProblemKind(401, "Missing, invalid, expired or revoked credentials."),
    "wrong_credentials": ProblemKind(401, "E-mail or password is wrong."),
    "origin_refused": ProblemKind(403, "The request comes from a foreign origin."),
    "not_allowed": ProblemKind(403, "The credential or the role does not allow this."),
    "too_many_attempts": ProblemKind(429, "Too many attempts to sign in."),
    "too_many_requests": ProblemKind(429, "Too many requests."),
    "too_many_connections": ProblemKind(429, "Too many connections from one address."),
    "login_refused": ProblemKind(401, "The identity provider's login was refused."),
    # What it is about. Foreign and unknown are the same.
    "chat_not_found": ProblemKind(404, "Not found, or you have no access."),
    "not_found": ProblemKind(404, "Not found, or you have no access."),
    "queued_not_found": ProblemKind(404, "The queue does not hold this message."),
    "version_not_found": ProblemKind(404, "The chat has no such version."),
    "no_workspace": ProblemKind(404, "The chat has no workspace."),
    # What the chat or the account says.
    "not_lawful": ProblemKind(409, "Not possible in the chat's current state."),
    "queue_full": ProblemKind(409, "The queue is full."),
    "not_editable": ProblemKind(409, "The message cannot be edited."),
    "not_forkable": ProblemKind(409, "A fork cannot end at this message."),
    "call_not_open": ProblemKind(409, "The call does not wait for this answer."),
    "approval_mismatch": ProblemKind(
        409, "The decision does not match the call that waits for approval."
    ),
    "nothing_to_compact": ProblemKind(409, "There is nothing to compact."),
    "command_refused": ProblemKind(409, "The chat refuses the command."),
    "key_reused": ProblemKind(409, "The idempotency key was used for another request."),
    "email_taken": ProblemKind(409, "Another account has this e-mail address."),
    "last_admin": ProblemKind(409, "An organisation keeps at least one admin."),
    "password_refused": ProblemKind(422, "The password is not accepted."),
    "precondition_failed": ProblemKind(
        412, "The resource changed: `If-Match` names an older version."
    ),
    "workspace_unusable": ProblemKind(409, "The workspace cannot be used now."),
    "too_many_workspaces": ProblemKind(
        409, "The chat's owner has reached the limit of workspaces."
    ),
    "too_many_chats": ProblemKind(409, "You have reached the limit of chats. Nothing was created."),
    "too_many_bytes": ProblemKind(
        409, "You have reached the limit of stored bytes. Nothing was written."
    ),
    "already_made": ProblemKind(
        409, "Created before under this idempotency key; its secret was shown then."
    ),
    # What the server says.
    "overloaded": ProblemKind(503, "The server is overloaded. Nothing was changed."),
    "too_many_statements": ProblemKind(
        429, "Too many of your requests are waiting for the database. Nothing was changed."
    ),
    "list_too_slow": ProblemKind(
        503, "The list could not be read in time. Ask for a smaller page."
    ),
    "chat_busy": ProblemKind(503, "The chat is being changed by other requests. Try again."),
    "unavailable": ProblemKind(
        503, "Unavailable. A change may have been made: repeat it with the same idempotency key."
    ),
    "upgrading": ProblemKind(
        503, "A newer version of the server wrote this chat. This server cannot read it yet."
    ),
    "internal": ProblemKind(500, "Internal error."),
}
"""Every code there is."""

CODES: Final[Mapping[type[Exception], str]] = {
    NotAuthenticated: "not_authenticated",
    OriginRefused: "origin_refused",
    TooManyRequests: "too_many_requests",
    NoSuchProvider: "not_found",
    PreconditionFailed: "precondition_failed",
    Overloaded: "overloaded",
    errors.ChatNotFound: "chat_not_found",
    errors.NotLawful: "not_lawful",
    errors.QueueFull: "queue_full",
    errors.QueuedNotFound: "queued_not_found",
    errors.NotEditable: "not_editable",
    errors.NotForkable: "not_forkable",
    errors.VersionNotFound: "version_not_found",
    errors.CallNotOpen: "call_not_open",
    errors.ApprovalMismatch: "approval_mismatch",
    errors.NothingToCompact: "nothing_to_compact",
    errors.CommandRefused: "command_refused",
    errors.KeyReused: "key_reused",
    errors.ChatBusy: "chat_busy",
    errors.ContentRefused: "content_refused",
    errors.TooManyChats: "too_many_chats",
    errors.TooManyBytes: "too_many_bytes",
    errors.TooManyStatements: "too_many_statements",
    errors.TooSlow: "list_too_slow",
    errors.Unavailable: "unavailable",
    errors.FormatUnknown: "upgrading",
    errors.ChangedMeanwhile: "precondition_failed",
    NoWorkspace: "no_workspace",
    TooManyWorkspaces: "too_many_workspaces",
    WorkspaceUnusable: "workspace_unusable",
    denials.NotAllowed: "not_allowed",
    denials.NotFound: "not_found",
    denials.WrongCredentials: "wrong_credentials",
    denials.Throttled: "too_many_attempts",
    denials.EmailTaken: "email_taken",
    denials.LastAdmin: "last_admin",
    denials.PasswordRefused: "password_refused",
    denials.FieldRefused: "field_refused",
    denials.OidcRefused: "login_refused",
    denials.AlreadyMade: "already_made",
}
"""By the class of the error, or the nearest above it; what is not here is `internal`."""

_BY_STATUS: Final = {404: "no_such_route", 405: "method_not_allowed"}
# Their sentences may name what only operators should know of: a host, a statement.
_SAYS_NOTHING: Final = frozenset({"unavailable", "upgrading", "internal"})


_WITHOUT_WORDS: Final = (NotAuthenticated, OriginRefused, NoSuchProvider, Overloaded)


def code_of(error: Exception) -> str:
    if isinstance(error, BadRequest):
        return error.code
    if isinstance(error, HTTPException):
        return _BY_STATUS.get(error.status_code, "http_error")
    if isinstance(error, RequestValidationError | WebSocketRequestValidationError):
        return "invalid_request"
    return next((CODES[each] for each in type(error).__mro__ if each in CODES), "internal")


def problem(code: str, detail: str | None = None, **more: object) -> Response:
    kind = KINDS[code]
    body: dict[str, Any] = {
        "type": f"urn:holdfast:problem:{code}",
        "title": kind.title,
        "status": kind.status,
        "code": code,
        **({} if detail is None else {"detail": detail}),
        **more,
    }
    return Response(encode_data(body), kind.status, media_type=MEDIA_TYPE)


def problem_of(error: Exception) -> Response:
    code = code_of(error)
    assert code != "internal", "the guard tells those, with an id"
    response = problem(code, _detail(code, error), **_more(error))
    if code == "not_authenticated":
        response.headers["www-authenticate"] = "Bearer"
    if isinstance(error, PreconditionFailed):
        response.headers["etag"] = error.tag
    if code == "method_not_allowed" and isinstance(error, HTTPException) and error.headers:
        response.headers["allow"] = error.headers.get("allow", "")
    retry_after_s = getattr(error, "retry_after_s", 1.0 if code == "chat_busy" else None)
    if retry_after_s is not None:
        response.headers["retry-after"] = str(max(1, math.ceil(retry_after_s)))
    return response


def _detail(code: str, error: Exception) -> str | None:
    if isinstance(error, NotReady | errors.DatabaseReadOnly):
        return "The database cannot be written at the moment. Try again later."
    if code in _SAYS_NOTHING or isinstance(error, _WITHOUT_WORDS):
        return None
    if isinstance(error, RequestValidationError | WebSocketRequestValidationError):
        return None
    return str(error.detail) if isinstance(error, HTTPException) else str(error)


def _more(error: Exception) -> Mapping[str, object]:
    more: Mapping[str, object] = {}
    match error:
        case errors.CommandRefused():
            more = {"standing": error.standing, "command": error.command}
        case denials.FieldRefused():
            more = {"errors": [{"where": error.field, "what": str(error)}]}
        case denials.OidcRefused():
            more = {"reason": error.reason}
        case denials.AlreadyMade():
            more = {"made_id": str(error.made_id)}
        case PreconditionFailed():
            more = {"etag": error.tag}
        case RequestValidationError() | WebSocketRequestValidationError():
            more = {"errors": _wrong(error.errors())}
        case _:
            pass
    return more


def _wrong(found: Sequence[Any]) -> list[dict[str, str]]:
    """Where and what, without what was given: it may be a password."""
    return [
        {"where": ".".join(map(str, each["loc"])), "what": str(each["msg"])}
        for each in found[:ERRORS_SHOWN_MAX]
    ]


async def _tell(_connection: HTTPConnection, error: Exception) -> Response:
    if code_of(error) == "internal":
        raise error  # to the guard
    if isinstance(error, errors.Unavailable) and not isinstance(error, errors.TooManyStatements):
        # Another cause is another line: what an outage repeats must not hide it.
        said = f"api: unavailable: {error}"
        _LOG.warning(said, extra={"seldom": said[:CAUSE_CHARS]})
    if isinstance(error, errors.FormatUnknown):
        _LOG.warning("api: a chat cannot be read by this version: %s", error)
    return problem_of(error)  # which refuses a WebSocket as well


def install(app: FastAPI) -> None:
    told: tuple[type[Exception], ...] = (
        errors.HoldfastError,
        NotAuthenticated,
        OriginRefused,
        TooManyRequests,
        NoSuchProvider,
        PreconditionFailed,
        Overloaded,
        WorkspaceUnusable,
        HTTPException,
        RequestValidationError,
        WebSocketRequestValidationError,
    )
    for each in told:
        app.add_exception_handler(each, _tell)
