"""The server of an arm: killed and started again at the same address."""

import asyncio
import os
from pathlib import Path

import pytest

from holdfast_client import AsyncClient
from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_lab.eval.server import OwnServer, Place, WrongPlace, own_database, server_settings

ID = "wksp_01890000000070008000000000000000"
MODELS = '[{"name": "one", "vendor": "anthropic", "model": "claude-sonnet-5", "api_key": "k"}]'


@pytest.mark.nightly
@pytest.mark.timeout(400)
async def test_kill_that_is_cancelled_leaves_a_server_that_can_be_revived() -> None:
    """A run reaches its time limit while its kill is under way."""
    with short_folder() as folder:
        async with own_database(folder / "db") as url:
            own = {"PATH": os.environ["PATH"], "HOLDFAST_MODELS": MODELS}
            settings = server_settings(
                own, database_url=url, workspaces=folder / "w", sandbox="external"
            )
            server = OwnServer(settings, folder)
            try:
                await server.start()
                await asyncio.gather(server.kill(), server.kill())
                assert len(list(folder.glob("server*.log"))) == 2, "two calls at once, one kill"
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await server.kill()
                await server.revive()
                async with AsyncClient(server.url, api_key="none") as client:
                    assert (await client.version()).version
            finally:
                await server.stop()


def test_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    place = Place(url="", key="", template="local", workspaces=tmp_path)

    with pytest.raises(WrongPlace, match="--workspaces"):
        place.files(ID)
    assert not place.kill_agent(ID)
