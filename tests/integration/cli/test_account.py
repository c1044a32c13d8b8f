"""Who one is and where: login, contexts, doctor. And what a command costs to start."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import orjson
import pytest

from holdfast.cli import doctor
from tests.support.identity import PASSWORD
from tests.support.terminal import Cli, masked
from tests.support.web import Cell

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_key_from_stdin_is_kept_used_and_revoked(
    cli: Cli, server: Cell, tmp_path: Path
) -> None:
    assert cli.url is not None
    scopes = ("--scope", "read", "--scope", "write", "--scope", "admin")
    secret = await cli.told("api-keys", "create", "for login", *scopes, stdin=f"{PASSWORD}\n")
    mine = Cli(tmp_path / "config")
    assert (await mine.call("whoami")).code == 4

    wrong = await mine.call("login", "--url", cli.url, "--token-stdin", stdin="hfst_wrong\n")
    assert (wrong.code, (tmp_path / "config").exists()) == (4, False)
    clear = ("login", "--url", "http://chat.invalid", "--token-stdin")
    refused = await mine.call(*clear, stdin=f"{secret}\n")
    assert (refused.code, "--insecure" in refused.err) == (2, True)
    unreachable = await mine.call(*clear, "--insecure", stdin=f"{secret}\n")
    assert "--insecure" not in unreachable.err
    assert unreachable.code not in (0, 2)
    kept = await mine.call("login", "--url", cli.url, "--token-stdin", stdin=f"{secret}\n")
    assert kept.code == 0, kept
    assert secret not in kept.out + kept.err
    file = tmp_path / "config" / "config.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert (await mine.told("whoami")).startswith("Ada ")

    again = ("login", "--url", cli.url, "--name", "two", "--token-stdin")
    assert (await mine.call(*again, stdin=f"{secret}\n")).code == 0
    assert masked(await mine.told("context", "list")) == "\t<host>\t<url>\n*\ttwo\t<url>"
    assert await mine.told("context", "current") == "two"
    await mine.told("context", "use", cli.url.removeprefix("http://"))
    current = orjson.loads(await mine.told("context", "current", "--json"))
    assert (current["url"], current["current"]) == (cli.url, True)
    assert (await mine.call("context", "use", "three")).code == 2
    assert (await mine.told("whoami", "--context", "two")).startswith("Ada ")

    out = await mine.call("logout")
    assert "its key is revoked" in out.err
    assert masked(await mine.told("context", "list")) == "*\ttwo\t<url>"
    assert (await mine.call("whoami")).code == 4, "the key of both contexts is revoked"


async def test_flags_win_over_the_environment_and_that_over_the_file(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text(
        f'current = "a"\n[contexts.a]\nurl = "http://127.0.0.1:9"\napi_key = "hfst_x"\n'
        f'[contexts.b]\nurl = "{cli.url}"\napi_key = "{cli.token}"\n'
    )
    assert (await cli.told("whoami")).startswith("Ada "), "the environment, not the file"
    astray = Cli(tmp_path, "http://127.0.0.1:9", "hfst_x")
    assert (await astray.told("whoami", "--context", "b")).startswith("Ada "), "the flag"
    (tmp_path / "config.toml").write_text("current = [")
    broken = await Cli(tmp_path).call("whoami")
    assert broken.code == 4
    assert "config.toml" in broken.err


async def test_a_doctor_finds_nothing_wrong(cli: Cli, server: Cell) -> None:
    for _ in range(2):
        findings = orjson.loads(await cli.told("doctor", "--json"))
        assert [each["check"] for each in findings] == [
            "server", "version", "clock", "credential", "stream",
        ]  # fmt: skip
        assert {each["verdict"] for each in findings} == {"ok"}, findings
    archived = (await server.admin.get("chats?archived=true")).json["data"]
    assert [each["title"] for each in archived].count(doctor.TITLE) == 1, "litter"


async def test_a_doctor_sees_a_proxy_that_holds_events_back(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "HELD_BACK_S", 4.0)
    assert cli.url is not None
    async with holding_proxy(int(cli.url.rpartition(":")[2])) as url:
        behind = Cli(cli.folder, url, cli.token)
        done = await behind.call("doctor")
    assert done.code == 1
    assert "proxy_buffering off" in done.out.splitlines()[-1], done


async def test_a_doctor_says_what_is_wrong_with_the_key(cli: Cli) -> None:
    done = await Cli(cli.folder, cli.url, "hfst_wrong").call("doctor")
    assert done.code == 1
    assert "holdfast login" in done.out.splitlines()[-1]


@asynccontextmanager
async def holding_proxy(port: int) -> AsyncGenerator[str]:
    """Passes on answers, but of a stream nothing until it has ended."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
        holding = False

        async def there() -> None:
            nonlocal holding
            while data := await reader.read(65536):
                holding = holding or b"/events" in data.partition(b"\r\n")[0]
                to_writer.write(data)
            to_writer.close()

        async def back() -> None:
            held = b""
            while data := await to_reader.read(65536):
                held += data
                if not holding:
                    writer.write(held)
                    held = b""
            writer.close()

        with suppress(ConnectionError):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(there())
                tasks.create_task(back())

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


SERVER = [
    "asyncpg",
    "fastapi",
    "uvicorn",
    "redis",
    "aiohttp",
    "holdfast.api",
    "holdfast.adapters.postgres",
]


@pytest.mark.parametrize(
    ("code", "foreign"),
    [
        (
            "import holdfast.cli.app",
            [*SERVER, "holdfast_client", "httpx2", "pydantic", "rich.markdown"],
        ),
        (
            "import holdfast.cli.app, holdfast_client, holdfast.cli.follow, holdfast.cli.screen",
            SERVER,
        ),
    ],
)
async def test_a_client_loads_no_server(code: str, foreign: list[str]) -> None:
    """`holdfast --help` loads no SDK, either."""
    looked = f"{code}; import sys; print(*(n for n in {foreign!r} if n in sys.modules))"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", looked, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        found, _ = await process.communicate()
    assert (process.returncode, found.decode().split()) == (0, [])


async def test_a_shell_gets_a_script_that_completes(cli: Cli) -> None:
    script = await cli.told("completion", "bash")
    assert "_HOLDFAST_COMPLETE=complete_bash" in script
    done = await cli.run(
        _HOLDFAST_COMPLETE="complete_bash", COMP_WORDS="holdfast unar", COMP_CWORD="1"
    )
    assert "unarchive" in done.out
