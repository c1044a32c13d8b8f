"""The page: its files, its addresses, and what it may load."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest
import yarl

from holdfast.api import app
from holdfast.api.ui_files import NOT_BUILT
from tests.support.replica import Replicas
from tests.support.web import Answer, Cell, a_cell

HTML: Final = "text/html,application/xhtml+xml,*/*;q=0.8"
INDEX: Final = (
    '<meta name="image-hosts" content="HOLDFAST_IMAGE_HOSTS" />'
    '<meta property="csp-nonce" nonce="HOLDFAST_NONCE">'
    '<script src="./assets/index-abc.js" nonce="HOLDFAST_NONCE"></script>'
)
SCRIPT: Final = b"export const answer = 42;"
HOSTILE: Final = (
    "/../../pyproject.toml",
    "/..%2f..%2fpyproject.toml",
    "/assets/../index.html",
    "/assets/%2e%2e/%2e%2e/page.py",
    "//etc/passwd",
    "/static/index.html",
)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page as `just ui` would build it."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (tmp_path / "diagram.html").write_text("<!doctype html>")
    (tmp_path / "theme.js").write_text("// theme")
    (tmp_path / "assets" / "index-abc.js").write_bytes(SCRIPT)
    (tmp_path / "assets" / "index-abc.js.br").write_bytes(b"brotli")
    (tmp_path / "assets" / "index-abc.js.gz").write_bytes(b"gzip")
    (tmp_path / "assets" / "secret.pem").write_bytes(b"not a file of ours")
    monkeypatch.setattr(app, "STATIC", tmp_path)
    return tmp_path


@pytest.fixture
async def served(empty: Replicas, built: Path) -> AsyncGenerator[Cell]:
    async with a_cell(empty) as cell:
        yield cell


async def test_files_are_kept_as_long_as_they_hold_and_sent_packed(served: Cell) -> None:
    script = await served.nobody.get("/assets/index-abc.js", accept_encoding="identity")
    assert (script.status, script.raw) == (200, SCRIPT)
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in script.headers["cache-control"]
    assert script.headers["x-content-type-options"] == "nosniff"
    policy = script.headers["content-security-policy"]
    assert policy == "default-src 'none'; script-src 'self'", "for scripts that are workers"

    assert script.headers["access-control-allow-origin"] == "*", "for a frame without an origin"

    theme = await served.nobody.get("/theme.js")
    assert theme.headers["cache-control"] == "no-cache"
    again = await served.nobody.get("/theme.js", if_none_match=theme.headers["etag"])
    assert (again.status, again.raw) == (304, b"")

    for accepted, encoding, content in (
        ("gzip, deflate, br", "br", b"brotli"),
        ("gzip;q=1.0", "gzip", b"gzip"),
        ("deflate", None, SCRIPT),
    ):
        async with served.nobody.http.get(
            f"{served.nobody.url}/assets/index-abc.js",
            headers={"accept-encoding": accepted},
            auto_decompress=False,
        ) as response:
            assert response.headers.get("content-encoding") == encoding
            assert response.headers["vary"] == "accept-encoding"
            assert await response.read() == content


async def test_the_page_works_under_any_prefix_and_loads_its_own_files_only(served: Cell) -> None:
    for path, up in (
        ("/", "./"),
        ("/sign-in", "./"),
        ("/chats/1", "../"),
        ("/settings/users/", "../../"),
    ):
        page = await served.nobody.get(path, accept=HTML)
        assert page.status == 200
        assert f'src="{up}assets/index-abc.js"' in page.raw.decode()
        assert page.headers["cache-control"] == "no-cache"
        assert "etag" not in page.headers

    pages = [await served.nobody.get("/", accept=HTML) for _ in range(2)]
    nonces = [_nonce(page) for page in pages]
    assert nonces[0] != nonces[1]
    for page, nonce in zip(pages, nonces, strict=True):
        assert page.headers["cross-origin-opener-policy"] == "same-origin"
        assert "microphone=()" in page.headers["permissions-policy"]
        policies = page.headers.getall("content-security-policy")
        assert len(policies) == 1
        rules = dict(each.split(" ", 1) for each in policies[0].split("; "))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == "'self'"
        assert rules["style-src"] == f"'self' 'nonce-{nonce}'"
        assert rules["img-src"] == "'self' blob:"
        assert rules["connect-src"] == rules["frame-src"] == "'self'"
        assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
        assert "unsafe" not in policies[0]
        assert "http" not in policies[0]
        assert '<meta name="image-hosts" content="" />' in page.raw.decode()


async def test_diagrams_are_drawn_in_a_frame_that_reaches_nothing(served: Cell) -> None:
    frame = await served.nobody.get("/diagram.html", accept=HTML)
    assert (frame.status, frame.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "access-control-allow-origin" not in frame.headers
    (policy,) = frame.headers.getall("content-security-policy")
    rules = dict(each.split(" ", 1) for each in policy.split("; "))
    assert rules == {
        "sandbox": "allow-scripts",
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'unsafe-inline'",
        "frame-ancestors": "'self'",
        "form-action": "'none'",
        "base-uri": "'none'",
    }


async def test_pictures_come_from_the_hosts_that_an_administrator_names(
    empty: Replicas, built: Path
) -> None:
    async with a_cell(empty, image_hosts="pictures.example,localhost:8443") as cell:
        page = await cell.nobody.get("/", accept=HTML)
    assert '<meta name="image-hosts" content="pictures.example localhost:8443" />' in (
        page.raw.decode()
    )
    rules = dict(each.split(" ", 1) for each in page.headers["content-security-policy"].split("; "))
    assert rules.pop("img-src") == ("'self' blob: https://pictures.example https://localhost:8443")
    assert "http" not in str(rules), "for nothing else"


def _nonce(page: Answer) -> str:
    found = re.search(r'property="csp-nonce" nonce="([\w-]+)"', page.raw.decode())
    assert found is not None
    return found[1]


async def test_programs_and_missing_files_get_the_answers_of_the_api(served: Cell) -> None:
    for path, accept in (
        ("/", "*/*"),
        ("/chats/1", "application/json"),
        ("/api/v1/nowhere", HTML),
        ("/api", HTML),
        ("/assets/index-old.js", HTML),
        ("/assets/secret.pem", HTML),
    ):
        answer = await served.nobody.get(path, accept=accept)
        assert answer.code == "route_not_found", path
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert (await served.nobody.ask("POST", "/chats/1", {}, accept=HTML)).code == "route_not_found"
    for path in HOSTILE:
        async with served.nobody.http.get(
            yarl.URL(served.nobody.url + path, encoded=True), headers={"accept": HTML}
        ) as response:
            raw = await response.read()
        assert response.status == 404 or b"csp-nonce" in raw, "the page, or nothing"


async def test_without_a_page_a_browser_is_told_how_to_build_it(
    empty: Replicas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "STATIC", tmp_path / "not there")
    async with a_cell(empty) as cell:
        page = await cell.nobody.get("/", accept=HTML)
        assert (page.status, page.raw.decode()) == (404, NOT_BUILT)
        assert (await cell.nobody.get("/")).code == "route_not_found"
