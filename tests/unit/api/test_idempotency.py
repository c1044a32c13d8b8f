"""The digest of a keyed request: equal JSON is the same request, and no other."""

import pytest

from holdfast.api.idempotency import digest_of

PLAIN = b'{"text":"a","n":{"b":1,"c":[1,2]}}'


def digest(body: bytes) -> bytes:
    return digest_of("POST", "/api/v1/chats", body)


@pytest.mark.parametrize(
    "body",
    [
        b' { "text" : "a",\n "n": {"b":1, "c": [1, 2]} }',
        b'{"n":{"c":[1,2],"b":1},"text":"a"}',
        b'{"text":"\\u0061","n":{"b":1,"c":[1,2]}}',
    ],
    ids=["white space", "order of fields", "escapes"],
)
def test_equal_json_has_one_digest(body: bytes) -> None:
    assert digest(body) == digest(PLAIN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"n":1}', b'{"n":1.0}'),
        (b'{"n":1}', b'{"n":"1"}'),
        (b'{"n":1}', b'{"n":true}'),
        (b'{"n":9007199254740993}', b'{"n":9007199254740992}'),
        (b'{"n":36893488147419103233}', b'{"n":36893488147419103232}'),
        (b'{"n":0.1}', b'{"n":0.1000000000000000055}'),
        (b'{"n":[1,2]}', b'{"n":[2,1]}'),
        (b'{"n":null}', b"{}"),
        (b"", b"{}"),
        (b"{", b"{ "),
        (b'{"n":NaN}', b'{"n":null}'),
        (b'{"n":"\\ud800"}', b'{"n":"\\ud801"}'),
        (b"[" * 100_000, b"[" * 100_001),
    ],
)
def test_other_json_has_another_digest(one: bytes, other: bytes) -> None:
    assert digest(one) != digest(other)


def test_method_and_path_are_part_of_it() -> None:
    one = digest_of("POST", "/a", b"{}")
    assert one not in (digest_of("PUT", "/a", b"{}"), digest_of("POST", "/b", b"{}"))
