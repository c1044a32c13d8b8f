"""What comes in may be anything; what goes out is an answer of the contract, or a problem."""

import asyncio
import logging
from dataclasses import replace
from typing import Any, Final

import aiohttp
import pytest

from holdfast.api import responses as shapes
from holdfast.api.problems import KINDS
from holdfast.bootstrap import Adapters
from holdfast.domain import errors
from tests.requirements import requirement
from tests.support.identity import PASSWORD
from tests.support.replica import Replicas
from tests.support.web import ADMIN_EMAIL, OUR_ORIGIN, Answer, Cell, a_cell

SAY: Final = b'{"text": %b}'
UNKNOWN: Final = "01890000-0000-7000-8000-000000000000"


def well_formed(answer: Answer, code: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json", answer.raw
    told = shapes.Problem.model_validate(answer.json)
    assert (told.code, told.status) == (code, answer.status), answer.raw
    assert told.type == f"urn:holdfast:problem:{code}"
    assert KINDS[code].status == answer.status
    assert b"Traceback" not in answer.raw
    assert answer.headers["x-content-type-options"] == "nosniff"


HOSTILE: Final[list[tuple[str, bytes, str]]] = [
    ("nothing", b"", "invalid_request"),
    ("no JSON", b"{", "malformed_json"),
    ("NaN", SAY % b"NaN", "malformed_json"),
    ("a number past all bounds", SAY % b"1e400", "malformed_json"),
    ("a lone surrogate", SAY % rb'"\ud800"', "malformed_json"),
    ("no UTF-8", SAY % b'"\xff"', "malformed_json"),
    ("bottomless", b'{"text":' + b"[" * 5_000 + b"]" * 5_000 + b"}", "malformed_json"),
    ("deep", b'{"text":' + b"[" * 150 + b"]" * 150 + b"}", "malformed_json"),
    ("a long integer", b'{"text":"x","model":18446744073709551615}', "malformed_json"),
    ("a list", b"[]", "invalid_request"),
    ("another field", b'{"text":"x","owner_id":"me"}', "invalid_request"),
    ("no text", b'{"text":""}', "invalid_request"),
    ("two ways to say it", b'{"text":"x","parts":[{"kind":"text","text":"x"}]}', "invalid_request"),
    ("neither", b"{}", "invalid_request"),
    ("an unknown part", b'{"parts":[{"kind":"tool_result","output":1}]}', "invalid_request"),
    ("an unknown model", b'{"text":"x","model":"none"}', "field_refused"),
    ("a wrong when", b'{"text":"x","when_busy":"now"}', "invalid_request"),
    ("too large", b'{"text":"' + b"x" * 1_100_000 + b'"}', "body_too_large"),
]


async def test_hostile_bodies_are_refused_and_change_nothing(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat()
    for name, raw, code in HOSTILE:
        answer = await cell.admin.ask("POST", f"chats/{chat_id}/messages", raw=raw)
        well_formed(answer, code)
        assert len(answer.raw) < 5_000, name
    assert (await cell.admin.get(f"chats/{chat_id}")).json["version"] == 1


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "chats/not-an-id", "invalid_request"),
        ("GET", f"chats/{UNKNOWN}", "chat_not_found"),
        ("GET", "chats?after=nonsense", "field_refused"),
        ("GET", "chats?limit=0", "invalid_request"),
        ("GET", "chats?limit=100000", "invalid_request"),
        ("GET", "chats?status=asleep", "invalid_request"),
        ("GET", "users?after=%FF%FE", "field_refused"),
        ("GET", f"chats/{UNKNOWN}/messages?before=99999999999999999999", "invalid_request"),
        ("GET", "nowhere", "no_such_route"),
        ("GET", "/", "no_such_route"),
        ("PATCH", "chats", "method_not_allowed"),
    ],
)
async def test_hostile_paths_are_refused(cell: Cell, method: str, path: str, code: str) -> None:
    well_formed(await cell.admin.ask(method, path), code)


async def test_text_that_a_database_cannot_hold_comes_back_as_it_was(cell: Cell) -> None:
    text = 'a\x00b \u2028 \U0001f600 [[sim: say "ok"]]'
    chat_id = await cell.admin.new_chat(text)
    await cell.admin.until(chat_id, "idle")

    messages = (await cell.admin.get(f"chats/{chat_id}/messages")).json["messages"]
    assert messages[0]["parts"][0]["text"] == text


async def test_a_body_without_a_length_is_counted_as_it_comes(cell: Cell) -> None:
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while sent < 50_000_000:
            sent += 65_536
            yield b" " * 65_536

    url = f"{cell.admin.url}/api/v1/chats"
    headers = {**cell.admin.headers, "content-type": "application/json"}
    try:
        async with cell.admin.http.post(url, data=endless(), headers=headers) as response:
            assert response.status == 413
    except aiohttp.ClientOSError:
        pass  # the server hung up in the middle
    assert sent < 50_000_000


async def test_a_form_is_no_json(cell: Cell) -> None:
    """What a foreign page could send without asking first."""
    answer = await cell.admin.ask("POST", "chats", raw=b"{}", content_type="text/plain")
    well_formed(answer, "invalid_request")


async def test_what_nobody_foresaw_is_told_with_an_id_that_stands_in_the_log(
    cell: Cell, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("canary of the inside")

    monkeypatch.setattr(cell.served[0].edge.chats.history, "heads", fail)
    with caplog.at_level(logging.ERROR):
        answer = await cell.nobody.get("/readyz")

    well_formed(answer, "internal")
    assert b"canary" not in answer.raw
    assert any(getattr(r, "error_id", None) == answer.json["id"] for r in caplog.records)


async def test_a_database_that_does_not_answer_is_a_503_that_tells_nothing_else(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise errors.Unavailable("canary of a host", retry_after_s=6.5)

    monkeypatch.setattr(cell.served[0].edge.chats.history, "heads", fail)
    answer = await cell.nobody.get("/readyz")

    well_formed(answer, "unavailable")
    assert answer.headers["retry-after"] == "7"
    assert b"canary" not in answer.raw


@requirement("L136")
async def test_it_is_not_ready_while_the_database_can_only_be_read(empty: Replicas) -> None:
    read_only = False

    async def check_writable() -> None:
        if read_only:
            raise errors.DatabaseReadOnly("canary of a host")

    def around(adapters: Adapters) -> Adapters:
        return replace(adapters, check_writable=check_writable)

    async with a_cell(empty, around=around) as cell:
        assert (await cell.nobody.get("/readyz")).status == 200
        read_only = True
        answer = await cell.nobody.get("/readyz")
        well_formed(answer, "unavailable")
        assert "cannot be written" in answer.json["detail"]
        assert b"canary" not in answer.raw
        assert (await cell.nobody.get("/healthz")).status == 200


async def test_who_asks_too_often_is_told_when_to_come_back(empty: Replicas) -> None:
    async with a_cell(empty, rate_per_s=0.01, rate_burst=3) as cell:
        answers = [await cell.admin.get("me") for _ in range(5)]
        assert [each.status for each in answers[:3]] == [200] * 3
        well_formed(answers[-1], "too_many_requests")
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 100


async def test_a_browser_signs_in_and_speaks_only_for_our_own_pages(cell: Cell) -> None:
    login = {"email": ADMIN_EMAIL, "password": PASSWORD}
    foreign = await cell.nobody.post("sign-ins", login, origin="https://evil.example")
    well_formed(foreign, "origin_refused")
    wrong = await cell.nobody.post("sign-ins", {**login, "password": "wrong password"})
    well_formed(wrong, "wrong_credentials")

    signed_in = await cell.nobody.post("sign-ins", login, origin=OUR_ORIGIN)
    assert signed_in.status == 201
    said = signed_in.headers["set-cookie"]
    assert said.startswith("__Host-holdfast=")
    assert {"httponly", "secure", "path=/", "samesite=lax"} <= set(said.lower().split("; "))
    cookie = said.split(";")[0]

    assert (await cell.nobody.get("me", cookie=cookie)).json["credential"] == "sign_in"
    for headers in ({}, {"origin": "https://evil.example"}, {"sec_fetch_site": "cross-site"}):
        answer = await cell.nobody.post("chats", {}, cookie=cookie, **headers)
        well_formed(answer, "origin_refused")
    made = await cell.nobody.post("chats", {}, cookie=cookie, origin=OUR_ORIGIN)
    assert made.status == 201
    stream = f"chats/{made.json['chat_id']}/stream"
    well_formed(
        await cell.nobody.get(stream, cookie=cookie, origin="https://evil.example"),
        "origin_refused",
    )
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await cell.nobody.http.ws_connect(
            f"{cell.nobody.url}/api/v1/chats/{made.json['chat_id']}/socket",
            headers={"cookie": cookie, "origin": "https://evil.example"},
        )
    assert refused.value.status == 403

    out = await cell.nobody.ask("DELETE", "sign-ins/current", cookie=cookie, origin=OUR_ORIGIN)
    assert out.status == 204
    well_formed(await cell.nobody.get("me", cookie=cookie), "not_authenticated")


async def test_a_revoked_key_ends_its_open_stream(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat()
    made = (await cell.admin.post("keys", {"name": "k", "scopes": ["read"]})).json
    reader = cell.admin.as_(made["secret"])
    async with asyncio.timeout(60), reader.stream(chat_id) as events:
        assert (await anext(events))["event"] == "history_reset"
        assert (await cell.admin.ask("DELETE", f"keys/{made['key_id']}")).status == 204
        rest = [event async for event in events]
    assert "retry" not in rest[-1], "it need not come again"
    well_formed(await reader.get("me"), "not_authenticated")


async def test_it_is_live_and_ready_until_it_stops(cell: Cell) -> None:
    assert (await cell.nobody.get("/healthz")).json == {"status": "ok"}
    assert (await cell.nobody.get("/readyz")).json == {"status": "ok"}
    assert (await cell.nobody.get("version")).json["api"] == "v1"
    cell.served[0].edge.chats.hub.stop()
    stopping = await cell.nobody.get("/readyz")
    well_formed(stopping, "unavailable")
    assert stopping.headers["retry-after"] == "1"
    assert b"holdfast_stream_readers" in (await cell.admin.get("/metrics")).raw


async def test_answers_have_the_shape_that_the_document_says(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat('[[sim: say "hello"]]')
    await cell.admin.until(chat_id, "idle")
    await cell.admin.ask("PUT", f"chats/{chat_id}/labels", {"labels": ["a", "b"]})
    for path, shape in {
        "chats": shapes.ChatPage,
        "chats?order=pinned_first&q=x": shapes.ChatPage,
        "oversight/chats": shapes.ChatPage,
        f"chats/{chat_id}": shapes.Chat,
        f"chats/{chat_id}/messages": shapes.MessagePage,
        f"chats/{chat_id}/paths": shapes.OlderPaths,
        f"chats/{chat_id}/shares": shapes.Shares,
        "me": shapes.Me,
        "users?limit=1": shapes.UserPage,
        "keys": shapes.Keys,
        "sign-ins": shapes.SignInList,
        "audit?limit=2": shapes.AuditPage,
        "models": shapes.Models,
        "version": shapes.VersionInfo,
    }.items():
        answer = await cell.admin.get(path)
        assert answer.status == 200, answer.raw
        shape.model_validate_json(answer.raw)
