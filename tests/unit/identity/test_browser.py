"""Which requests a cookie may speak for."""

from typing import Any

import pytest

from holdfast.identity.browser import (
    COOKIE_ATTRIBUTES,
    OIDC_COOKIE,
    SIGN_IN_COOKIE,
    origin_allowed,
    safe_path,
)

OWN = "https://chat.example"
ELSEWHERE = "https://evil.example"


def allowed(
    method: str = "POST",
    origin: str | None = None,
    site: str | None = None,
    opens: Any = "answer",
) -> bool:
    return origin_allowed(
        own_origins=frozenset({OWN}),
        method=method,
        origin=origin,
        sec_fetch_site=site,
        opens=opens,
    )


@pytest.mark.parametrize(
    ("expected", "method", "origin", "site", "opens"),
    [
        (True, "POST", OWN, "same-origin", "answer"),
        (True, "POST", OWN, None, "answer"),  # an older browser
        (True, "DELETE", None, "same-origin", "answer"),
        (True, "POST", None, "none", "answer"),  # typed by the user
        (False, "POST", None, None, "answer"),  # cannot be told
        (False, "post", ELSEWHERE, "cross-site", "answer"),
        (False, "POST", ELSEWHERE, None, "answer"),
        (False, "POST", None, "cross-site", "answer"),
        (False, "POST", None, "same-site", "answer"),  # another host of the same domain
        (False, "POST", OWN, "cross-site", "answer"),
        (False, "POST", "null", None, "answer"),  # a sandboxed frame
        (False, "POST", "https://chat.example.evil.example", None, "answer"),
        (False, "POST", "http://chat.example", None, "answer"),
        (False, "POST", "https://chat.example:8443", None, "answer"),
        (False, "PATCH", None, "", "answer"),
        (True, "GET", None, None, "answer"),
        (True, "GET", None, "cross-site", "answer"),  # a link is followed
        (True, "head", None, "cross-site", "answer"),
        (False, "GET", ELSEWHERE, "cross-site", "answer"),
        (True, "GET", None, "same-origin", "stream"),
        (True, "GET", OWN, None, "stream"),
        (True, "GET", None, None, "stream"),
        (False, "GET", None, "cross-site", "stream"),
        (False, "GET", None, "same-site", "stream"),
        (False, "GET", ELSEWHERE, None, "stream"),
        (True, "GET", OWN, None, "websocket"),
        (True, "GET", "HTTPS://CHAT.EXAMPLE", None, "websocket"),
        (False, "GET", None, None, "websocket"),
        (False, "GET", None, "same-origin", "websocket"),
        (False, "GET", ELSEWHERE, "same-origin", "websocket"),
        (False, "GET", "null", None, "websocket"),
    ],
)
def test_a_cookie_speaks_only_for_our_own_pages(
    *, expected: bool, method: str, origin: str | None, site: str | None, opens: str
) -> None:
    assert allowed(method, origin, site, opens) is expected


def test_cookies_are_bound_to_the_host() -> None:
    assert SIGN_IN_COOKIE.startswith("__Host-")
    assert OIDC_COOKIE.startswith("__Host-")
    assert COOKIE_ATTRIBUTES == {
        "path": "/",
        "secure": True,
        "httponly": True,
        "samesite": "lax",
    }


@pytest.mark.parametrize("path", ["/", "/chats/1?x=y#z", "/a//b"])
def test_a_path_of_ours_is_gone_on_to(path: str) -> None:
    assert safe_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        None,
        "",
        "chats",
        "//evil.example",
        "/\\evil.example",
        "/a\\b",
        "https://evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/a\nset-cookie: x",
        "/\u202e",
        "/" + "a" * 3000,
    ],
)
def test_anything_else_is_the_front_page(path: str | None) -> None:
    assert safe_path(path) == "/"
