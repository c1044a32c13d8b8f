"""What the edge must know about browsers: cookies, and which requests a cookie may speak for."""

from collections.abc import Collection
from typing import Final, Literal, TypedDict

# `__Host-`: only over TLS, only for this host, only for the whole of it; no other host of the same
# domain can set or overwrite it.
SIGN_IN_COOKIE: Final = "__Host-holdfast"
BROWSER_COOKIE: Final = "__Host-holdfast-browser"
"""No credential: by it an account knows the browser, and counts its guesses apart."""
OIDC_COOKIE: Final = "__Host-holdfast-oidc"


class CookieAttributes(TypedDict):
    path: str
    secure: bool
    httponly: bool
    samesite: Literal["lax"]


COOKIE_ATTRIBUTES: Final[CookieAttributes] = {
    "path": "/",
    "secure": True,
    "httponly": True,
    # Not "strict": a user who returns from an identity provider, or follows a link to a chat, is
    # signed in. Requests that change something are guarded by `origin_allowed`.
    "samesite": "lax",
}

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES: Final = frozenset({"same-origin", "none"})


def origin_allowed(
    *,
    own_origins: Collection[str],
    method: str,
    origin: str | None,
    sec_fetch_site: str | None,
    opens: Literal["answer", "stream", "websocket"] = "answer",
) -> bool:
    """Whether a request that is authenticated by a cookie may be from our own pages.

    For keys in a header this need not be asked: no browser sends them unasked. `own_origins` are
    as browsers say them (`https://chat.example`). What cannot be told is refused, but for reading.
    """
    if origin is not None and origin.lower() not in own_origins:
        return False
    if opens == "websocket":
        # Browsers apply no same-origin policy to these, and always say where they come from.
        return origin is not None
    ours = sec_fetch_site in _OWN_SITES or (sec_fetch_site is None and origin is not None)
    if opens == "stream":
        return ours or sec_fetch_site is None
    return ours or method.upper() in _SAFE_METHODS


def safe_path(path: str | None) -> str:
    """A path of ours to go on to after a login; anything else is the front page."""
    if (
        path is None
        or not path.startswith("/")
        or path.startswith(("//", "/\\"))
        or "\\" in path
        or not path.isprintable()
        or not path.isascii()
        or len(path) > 2_000
    ):
        return "/"
    return path
