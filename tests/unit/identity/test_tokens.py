"""What our secrets look like."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.identity.tokens import api_key_of, hashed, is_api_key, is_token, token_of

SECRETS = st.binary(min_size=32, max_size=32)


@given(SECRETS)
def test_a_secret_makes_a_key_and_a_token_that_are_known_as_such(secret: bytes) -> None:
    key, token = api_key_of(secret), token_of(secret)
    assert is_api_key(key)
    assert is_token(token)
    assert not is_api_key(token)
    assert not is_token(key)
    assert (len(key), len(token)) == (54, 43)
    assert key.startswith("hfst_")
    assert key[5:].isalnum()


@given(SECRETS, SECRETS)
def test_different_secrets_make_different_keys(one: bytes, other: bytes) -> None:
    assert (api_key_of(one) == api_key_of(other)) == (one == other)
    assert (hashed(api_key_of(one)) == hashed(api_key_of(other))) == (one == other)


@given(SECRETS, st.integers(5, 53), st.sampled_from("0aZ_-é"))
def test_a_key_with_a_slip_in_it_is_none(secret: bytes, at: int, letter: str) -> None:
    key = api_key_of(secret)
    slipped = key[:at] + letter + key[at + 1 :]
    assert is_api_key(slipped) == (slipped == key)


@given(st.text(max_size=60))
def test_no_text_is_taken_for_a_key_by_chance_or_breaks_anything(text: str) -> None:
    assert not is_api_key(text)
    assert len(hashed(text)) == 32


def test_the_whole_range_fits() -> None:
    assert token_of(bytes(32)) == "0" * 43
    assert len(token_of(b"\xff" * 32)) == 43
    assert is_token(token_of(b"\xff" * 32))
    assert not is_token(token_of(b"\xff" * 32) + "\n")
