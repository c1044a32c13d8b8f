"""The SDK is light: it runs in other people's programs, and before every command."""

import subprocess
import sys

HEAVY = {
    "aiohttp",
    "asyncpg",
    "fastapi",
    "holdfast.bootstrap",
    "holdfast.db",
    "holdfast.settings",
    "holdfast.web",
    "redis",
    "starlette",
    "typer",
    "uvicorn",
    "websockets",
}
LOOK = "import sys; import {}; print('\\n'.join(sys.modules))"


def loaded(module: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOOK.format(module)], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_sdk_loads_nothing_of_the_server() -> None:
    assert not loaded("holdfast_client") & HEAVY
    assert "holdfast_client.sync" not in loaded("holdfast_client")


def test_the_server_would_be_noticed() -> None:
    assert loaded("holdfast.web.app") >= {"fastapi", "holdfast.web", "starlette"}
