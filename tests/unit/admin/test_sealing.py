"""A ciphertext opens with its key, at its place, and nowhere else."""

import base64
from itertools import permutations
from uuid import UUID

import pytest

from holdfast.admin.secrets.sealing import (
    CannotOpen,
    MasterKey,
    MasterKeys,
    new_data_key,
    new_key_id,
    open_sealed,
    parse_master_keys,
    seal,
    unwrap,
    wrap,
)
from holdfast.domain.ids import OrgId
from holdfast.domain.secrets import Sealed, SecretPlace, fingerprint, last_four

A, B = OrgId(UUID(int=1)), OrgId(UUID(int=2))
ROW, OTHER = UUID(int=3), UUID(int=4)
PLACES = [
    SecretPlace(A, "providers", ROW, "credential"),
    SecretPlace(B, "providers", ROW, "credential"),
    SecretPlace(A, "hooks", ROW, "credential"),
    SecretPlace(A, "providers", OTHER, "credential"),
    SecretPlace(A, "providers", ROW, "token"),
]


def test_any_two_swapped_ciphertexts_are_refused() -> None:
    key_id, key = new_key_id().bytes, new_data_key()
    blobs = {place: seal(key_id, key, place, b"secret") for place in PLACES}
    for place, foreign in permutations(PLACES, 2):
        with pytest.raises(CannotOpen):
            open_sealed(key, place, Sealed.decode(blobs[foreign]))
    for place, blob in blobs.items():
        assert open_sealed(key, place, Sealed.decode(blob)) == b"secret"


def test_a_changed_byte_is_refused() -> None:
    key = new_data_key()
    blob = seal(new_key_id().bytes, key, PLACES[0], b"secret")
    for index in range(1 + 16, len(blob)):
        changed = bytearray(blob)
        changed[index] ^= 1
        with pytest.raises(CannotOpen):
            open_sealed(key, PLACES[0], Sealed.decode(bytes(changed)))


def test_the_same_secret_is_sealed_differently_each_time() -> None:
    key_id, key = new_key_id().bytes, new_data_key()
    assert len({seal(key_id, key, PLACES[0], b"secret") for _ in range(100)}) == 100


@pytest.mark.parametrize("blob", [b"", b"\x01" * 44, b"\x02" + b"x" * 60])
def test_what_has_not_the_form_of_a_ciphertext_is_refused(blob: bytes) -> None:
    with pytest.raises(ValueError, match="not a ciphertext"):
        Sealed.decode(blob)


def test_a_data_key_is_unwrapped_for_its_organisation_and_id_only() -> None:
    master, key, key_id = MasterKey.of(bytes(32)), new_data_key(), new_key_id()
    wrapped = wrap(master, A, key_id, key)
    masters = MasterKeys([MasterKey.of(b"x" * 32), master])
    assert unwrap(masters, A, key_id, wrapped) == key
    for org_id, other in ((B, key_id), (A, new_key_id())):
        with pytest.raises(CannotOpen):
            unwrap(masters, org_id, other, wrapped)
    with pytest.raises(CannotOpen):
        unwrap(MasterKeys([MasterKey.of(b"x" * 32)]), A, key_id, wrapped)


def test_master_keys_are_lines_of_base64_or_hex() -> None:
    text = f"# two\n{base64.b64encode(b'a' * 32).decode()}\n\n{(b'b' * 32).hex()}\n"
    found = parse_master_keys(text)
    assert [key.secret for key in found.keys] == [b"a" * 32, b"b" * 32]
    assert found.first.id not in found.first.secret
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    "text", ["", "# none", "c2hvcnQ=", "not base64!", "00" * 31, "\n".join(["00" * 32] * 11)]
)
def test_wrong_master_keys_are_not_quoted(text: str) -> None:
    with pytest.raises(ValueError) as wrong:  # noqa: PT011 - its text is compared
        parse_master_keys(text)
    assert not text or text not in str(wrong.value)


def test_a_fingerprint_tells_secrets_and_organisations_apart() -> None:
    assert len({fingerprint(org, each) for org in (A, B) for each in ("one", "two")}) == 4


def test_of_a_short_secret_nothing_is_shown() -> None:
    assert last_four("sk-0123456789abcd") == "abcd"
    assert last_four("password") == ""
