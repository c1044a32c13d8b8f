"""How names and addresses are kept."""

import pytest

from holdfast.domain.accounts import EMAIL_CHARS_MAX, NAME_CHARS_MAX, clean_email, clean_name
from holdfast.domain.denials import FieldRefused


def test_an_address_has_one_form_however_it_is_written() -> None:
    assert clean_email("  Ada@Example.ORG ") == "ada@example.org"
    assert clean_email("\uff41da@example.org") == "ada@example.org", "a wide letter is a letter"


@pytest.mark.parametrize(
    "email",
    [
        *("", "ada", "@example.org", "ada@", "a@b@example.org"),
        *("a da@example.org", "ada\x00@example.org", "a" * EMAIL_CHARS_MAX + "@example.org"),
    ],
)
def test_what_is_no_address_is_refused(email: str) -> None:
    with pytest.raises(FieldRefused, match="email"):
        clean_email(email)


def test_a_name_is_kept_without_its_margins() -> None:
    assert clean_name(" Ada Lovelace ") == "Ada Lovelace"


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * (NAME_CHARS_MAX + 1)])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(FieldRefused, match="title"):
        clean_name(name, "title")
