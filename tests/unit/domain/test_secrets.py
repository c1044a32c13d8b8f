"""Where a secret stands, and what is said of one that cannot be stored or read."""

from uuid import UUID

from holdfast.domain.errors import NameTaken, SecretsOff, SecretUnreadable
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import PROVIDER_CREDENTIAL

ORG, OTHER = OrgId(UUID(int=1)), OrgId(UUID(int=2))
ROW = UUID(int=3)


def test_the_place_of_a_secret_names_organisation_table_row_and_column() -> None:
    place = PROVIDER_CREDENTIAL.place(ORG, ROW)

    assert place.associated == f"v1|{ORG}|providers|{ROW}|credential".encode()
    assert PROVIDER_CREDENTIAL.place(OTHER, ROW).associated != place.associated


def test_a_refusal_says_what_the_administrator_can_do() -> None:
    assert "Set HOLDFAST_MASTER_KEY_FILE" in str(SecretsOff())
    assert "Enter it again" in str(SecretUnreadable())
    assert str(NameTaken("gpt")) == "The name 'gpt' is taken. Choose another one."
