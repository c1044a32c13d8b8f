"""What the edge says of itself and takes from strangers: cookies, proxies, hosts, headers."""

import logging

import asyncpg
import pytest

from holdfast.identity.browser import BROWSER_COOKIE
from tests.support.identity import PASSWORD
from tests.support.replica import Replicas
from tests.support.web import ADMIN_EMAIL, OUR_ORIGIN, Cell, a_cell

LOGIN = {"email": ADMIN_EMAIL, "password": PASSWORD}


async def test_the_cookie_of_a_known_browser_lets_it_in_while_strangers_guess(cell: Cell) -> None:
    opened = await cell.nobody.post("sessions", LOGIN, origin=OUR_ORIGIN)
    said = [each for each in opened.headers.getall("set-cookie") if BROWSER_COOKIE in each]
    assert len(said) == 1
    cookie, *attributes = said[0].split("; ")
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= set(attributes)
    database = await asyncpg.connect(cell.replicas.database_url)
    await database.execute("update login_throttles set attempts = 1000, since = clock_timestamp()")
    await database.close()
    assert (await cell.nobody.post("sessions", LOGIN)).code == "sign_in_rate_limited"
    assert (await cell.nobody.post("sessions", LOGIN, cookie=cookie)).status == 201
    assert (await cell.nobody.get("me", cookie=cookie)).status == 401, "it lets nobody in"


@pytest.mark.parametrize(("trusted", "warnings"), [("10.0.0.1", 1), ("127.0.0.1", 0)])
async def test_a_proxy_that_is_not_trusted_is_logged_once(
    empty: Replicas, caplog: pytest.LogCaptureFixture, trusted: str, warnings: int
) -> None:
    with caplog.at_level(logging.WARNING, "holdfast.api.forwarded"):
        async with a_cell(empty, trusted_proxies=trusted) as cell:
            for _ in range(3):
                assert (await cell.nobody.get("version")).status == 200
            assert not [each for each in caplog.records if "X-Forwarded-For" in each.message]
            for _ in range(3):
                await cell.nobody.get("version", x_forwarded_for="203.0.113.9")
        said = [each for each in caplog.records if "X-Forwarded-For" in each.message]
        assert len(said) == warnings
