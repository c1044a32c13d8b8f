"""The page: files that were built into `static/` before the wheel, served from memory.

Only files that were there at the start are known, by their exact paths: nothing is looked up on
disk. Names under `assets/` carry a hash of their content and never change; everything else is asked
for anew. An address that the page itself understands (`/chats/…`, `/settings`) is answered with
`index.html`, but only to browsers that want a page: programs get the API's own 404.

The page works under any path prefix, and no setting has to name it: addresses in `index.html` are
relative, and how many steps up they begin is seen from the path that was asked for.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

STATIC: Final = Path(__file__).parent / "static"
NOT_BUILT: Final = (
    "The page is not built. In the sources, run `just ui` (it needs Node), and start the server"
    " again. The API is at /api/v1, and `holdfast chat` needs no page.\n"
)
_INDEX: Final = "/index.html"
_DIAGRAM: Final = "/diagram.html"
_ASSETS: Final = "/assets/"
_NONCE: Final = "HOLDFAST_NONCE"
_IMAGE_HOSTS: Final = "HOLDFAST_IMAGE_HOSTS"
_RELATIVE: Final = '="./'
"""How every address begins in `index.html` as it is built."""
_MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}
_OF_A_WORKER: Final = "default-src 'none'; script-src 'self'"
"""What a script may load that runs as a worker, which has the policy of its own file."""
_OF_DIAGRAMS: Final = "; ".join(
    (
        "sandbox allow-scripts",
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'unsafe-inline'",
        "frame-ancestors 'self'",
        "form-action 'none'",
        "base-uri 'none'",
    )
)
"""Of the frame that draws diagrams: an origin of its own, and no network but for scripts of ours.

What a model wrote is drawn there. It may become styles, and nothing else.
"""
_PACKED: Final[Mapping[str, str]] = {".br": "br", ".gz": "gzip"}  # the better one first


@dataclass(frozen=True, slots=True)
class StaticFile:
    """`packed`: the same by content encoding."""

    content: bytes
    media_type: str
    tag: str
    packed: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def files_in(folder: Path) -> dict[str, StaticFile]:
    """By the path that a browser asks for; empty if the page was not built."""
    found: dict[str, StaticFile] = {}
    for path in sorted(folder.rglob("*")):
        media_type = _MEDIA_TYPES.get(path.suffix)
        if media_type is None or not path.is_file():
            continue  # a packed sibling, or nothing of ours
        content = path.read_bytes()
        siblings = {name: path.with_name(path.name + end) for end, name in _PACKED.items()}
        found["/" + path.relative_to(folder).as_posix()] = StaticFile(
            content,
            media_type,
            f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            {name: each.read_bytes() for name, each in siblings.items() if each.is_file()},
        )
    return found


def policy(nonce: str, image_hosts: Sequence[str] = ()) -> str:
    """What the page may load and run: its own files, and nothing that a model could name but
    pictures of the hosts that an administrator trusts.

    Styles by nonce are those that primitives make at run time. No `data:`, no other origin, no
    `eval`, and no string becomes a script (trusted types).
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            " ".join(("img-src 'self' blob:", *(f"https://{host}" for host in image_hosts))),
            "font-src 'self'",
            "connect-src 'self'",
            "worker-src 'self'",
            "frame-src 'self'",
            "manifest-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
        )
    )


class UiFiles:
    """What answers where the API has no route."""

    def __init__(
        self,
        otherwise: ASGIApp,
        files: Mapping[str, StaticFile],
        new_nonce: Callable[[], str] = lambda: secrets.token_urlsafe(18),
        *,
        image_hosts: Sequence[str] = (),
    ) -> None:
        self._otherwise = otherwise
        self._files = files
        self._new_nonce = new_nonce
        self._image_hosts = image_hosts
        index = files.get(_INDEX)
        self._index = (
            None
            if index is None
            else index.content.decode().replace(_IMAGE_HOSTS, " ".join(image_hosts))
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._response(scope)
        await (self._otherwise if response is None else response)(scope, receive, send)

    def _response(self, scope: Scope) -> Response | None:
        path: str = scope["path"]
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or _is_api(path):
            return None
        headers = Headers(scope=scope)
        file = self._files.get(path) if path != _INDEX else None
        if file is not None:
            return _file(path, file, headers)
        if path.startswith(_ASSETS) or "text/html" not in headers.get("accept", ""):
            return None  # a missing file must not look like one that is there
        if self._index is None:
            return PlainTextResponse(NOT_BUILT, 404)
        return self._front(self._index, _steps_up(scope))

    def _front(self, index: str, up: str) -> Response:
        nonce = self._new_nonce()
        html = index.replace(_NONCE, nonce).replace(_RELATIVE, f'="{up}')
        return Response(
            html,
            media_type=_MEDIA_TYPES[".html"],
            # Without a tag: a page from the cache would carry the nonce of another answer.
            headers={
                "cache-control": "no-cache",
                "content-security-policy": policy(nonce, self._image_hosts),
                "cross-origin-opener-policy": "same-origin",
                "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=()",
            },
        )


def _is_api(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


def _steps_up(scope: Scope) -> str:
    """From the address that was asked for to where the page's files are."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()  # as the browser counts slashes
    return "../" * (raw.partition(b"?")[0].count(b"/") - 1) or "./"


def _file(path: str, file: StaticFile, headers: Headers) -> Response:
    forever = path.startswith(_ASSETS)
    cache = "public, max-age=31536000, immutable" if forever else "no-cache"
    said = {"cache-control": cache, "etag": file.tag, "vary": "accept-encoding"}
    if file.media_type == _MEDIA_TYPES[".js"]:
        said["content-security-policy"] = _OF_A_WORKER
        said["access-control-allow-origin"] = "*"  # the frame has no origin, and they hold no data
    elif path == _DIAGRAM:
        said["content-security-policy"] = _OF_DIAGRAMS
    if headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=said)
    wanted = {
        each.partition(";")[0].strip() for each in headers.get("accept-encoding", "").split(",")
    }
    for encoding, content in file.packed.items():
        if encoding in wanted:
            packed = {**said, "content-encoding": encoding}
            return Response(content, media_type=file.media_type, headers=packed)
    return Response(file.content, media_type=file.media_type, headers=said)
