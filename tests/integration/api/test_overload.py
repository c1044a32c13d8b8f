"""Too many, too often, from nobody we know: refused soon and cheaply, and nobody else suffers."""

import asyncio
from typing import Any

import pytest

from holdfast.bootstrap.edge import key_of
from holdfast.identity.gate import Gate
from holdfast_lab.chaos.harness.client import ADMIN_EMAIL, PASSWORD
from tests.support.replica import Replicas
from tests.support.web import Answer, a_cell

STRICT: dict[str, Any] = {"stranger_rate_per_s": 0.01, "stranger_rate_burst": 3}


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.code) == (status, code), answer.raw
    assert int(answer.headers["retry-after"]) >= 1


async def test_who_shows_no_credential_is_counted_by_address(empty: Replicas) -> None:
    async with a_cell(empty, trusted_proxies="127.0.0.1", **STRICT) as cell:
        nobody, admin = cell.nobody, cell.admin
        assert (await admin.get("me", x_forwarded_for="203.0.113.9")).status == 200
        for each in ("me", "version", "oidc"):
            answer = await nobody.get(each, x_forwarded_for="203.0.113.9")
            assert answer.status in (200, 401)
        for path in ("me", "version", "oidc", "oidc/x/start"):
            answer = await nobody.get(path, x_forwarded_for="203.0.113.9")
            refused(answer, 429, "rate_limited")
        login = {"email": "a@acme.example", "password": "x"}
        answer = await nobody.post("sessions", login, x_forwarded_for="203.0.113.9")
        refused(answer, 429, "rate_limited")

        # Somebody else, and probes, and who was let in here before, whatever their neighbours do.
        assert (await nobody.get("version", x_forwarded_for="203.0.113.10")).status == 200
        assert (await nobody.get("/healthz", x_forwarded_for="203.0.113.9")).status == 200
        assert (await nobody.get("/readyz", x_forwarded_for="203.0.113.9")).status == 200
        assert (await admin.get("me", x_forwarded_for="203.0.113.9")).status == 200


async def test_guesses_stop_at_the_edge_and_not_at_the_database(empty: Replicas) -> None:
    async with a_cell(empty, **STRICT) as cell:
        gate = cell.served[0].edge.identity.gate
        identity = cell.served[0].edge.identity  # in process: a sign-in is a stranger's request
        secret = await key_of(identity, email=ADMIN_EMAIL, password=PASSWORD, known="")
        newest = (await cell.admin.get("api-keys")).json["data"][0]["id"]
        assert (await cell.admin.ask("DELETE", f"api-keys/{newest}")).status == 204
        guess = cell.admin.as_(secret)
        lookups = gate.counters.lookups
        answers = [await guess.get("me") for _ in range(10)]
        assert [answer.status for answer in answers] == [401] * 3 + [429] * 7
        assert gate.counters.lookups == lookups + 3


async def test_whom_no_proxy_of_ours_names_is_who_connected(empty: Replicas) -> None:
    """Else everybody could be anybody, each with a bucket of their own."""
    async with a_cell(empty, trusted_proxies="10.0.0.1", **STRICT) as cell:
        answers = [
            await cell.nobody.get("version", x_forwarded_for=f"203.0.113.{n}") for n in range(5)
        ]
        assert [answer.status for answer in answers] == [200] * 3 + [429] * 2


async def test_ipv6_is_counted_by_network(empty: Replicas) -> None:
    async with a_cell(empty, trusted_proxies="127.0.0.1", **STRICT) as cell:
        for n in range(5):
            answer = await cell.nobody.get("version", x_forwarded_for=f"2001:db8:1:2::{n}")
            assert answer.status == (200 if n < 3 else 429)
        other = await cell.nobody.get("version", x_forwarded_for="2001:db8:1:3::1")
        assert other.status == 200


async def test_more_at_once_than_it_takes_are_sent_away_and_nothing_else_breaks(
    empty: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_cell(empty, requests_max=2) as cell:
        chat_id = await cell.admin.new_chat()
        go_on, held = asyncio.Event(), asyncio.Semaphore(0)
        real = Gate.authenticate

        async def held_up(gate: Gate, presented: str) -> Any:
            held.release()
            await go_on.wait()
            return await real(gate, presented)

        # Streams do not count: three are open, and there is room for two requests.
        async with (
            cell.admin.stream(chat_id) as one,
            cell.admin.stream(chat_id) as two,
            cell.admin.stream(chat_id) as three,
        ):
            for events in (one, two, three):
                assert (await anext(events))["type"] == "history.reset"
            with monkeypatch.context() as patched:
                patched.setattr(Gate, "authenticate", held_up)
                async with asyncio.TaskGroup() as tasks:
                    waiting = [tasks.create_task(cell.admin.get("me")) for _ in range(2)]
                    for _ in waiting:
                        await held.acquire()
                    refused(await cell.admin.get("me"), 503, "overloaded")
                    refused(await cell.nobody.get("version"), 503, "overloaded")
                    assert (await cell.nobody.get("/healthz")).status == 200
                    go_on.set()
            assert [task.result().status for task in waiting] == [200, 200]
            assert (await cell.admin.get("me")).status == 200, "there is room again"
