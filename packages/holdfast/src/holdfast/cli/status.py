"""`holdfast status` and `holdfast version`: which server this is, and who one is there."""

from typing import TYPE_CHECKING

from holdfast.cli.client_context import at_desk, chosen_target
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def status(*, json: AsJson = False) -> None:
    """Show the server, its version, the signed-in user, and how many chats run or wait."""

    async def work(desk: "ClientContext") -> None:
        from importlib import metadata

        server = await desk.client.version()
        me = await desk.client.me()
        counts = {
            name: len([1 async for _ in desk.client.chats.list(status=name, limit=1000)])
            for name in ("running", "awaiting", "failed")
        }
        told = {
            "url": chosen_target().url,
            "server": server.version,
            "client": metadata.version("holdfast"),
            "user": me.user.email or me.user.name,
            **counts,
        }
        if json:
            desk.screen.json(told)
            return
        for name, value in told.items():
            desk.screen.answer(f"{name:<9} {value}")

    at_desk(work)


def version(*, json: AsJson = False) -> None:
    """The versions of this command and of the server."""

    async def work(desk: "ClientContext") -> None:
        from importlib import metadata

        server = await desk.client.version()
        told = {"client": metadata.version("holdfast"), "server": server.version}
        if json:
            desk.screen.json(told)
        else:
            desk.screen.answer(f"client {told['client']}\nserver {told['server']}")

    at_desk(work)
