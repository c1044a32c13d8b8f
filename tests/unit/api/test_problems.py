"""Every error of the tree has one row of the table of problems, and every row an error."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson
import pytest
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from holdfast.api import app
from holdfast.api import errors as edge
from holdfast.api.problems import ERRORS_SHOWN_MAX, KINDS, problem_of, translated
from holdfast.domain import denials, errors
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import ChatId
from holdfast.ports.models import ModelFailed
from holdfast.ports.workspaces import NoWorkspace, TooManyWorkspaces, WorkspaceUnusable

FAMILIES = {
    *(HoldfastError, errors.ChatError, errors.OverQuota, edge.EdgeError, edge.BadRequest),
    *(denials.IdentityError, denials.AccountRefused),
}
"""Only their members are raised."""
OF_WORKERS = {errors.FenceStale, ModelFailed}
"""No request raises them: if one did, it would be our mistake."""
ID = UUID(int=7)


def tree(family: type[HoldfastError] = HoldfastError) -> set[type[HoldfastError]]:
    """What a request can raise: the errors of the packages that the API imports."""
    assert app
    below = {each for sub in family.__subclasses__() for each in tree(sub)}
    ours = ("holdfast.domain.", "holdfast.ports.", "holdfast.api.", "holdfast.chats.")
    return {family, *(each for each in below if each.__module__.startswith(ours))}


def test_every_error_has_a_row() -> None:
    for error in tree():
        assert error.code in KINDS, error


def test_every_row_has_an_error() -> None:
    assert {error.code for error in tree() - FAMILIES} == set(KINDS)


def test_an_error_without_a_code_is_a_family_or_of_a_worker() -> None:
    uncoded = {error for error in tree() if error.code == "internal"}
    assert uncoded == FAMILIES | OF_WORKERS | {edge.InternalError}


def body_of(error: HoldfastError) -> Mapping[str, Any]:
    return orjson.loads(bytes(problem_of(error).body))


def refused(error: type[errors.CommandRefused]) -> errors.CommandRefused:
    return error(ChatId(ID), "idle", "Retry", "nothing failed")


REFUSED = f"Retry refused for chat {ID} (idle): nothing failed"
STANDING = {"standing": "idle", "command": "Retry"}
UNSEEN = "The database cannot be written at the moment. Try again later."


@pytest.mark.parametrize(
    ("error", "code", "more"),
    [
        (refused(errors.NotLawful), "not_lawful", {"detail": REFUSED, **STANDING}),
        (refused(errors.ReplyOwed), "command_refused", {"detail": REFUSED, **STANDING}),
        (errors.Unavailable("of a host"), "unavailable", {}),
        (errors.Contended("of a host"), "unavailable", {}),
        (errors.DatabaseReadOnly("of a host"), "unavailable", {"detail": UNSEEN}),
        (edge.NotReady(errors.Unavailable("of a host")), "unavailable", {"detail": UNSEEN}),
        (errors.ChatTooNew(ChatId(ID), 3, 2), "upgrading", {}),
        (
            errors.TooManyStatements(4),
            "too_many_statements",
            {"detail": "4 statements of the same user wait already"},
        ),
        (
            errors.ChangedMeanwhile(),
            "precondition_failed",
            {"detail": "changed meanwhile; look again"},
        ),
        (
            edge.PreconditionFailed('"1"'),
            "precondition_failed",
            {"detail": "what was seen is no longer what is there", "etag": '"1"'},
        ),
        (
            denials.FieldRefused("email", "no address"),
            "field_refused",
            {
                "detail": "email: no address",
                "errors": [{"where": "email", "what": "email: no address"}],
            },
        ),
        (
            denials.OidcRefused("state", "for the log"),
            "login_refused",
            {"detail": "login refused: state", "reason": "state"},
        ),
        (
            denials.AlreadyMade(ID),
            "already_made",
            {
                "detail": "made before, under this key; revoke it and ask under another one",
                "made_id": str(ID),
            },
        ),
        (NoWorkspace("There is none."), "no_workspace", {"detail": "There is none."}),
        (edge.NotAuthenticated(), "not_authenticated", {}),
        (edge.NoSuchProvider(), "not_found", {}),
        (edge.Overloaded(), "overloaded", {}),
        (edge.InternalError("a1"), "internal", {"id": "a1"}),
        (edge.MalformedJson("no JSON"), "malformed_json", {"detail": "no JSON"}),
    ],
)
def test_a_problem_says_what_the_error_says(
    error: HoldfastError, code: str, more: Mapping[str, Any]
) -> None:
    kind = KINDS[code]
    head = {"type": f"urn:holdfast:problem:{code}", "title": kind.title, "status": kind.status}
    assert body_of(error) == {**head, "code": code, **more}
    assert problem_of(error).status_code == kind.status


@pytest.mark.parametrize(
    ("error", "headers"),
    [
        (edge.NotAuthenticated(), {"www-authenticate": "Bearer"}),
        (edge.PreconditionFailed('"1"'), {"etag": '"1"'}),
        (edge.MethodNotAllowed("no", "GET, PUT"), {"allow": "GET, PUT"}),
        (edge.MethodNotAllowed("no", None), {}),
        (errors.ChatBusy(ChatId(ID), 5), {"retry-after": "1"}),
        (errors.Unavailable("away", retry_after_s=6.5), {"retry-after": "7"}),
        (edge.NotReady(errors.Unavailable("away", retry_after_s=6.5)), {"retry-after": "7"}),
        (errors.FormatUnknown("new"), {"retry-after": "30"}),
        (denials.Throttled(0.2), {"retry-after": "1"}),
        (edge.TooManyRequests(2.5), {"retry-after": "3"}),
        (edge.Overloaded(), {"retry-after": "1"}),
        (TooManyWorkspaces(3), {}),
        (WorkspaceUnusable("no"), {}),
    ],
)
def test_headers_follow_the_error(error: HoldfastError, headers: Mapping[str, str]) -> None:
    always = {"content-type", "content-length"}
    sent = problem_of(error).headers
    assert {name: sent[name] for name in sent if name not in always} == headers


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (HTTPException(404), edge.NoSuchRoute("Not Found")),
        (HTTPException(405), edge.MethodNotAllowed("Method Not Allowed", None)),
        (
            HTTPException(405, headers={"Allow": "GET"}),
            edge.MethodNotAllowed("Method Not Allowed", "GET"),
        ),
        (HTTPException(418, "teapot"), edge.RequestNotAnswered("teapot")),
        (
            RequestValidationError([{"loc": ("body", 1), "msg": "too long", "input": "secret"}]),
            edge.InvalidRequest([{"where": "body.1", "what": "too long"}]),
        ),
    ],
)
def test_an_error_of_the_framework_becomes_one_of_ours(
    raised: Exception, error: HoldfastError
) -> None:
    found = translated(raised)
    assert type(found) is type(error)
    assert body_of(found) == body_of(error)
    assert dict(problem_of(found).headers) == dict(problem_of(error).headers)


def test_an_error_of_ours_is_translated_to_itself() -> None:
    error = edge.BodyTooLarge("at most 10 bytes")
    assert translated(error) is error


def test_an_error_outside_the_tree_has_no_problem() -> None:
    with pytest.raises(KeyError):
        translated(KeyError("ours"))


def test_wrong_fields_are_bounded() -> None:
    wrong = [{"loc": ("body",), "msg": "no"}] * (ERRORS_SHOWN_MAX + 5)
    assert len(body_of(translated(RequestValidationError(wrong)))["errors"]) == ERRORS_SHOWN_MAX
