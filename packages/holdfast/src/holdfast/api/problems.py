"""Every error as a problem document (RFC 9457), from one table.

`code` is stable and for programs; `detail` is for people and may change. An error outside the tree
of `HoldfastError`, or without a code, is a 500: its text is in the log under the id of the request,
and not in the answer.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response

from holdfast.api.errors import (
    ChatIdNotFound,
    EdgeError,
    IdNotFound,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NoSuchRoute,
    RequestNotAnswered,
)
from holdfast.api.field_errors import field_errors
from holdfast.api.ids import WRONG_ID
from holdfast.api.request_ids import HEADER, request_id_of
from holdfast.chats.hints import encode_data
from holdfast.domain.errors import FormatUnknown, HoldfastError, TooManyStatements, Unavailable
from holdfast.domain.public_ids import CHAT_ID

MEDIA_TYPE: Final = "application/problem+json"
CAUSE_CHARS: Final = 60
RETRY_AFTER_S: Final = 1.0
"""With 429 and 503, unless the error says when."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProblemKind:
    status: int
    title: str

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in {408, 429, 503}


KINDS: Final[Mapping[str, ProblemKind]] = {
    # What was sent.
    "malformed_json": ProblemKind(400, "The request body is not JSON that the server accepts."),
    "unsupported_media_type": ProblemKind(415, "The request body is not of type JSON."),
    "invalid_request": ProblemKind(422, "The request is not valid."),
    "answer_not_valid": ProblemKind(422, "The answer does not fit the questions."),
    "content_too_large": ProblemKind(422, "The text or JSON exceeds a limit."),
    "body_too_large": ProblemKind(413, "The request body is too large."),
    "request_timeout": ProblemKind(408, "The request body did not arrive in time."),
    "headers_too_large": ProblemKind(431, "The headers are larger than the server accepts."),
    "address_too_long": ProblemKind(414, "The address is longer than the server accepts."),
    "route_not_found": ProblemKind(404, "Route not found."),
    "method_not_allowed": ProblemKind(405, "The route does not support this method."),
    "http_error": ProblemKind(400, "The request cannot be answered."),
    # Who sent it.
    "unauthenticated": ProblemKind(401, "Authentication is required."),
    "sign_in_link_not_valid": ProblemKind(401, "The sign-in link has been used, or has expired."),
    "invalid_credentials": ProblemKind(401, "The e-mail address or the password is wrong."),
    "origin_not_allowed": ProblemKind(403, "The request comes from an origin that is not allowed."),
    "permission_denied": ProblemKind(403, "The credential or the role does not allow this."),
    "sign_in_rate_limited": ProblemKind(429, "Too many attempts to sign in."),
    "rate_limited": ProblemKind(429, "Too many requests."),
    "too_many_connections": ProblemKind(429, "Too many connections from one address."),
    "oidc_login_failed": ProblemKind(401, "The login with the identity provider failed."),
    # What it is about. Foreign and unknown are the same.
    "chat_not_found": ProblemKind(404, "Not found, or you have no access."),
    "not_found": ProblemKind(404, "Not found, or you have no access."),
    "queued_message_not_found": ProblemKind(404, "The queue does not hold this message."),
    "message_not_found": ProblemKind(404, "The chat has no such message."),
    "version_not_found": ProblemKind(404, "The chat has no such version."),
    "workspace_not_found": ProblemKind(404, "The chat has no workspace."),
    # What the chat or the account says.
    "chat_state_conflict": ProblemKind(409, "The state of the chat does not allow this."),
    "queue_full": ProblemKind(409, "The queue is full."),
    "not_editable": ProblemKind(409, "The message cannot be edited."),
    "not_forkable": ProblemKind(409, "A fork cannot end at this message."),
    "call_not_open": ProblemKind(409, "The call does not wait for this answer."),
    "approval_mismatch": ProblemKind(
        409, "The decision does not match the call that waits for approval."
    ),
    "turn_changed": ProblemKind(409, "The turn that the request names is not the present one."),
    "nothing_to_compact": ProblemKind(409, "There is nothing to compact."),
    "command_refused": ProblemKind(409, "The chat refuses the command."),
    "idempotency_key_reused": ProblemKind(409, "The idempotency key was used for another request."),
    "email_taken": ProblemKind(409, "Another account has this e-mail address."),
    "last_admin": ProblemKind(409, "An organisation keeps at least one admin."),
    "weak_password": ProblemKind(422, "The password is too weak."),
    "precondition_failed": ProblemKind(412, "The resource has changed since this ETag."),
    "workspace_unusable": ProblemKind(409, "The workspace cannot be used now."),
    "too_many_workspaces": ProblemKind(
        409, "The chat's owner has reached the limit of workspaces."
    ),
    "too_many_chats": ProblemKind(409, "You have reached the limit of chats. Nothing was created."),
    "too_many_bytes": ProblemKind(
        409, "You have reached the limit of stored bytes. Nothing was written."
    ),
    "api_key_already_created": ProblemKind(
        409, "The API key was already created with this idempotency key."
    ),
    "name_taken": ProblemKind(409, "Another provider or model has this name."),
    "secrets_off": ProblemKind(409, "This server has no master key to store secrets with."),
    "secret_unreadable": ProblemKind(409, "The stored secret cannot be read."),
    # What the server says.
    "overloaded": ProblemKind(503, "The server is overloaded. Nothing was changed."),
    "too_many_statements": ProblemKind(
        429, "Too many of your requests are waiting for the database. Nothing was changed."
    ),
    "list_too_slow": ProblemKind(
        503, "The list could not be read in time. Ask for a smaller page."
    ),
    "write_contention": ProblemKind(503, "The chat is being changed by other requests."),
    "unavailable": ProblemKind(
        503, "Unavailable. A change may have been made: repeat it with the same idempotency key."
    ),
    "upgrading": ProblemKind(
        503, "A newer version of the server wrote this chat. This server cannot read it yet."
    ),
    "internal": ProblemKind(500, "Internal error."),
}
"""Every code there is. The class of an error names its code; several classes may share one."""


def translated(error: Exception, allowed: str = "") -> HoldfastError:
    """An error of the framework, as one of ours. `allowed`: the methods of the path."""
    match error:
        case HoldfastError():
            return error
        case RequestValidationError() | WebSocketRequestValidationError():
            body = error.body if isinstance(error, RequestValidationError) else None
            found = error.errors()
            return id_not_found(found) or InvalidRequest(field_errors(found, body))
        case HTTPException(status_code=404):
            return NoSuchRoute("There is no such route.")
        case HTTPException(status_code=405):
            return MethodNotAllowed("Use one of the methods that `Allow` names.", allowed)
        case HTTPException():
            return RequestNotAnswered(error.detail)
        case _:
            raise error


def id_not_found(found: Sequence[Any]) -> IdNotFound | None:
    """If an id in the path is wrong. `found`: as pydantic lists the errors."""
    for each in found:
        if each["type"] == WRONG_ID and each["loc"][0] == "path":
            wrong = each["ctx"]
            is_chat = wrong["name"] == CHAT_ID.name
            return (ChatIdNotFound if is_chat else IdNotFound)(wrong["reason"])
    return None


def problem_of(error: HoldfastError, request_id: str) -> Response:
    kind = KINDS[error.code]
    body: dict[str, Any] = {
        "type": f"urn:holdfast:problem:{error.code}",
        "title": kind.title,
        "status": kind.status,
        "code": error.code,
        "detail": error.sentence,
        "retryable": kind.retryable,
        "request_id": request_id,
        **error.extra,
    }
    headers = dict(error.header_fields()) if isinstance(error, EdgeError) else {}
    headers[HEADER] = request_id
    after_s = error.retry_after_s
    if after_s is None and kind.status in {429, 503}:
        after_s = RETRY_AFTER_S
    if after_s is not None:
        headers["retry-after"] = str(max(1, math.ceil(after_s)))
    return Response(encode_data(body), kind.status, headers, MEDIA_TYPE)


def install(app: FastAPI, allowed_at: Callable[[str], str]) -> None:
    """`allowed_at`: the methods of a path, as `Allow` names them."""

    async def answered(connection: HTTPConnection, raised: Exception) -> Response:
        allowed = ""
        if isinstance(raised, HTTPException) and raised.status_code == 405:
            allowed = allowed_at(connection.scope["path"])
        error = translated(raised, allowed)
        if error.code == InternalError.code:
            raise error  # to the guard
        request_id = request_id_of(connection.scope)
        _log(error, request_id)
        return problem_of(error, request_id)  # which refuses a WebSocket as well

    raised: tuple[type[Exception], ...] = (
        HoldfastError,
        HTTPException,
        RequestValidationError,
        WebSocketRequestValidationError,
    )
    for each in raised:
        app.add_exception_handler(each, answered)


def _log(error: HoldfastError, request_id: str) -> None:
    if isinstance(error, Unavailable) and not isinstance(error, TooManyStatements):
        # Another cause is another line: what an outage repeats must not hide it.
        said = f"api: unavailable: {error}"
        _LOG.warning(said, extra={"seldom": said[:CAUSE_CHARS], "request_id": request_id})
    if isinstance(error, FormatUnknown):
        fields = {"request_id": request_id}
        _LOG.warning("api: a chat cannot be read by this version: %s", error, extra=fields)
