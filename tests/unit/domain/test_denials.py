"""A refusal tells its reader enough to act on, and nothing about other users."""

from uuid import UUID

import pytest

from holdfast.domain.denials import (
    OIDC_REASONS,
    AlreadyMade,
    EmailTaken,
    IdentityError,
    LastAdmin,
    LinkNotValid,
    NotFound,
    OidcRefused,
    Throttled,
    WrongCredentials,
)
from holdfast.domain.errors import ContentRefused, MessageNotFound
from holdfast.domain.ids import ApiKeyId, ChatId

ID = UUID(int=7)


@pytest.mark.parametrize(
    ("denial", "said"),
    [
        (NotFound("user", ID), f"User user_{ID.hex} was not found."),
        (WrongCredentials(), "The e-mail address or the password is wrong."),
        (Throttled(2.5), "Too many attempts to sign in. Wait before the next one."),
        (EmailTaken(), "Another account has this e-mail address."),
        (LastAdmin(), "An organisation keeps at least one admin."),
        (
            AlreadyMade(ApiKeyId(ID)),
            "The secret is shown once and not stored. Revoke this API key and create another one.",
        ),
    ],
)
def test_each_says_why(denial: IdentityError, said: str) -> None:
    assert str(denial) == said


def test_what_a_caller_needs_is_no_part_of_a_sentence() -> None:
    assert Throttled(2.5).retry_after_s == 2.5
    assert AlreadyMade(ApiKeyId(ID)).api_key_id == ID


@pytest.mark.parametrize("reason", sorted(OIDC_REASONS))
def test_the_detail_of_a_refused_login_is_for_the_log_only(reason: str) -> None:
    refused = OidcRefused(reason, "the nonce was another one")
    assert (refused.reason, refused.detail) == (reason, "the nonce was another one")
    assert "nonce" not in str(refused)


def test_a_reason_that_no_page_knows_is_our_mistake() -> None:
    with pytest.raises(AssertionError):
        OidcRefused("weather", "")


def test_a_refusal_about_a_message_names_message_and_chat() -> None:
    said = str(MessageNotFound(ChatId(ID), 3))
    assert said == f"Message 3 is not in the history of chat chat_{ID.hex}."


def test_a_refusal_of_content_is_a_sentence() -> None:
    assert ContentRefused("the text is too large").sentence == "The text is too large."


def test_a_link_that_is_not_valid_says_how_to_sign_in() -> None:
    assert str(LinkNotValid()).endswith("Sign in with e-mail and password.")
