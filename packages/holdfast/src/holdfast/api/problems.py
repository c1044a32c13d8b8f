"""Every error as a problem document (RFC 9457), from one table.

`code` is stable and for programs; `detail` is for people and may change. An error outside the tree
of `HoldfastError`, or without a code, is a 500 with an id that stands in the log, and nothing else
gets out.
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

from holdfast.api.errors import (
    EdgeError,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NoSuchRoute,
    RequestNotAnswered,
)
from holdfast.chats.hints import encode_data
from holdfast.domain.errors import FormatUnknown, HoldfastError, TooManyStatements, Unavailable

MEDIA_TYPE: Final = "application/problem+json"
CAUSE_CHARS: Final = 60
ERRORS_SHOWN_MAX: Final = 20
_LOG: Final = logging.getLogger(__name__)


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
"""Every code there is. The class of an error names its code; several classes may share one."""


def translated(error: Exception) -> HoldfastError:
    """An error of the framework, as one of ours."""
    match error:
        case HoldfastError():
            return error
        case RequestValidationError() | WebSocketRequestValidationError():
            return InvalidRequest(_wrong(error.errors()))
        case HTTPException(status_code=404):
            return NoSuchRoute(error.detail)
        case HTTPException(status_code=405):
            return MethodNotAllowed(error.detail, (error.headers or {}).get("Allow"))
        case HTTPException():
            return RequestNotAnswered(error.detail)
        case _:
            raise error


def problem_of(error: HoldfastError) -> Response:
    kind, sentence = KINDS[error.code], error.sentence
    body: dict[str, Any] = {
        "type": f"urn:holdfast:problem:{error.code}",
        "title": kind.title,
        "status": kind.status,
        "code": error.code,
        **({} if sentence is None else {"detail": sentence}),
        **error.extra,
    }
    headers = dict(error.header_fields()) if isinstance(error, EdgeError) else {}
    if error.retry_after_s is not None:
        headers["retry-after"] = str(max(1, math.ceil(error.retry_after_s)))
    return Response(encode_data(body), kind.status, headers, MEDIA_TYPE)


def _wrong(found: Sequence[Any]) -> list[dict[str, str]]:
    """Where and what, without what was given: it may be a password."""
    return [
        {"where": ".".join(map(str, each["loc"])), "what": str(each["msg"])}
        for each in found[:ERRORS_SHOWN_MAX]
    ]


async def _answer(_connection: HTTPConnection, raised: Exception) -> Response:
    error = translated(raised)
    if error.code == InternalError.code:
        raise error  # to the guard
    if isinstance(error, Unavailable) and not isinstance(error, TooManyStatements):
        # Another cause is another line: what an outage repeats must not hide it.
        said = f"api: unavailable: {error}"
        _LOG.warning(said, extra={"seldom": said[:CAUSE_CHARS]})
    if isinstance(error, FormatUnknown):
        _LOG.warning("api: a chat cannot be read by this version: %s", error)
    return problem_of(error)  # which refuses a WebSocket as well


def install(app: FastAPI) -> None:
    raised: tuple[type[Exception], ...] = (
        HoldfastError,
        HTTPException,
        RequestValidationError,
        WebSocketRequestValidationError,
    )
    for each in raised:
        app.add_exception_handler(each, _answer)
