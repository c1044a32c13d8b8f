"""What comes in may be anything; what goes out is an answer of the contract, or a problem."""

import asyncio
import logging
import re
from dataclasses import replace
from typing import Any, Final

import aiohttp
import pytest

from holdfast.api import account_responses as account_shapes
from holdfast.api import responses as shapes
from holdfast.api import server_responses as server_shapes
from holdfast.api.app import all_routes
from holdfast.api.problem_responses import Problem
from holdfast.api.problems import KINDS
from holdfast.bootstrap import Adapters
from holdfast.domain import errors
from holdfast_lab.chaos.faults.permissions.matrix import knock
from tests.requirements import requirement
from tests.support.identity import PASSWORD
from tests.support.replica import Replicas
from tests.support.web import ADMIN_EMAIL, OUR_ORIGIN, Answer, Cell, a_cell

SAY: Final = b'{"text": %b}'
UNKNOWN: Final = "chat_01890000000070008000000000000000"


def well_formed(answer: Answer, code: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json", answer.raw
    told = Problem.model_validate(answer.json)
    assert (told.code, told.status) == (code, answer.status), answer.raw
    assert told.type == f"urn:holdfast:problem:{code}"
    assert KINDS[code].status == answer.status
    assert b"Traceback" not in answer.raw
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-request-id"] == told.request_id
    assert (told.errors is not None) == (code == "invalid_request"), answer.raw


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
    ("two ways to say it", b'{"text":"x","parts":[{"type":"text","text":"x"}]}', "invalid_request"),
    ("neither", b"{}", "invalid_request"),
    ("an unknown part", b'{"parts":[{"type":"tool_result","output":1}]}', "invalid_request"),
    ("an unknown model", b'{"text":"x","model":"none"}', "invalid_request"),
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
        ("GET", "chats/not-an-id", "chat_not_found"),
        ("GET", f"chats/{UNKNOWN}", "chat_not_found"),
        ("GET", "chats?cursor=nonsense", "invalid_request"),
        ("GET", "chats?limit=0", "invalid_request"),
        ("GET", "chats?limit=100000", "invalid_request"),
        ("GET", "chats?status=asleep", "invalid_request"),
        ("GET", "users?cursor=%FF%FE", "invalid_request"),
        ("GET", f"chats/{UNKNOWN}/messages?before_seq=99999999999999999999", "invalid_request"),
        ("GET", "chats?lable=x", "invalid_request"),
        ("GET", "me?x", "invalid_request"),
        ("GET", "nowhere", "route_not_found"),
        ("GET", "/", "route_not_found"),
        ("PATCH", "chats", "method_not_allowed"),
    ],
)
async def test_hostile_paths_are_refused(cell: Cell, method: str, path: str, code: str) -> None:
    well_formed(await cell.admin.ask(method, path), code)


async def test_text_that_a_database_cannot_hold_comes_back_as_it_was(cell: Cell) -> None:
    text = 'a\x00b \u2028 \U0001f600 [[sim: say "ok"]]'
    chat_id = await cell.admin.new_chat(text)
    await cell.admin.until(chat_id, "idle")

    messages = (await cell.admin.get(f"chats/{chat_id}/messages")).json["data"]
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
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "json"):
        answer = await cell.admin.ask("POST", "chats", raw=b"{}", content_type=media_type)
        well_formed(answer, "unsupported_media_type")


async def test_405_names_the_methods_of_the_path(cell: Cell) -> None:
    for path, allowed in (("chats", "GET, POST"), (f"chats/{UNKNOWN}/queue/1/send-now", "POST")):
        answer = await cell.admin.ask("PATCH", path)
        well_formed(answer, "method_not_allowed")
        assert answer.headers["allow"] == allowed


async def test_every_answer_names_its_request_and_the_version_of_the_server(cell: Cell) -> None:
    seen: set[str] = set()
    for client, path in ((cell.admin, "me"), (cell.nobody, "me"), (cell.nobody, "nowhere")):
        answer = await client.get(path)
        assert answer.headers["holdfast-version"] == cell.served[0].edge.version
        assert answer.headers["x-request-id"].startswith("req_")
        seen.add(answer.headers["x-request-id"])
    assert len(seen) == 3


async def test_an_unknown_query_parameter_is_refused_on_every_route(cell: Cell) -> None:
    """A misspelt filter would list everything. Other servers choose those of the OIDC callback."""
    for route in all_routes():
        path = re.sub(r"\{\w+\}", UNKNOWN, route.path)
        if route.method == "WEBSOCKET":
            assert (await knock(cell.admin, f"{path}?lable=x")).status == 422, route
            continue
        answer = await cell.admin.ask(route.method, f"{path}?lable=x")
        if route.path.endswith("/callback"):
            assert answer.status == 404, answer.raw
            continue
        well_formed(answer, "invalid_request")
        assert [(each["in"], each["pointer"], each["code"]) for each in answer.json["errors"]] == [
            ("query", "/lable", "unknown_parameter")
        ], route


async def test_a_wrong_field_is_named_by_a_pointer_a_code_and_a_sentence(cell: Cell) -> None:
    wrong = [{"type": "text", "text": ""}, {"type": "skill"}]
    body = {"message": {"parts": [*wrong, {"type": "text", "text": "right"}]}, "x~/y": 1}
    found = (await cell.admin.post("chats", body)).json
    assert [(each["in"], each["pointer"], each["code"]) for each in found["errors"]] == [
        ("body", "/message/parts/0/text", "too_short"),
        ("body", "/message/parts/1/name", "required"),
        ("body", "/x~0~1y", "unknown_field"),
    ]
    assert found["errors"][0]["detail"] == "At least 1 characters are required."
    assert found["detail"] == "body /message/parts/0/text: At least 1 characters are required."
    found = (await cell.admin.get("chats?limit=0")).json["errors"]
    assert found == [
        {
            "in": "query",
            "pointer": "/limit",
            "code": "out_of_range",
            "detail": "Must be at least 1.",
        }
    ]


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
    request_id = answer.headers["x-request-id"]
    assert answer.json["request_id"] == request_id
    assert any(getattr(r, "request_id", None) == request_id for r in caplog.records)


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
        well_formed(answers[-1], "rate_limited")
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 100


async def test_a_browser_signs_in_and_speaks_only_for_our_own_pages(cell: Cell) -> None:
    login = {"email": ADMIN_EMAIL, "password": PASSWORD}
    foreign = await cell.nobody.post("sessions", login, origin="https://evil.example")
    well_formed(foreign, "origin_not_allowed")
    wrong = await cell.nobody.post("sessions", {**login, "password": "wrong password"})
    well_formed(wrong, "invalid_credentials")

    signed_in = await cell.nobody.post("sessions", login, origin=OUR_ORIGIN)
    assert signed_in.status == 201
    said = signed_in.headers["set-cookie"]
    assert said.startswith("__Host-holdfast=")
    assert {"httponly", "secure", "path=/", "samesite=lax"} <= set(said.lower().split("; "))
    cookie = said.split(";")[0]

    assert (await cell.nobody.get("me", cookie=cookie)).json["credential_type"] == "session"
    for headers in ({}, {"origin": "https://evil.example"}, {"sec_fetch_site": "cross-site"}):
        answer = await cell.nobody.post("chats", {}, cookie=cookie, **headers)
        well_formed(answer, "origin_not_allowed")
    made = await cell.nobody.post("chats", {}, cookie=cookie, origin=OUR_ORIGIN)
    assert made.status == 201
    stream = f"chats/{made.json['chat_id']}/events"
    well_formed(
        await cell.nobody.get(stream, cookie=cookie, origin="https://evil.example"),
        "origin_not_allowed",
    )
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await cell.nobody.http.ws_connect(
            f"{cell.nobody.url}/api/v1/chats/{made.json['chat_id']}/events",
            headers={"cookie": cookie, "origin": "https://evil.example"},
        )
    assert refused.value.status == 403

    out = await cell.nobody.ask("DELETE", "sessions/current", cookie=cookie, origin=OUR_ORIGIN)
    assert out.status == 204
    well_formed(await cell.nobody.get("me", cookie=cookie), "unauthenticated")


async def test_a_one_time_link_signs_a_browser_in_and_its_token_is_in_no_answer(
    cell: Cell, caplog: pytest.LogCaptureFixture
) -> None:
    identity = cell.served[0].edge.identity
    who = await identity.gate.authenticate(cell.admin.headers["authorization"].split()[1])
    assert who is not None
    token = identity.links.issue(await identity.accounts.find(who, who.user_id))
    body = {"token": token}
    foreign = await cell.nobody.post("sessions/by-link", body, origin="https://evil.example")
    well_formed(foreign, "origin_not_allowed")
    opened = await cell.nobody.post("sessions/by-link", body, origin=OUR_ORIGIN)
    assert opened.status == 201
    cookie = opened.headers["set-cookie"].split(";")[0]
    assert (await cell.nobody.get("me", cookie=cookie)).json["user"]["email"] == ADMIN_EMAIL
    again = await cell.nobody.post("sessions/by-link", body, origin=OUR_ORIGIN)
    well_formed(again, "sign_in_link_not_valid")
    said = opened.raw + again.raw + foreign.raw + str([opened.headers, again.headers]).encode()
    assert token.encode() not in said
    assert token not in caplog.text


async def test_a_revoked_key_ends_its_open_stream(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat()
    made = await cell.admin.new_key("k", "read")
    reader = cell.admin.as_(made["secret"])
    async with asyncio.timeout(60), reader.stream(chat_id) as events:
        assert (await anext(events))["type"] == "history.reset"
        assert (await cell.admin.ask("DELETE", f"api-keys/{made['id']}")).status == 204
        rest = [event async for event in events]
    assert (rest[-1]["type"], rest[-1]["data"]["reason"]) == ("closed", "revoked")
    well_formed(await reader.get("me"), "unauthenticated")


async def test_it_is_live_and_ready_until_it_stops(cell: Cell) -> None:
    assert (await cell.nobody.get("/healthz")).json == {"status": "ok"}
    assert (await cell.nobody.get("/readyz")).json == {"status": "ok"}
    assert (await cell.nobody.get("version")).json["api"] == "v1"
    cell.served[0].edge.chats.hub.stop()
    stopping = await cell.nobody.get("/readyz")
    well_formed(stopping, "unavailable")
    assert stopping.headers["retry-after"] == "1"
    assert b"holdfast_stream_readers" in (await cell.admin.get("/metrics")).raw


async def test_times_are_utc_with_z_and_six_digits(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat('[[sim: say "hello"]]')
    await cell.admin.until(chat_id, "idle")
    paths = ("me", "users", "api-keys", "organization/audit-log", "chats", f"chats/{chat_id}")
    for path in (*paths, f"chats/{chat_id}/messages"):
        raw = (await cell.admin.get(path)).raw.decode()
        times = re.findall(r'"\w+_at":"([^"]+)"', raw)
        assert times, path
        for each in times:
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", each), (path, each)


async def test_answers_have_the_shape_that_the_document_says(cell: Cell) -> None:
    chat_id = await cell.admin.new_chat('[[sim: say "hello"]]')
    await cell.admin.until(chat_id, "idle")
    await cell.admin.ask("PATCH", f"chats/{chat_id}", {"labels": ["a", "b"]})
    for path, shape in {
        "chats": shapes.ChatPage,
        "chats?pinned=first&q=x": shapes.ChatPage,
        "organization/chats": shapes.ChatPage,
        f"chats/{chat_id}": shapes.Chat,
        f"chats/{chat_id}/messages": shapes.MessagePage,
        f"chats/{chat_id}/branches": shapes.BranchPage,
        f"chats/{chat_id}/queue": shapes.QueuePage,
        f"chats/{chat_id}/messages/1": shapes.Message,
        f"chats/{chat_id}/messages?order=asc": shapes.MessagePage,
        f"chats/{chat_id}/shares": shapes.SharePage,
        "me": account_shapes.Me,
        "users?limit=1": account_shapes.UserPage,
        "api-keys": account_shapes.ApiKeyPage,
        "api-keys?user_id=any&limit=1": account_shapes.ApiKeyPage,
        "sessions?user_id=any": account_shapes.SessionPage,
        "organization/audit-log?limit=2": account_shapes.AuditPage,
        "organization/settings": account_shapes.Settings,
        "oidc": account_shapes.OidcProviderPage,
        "workspace-templates": server_shapes.TemplatePage,
        "models": server_shapes.ModelPage,
        "version": server_shapes.VersionInfo,
    }.items():
        answer = await cell.admin.get(path)
        assert answer.status == 200, answer.raw
        shape.model_validate_json(answer.raw)


async def test_answers_have_the_headers_that_the_document_lists(cell: Cell) -> None:
    admin = cell.admin
    document = (await admin.get("openapi.json")).json
    known = {name.lower() for name in document["components"]["headers"]}

    async def shown(
        method: str, path: str, route: str, body: object = None, **more: str
    ) -> set[str]:
        """What the answer has beside its listed headers, and of those what it lacks."""
        answer = await admin.ask(method, path, body, raw=None, **more)
        operation = document["paths"][f"/api/v1/{route}"][method.lower()]
        listed = {each.lower() for each in operation["responses"][str(answer.status)]["headers"]}
        return listed ^ {name for name in known if name in answer.headers}

    chat_id = await admin.new_chat()
    owner_id = (await admin.get(f"chats/{chat_id}")).json["owner_id"]
    chat, archive = (f"chats/{chat_id}", "chats/{chat_id}"), "chats/{chat_id}/archive"
    assert await shown("GET", "chats", "chats") == set()
    assert await shown("GET", *chat) == set()
    assert await shown("PATCH", *chat, {"pinned": True}) == set()
    assert await shown("GET", f"users/{owner_id}", "users/{user_id}") == set()
    assert await shown("GET", "organization/settings", "organization/settings") == set()
    assert await shown("GET", "me", "me") == set()
    absent = {"idempotent-replayed"}  # which only a repeat has
    assert await shown("POST", "chats", "chats", {}) == absent
    once = {"idempotency_key": "once"}
    assert await shown("POST", f"chats/{chat_id}/archive", archive, **once) == absent
    assert await shown("POST", f"chats/{chat_id}/archive", archive, **once) == set()
