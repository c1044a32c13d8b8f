"""`holdfast doctor --server`: what it finds on a real database, bus and provider, or without."""

from pathlib import Path
from uuid import uuid4

import asyncpg
import orjson
from yarl import URL

from holdfast_simulator.server import Config, running
from tests.support.database import temporary_database
from tests.support.terminal import Cli, Done

KEY = "sk-a-key-that-no-line-may-show"


def models(url: str, **more: str) -> str:
    one = {"name": "m", "vendor": "simulator-anthropic", "model": "claude-sonnet-4-6"}
    return orjson.dumps([{**one, "base_url": url, **more}]).decode()


async def asked(
    folder: Path, url: str, *options: str, **settings: str
) -> tuple[Done, dict[str, str]]:
    """What it printed, and the verdict of each check."""
    named = {f"HOLDFAST_{name}".upper(): text for name, text in settings.items()}
    command = ("doctor", "--server", "--json", *options)
    done = await Cli(folder).run(*command, HOLDFAST_DATABASE_URL=url, **named)
    assert KEY not in done.out + done.err
    return done, {each["check"]: each["verdict"] for each in orjson.loads(done.out)}


async def test_it_finds_nothing_wrong_where_nothing_is(template: str, tmp_path: Path) -> None:
    async with temporary_database(template) as url, running(Config()) as simulator:
        given = models(simulator.url, api_key=KEY)
        done, found = await asked(tmp_path, url, "--call", models=given)
        checks = ("settings", "database", "clock", "schema", "rights", "bus", "key", "model")
        assert {name: found[name] for name in checks} == dict.fromkeys(checks, "ok"), done.out
        assert {"sandbox", "page"} <= found.keys()
        assert done.code == 0, done.out


async def test_it_says_what_does_not_work_and_what_to_do(template: str, tmp_path: Path) -> None:
    role = f"holdfast_reader_{uuid4().hex[:12]}"
    async with temporary_database(template) as url:
        owner = await asyncpg.connect(url)
        await owner.execute(f'create role "{role}" login')
        await owner.execute(f'grant select on all tables in schema public to "{role}"')
        try:
            theirs = str(URL(url).with_user(role))
            given = models("http://127.0.0.1:9")
            bus = "redis://127.0.0.1:9"
            done, found = await asked(tmp_path, theirs, "--call", models=given, bus_url=bus)
            assert found["rights"] == found["bus"] == found["model"] == "bad", done.out
            assert found["key"] == "warning"
            assert f"to {role};" in done.out
            assert "HOLDFAST_BUS_URL" in done.out
            assert done.code == 1
        finally:
            await owner.execute(f'drop owned by "{role}"')
            await owner.execute(f'drop role "{role}"')
            await owner.close()


async def test_it_names_an_old_schema_a_database_that_is_away_and_wrong_settings(
    tmp_path: Path,
) -> None:
    async with temporary_database() as url:
        done, found = await asked(tmp_path, url)
        assert found["schema"] == "bad"
        assert "holdfast db migrate" in done.out
    away = "postgresql://nobody:" + KEY + "@127.0.0.1:9/none"
    done, found = await asked(tmp_path, away)
    assert (done.code, found["database"]) == (1, "bad")
    assert "schema" not in found, "what cannot work is not tried"
    done, found = await asked(tmp_path, away, port="many")
    assert (done.code, found) == (1, {"settings": "bad"})
    assert "HOLDFAST_PORT" in done.out


async def test_it_warns_where_nothing_limits_the_network_of_commands(tmp_path: Path) -> None:
    program = ["/bin/true"]
    verbs = dict.fromkeys(("start", "stop", "status", "delete"), program)
    given = [
        {"kind": "local", "name": "walled"},
        {"kind": "local", "name": "bare", "sandbox": "external"},
        {"kind": "command", "name": "unknown", **verbs},
        {"kind": "command", "name": "shut", "egress": "closed", **verbs},
    ]
    done, _ = await asked(
        tmp_path,
        "postgresql://127.0.0.1:9/none",
        templates=orjson.dumps(given).decode(),
        workspace_secret="0123456789abcdef" * 2,
        workspaces_folder="/tmp/holdfast",
    )
    found = [each for each in orjson.loads(done.out) if each["check"] == "egress"]
    assert [(each["verdict"], each["sentence"].split(":")[0]) for each in found] == [
        ("warning", "bare"),
        ("warning", "unknown"),
        ("ok", "shut"),
    ]
