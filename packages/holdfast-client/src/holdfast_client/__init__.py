"""A client of a Holdfast server, typed, async and sync, that goes on by itself where it was cut.

async with AsyncClient() as client:
    reply = await client.chats.run("Hello")

with Client() as client:
    reply = client.chats.run("Hello")

aio       the async half, by hand
sync      the sync half, made of it
models    what the server answers
events    what a stream tells
errors    what can go wrong
tools     functions that a chat may call and this process runs
config    which server, with which token
visible   text to decide about, with nothing hidden in it
"""

from typing import TYPE_CHECKING

from holdfast_client import errors, events, models
from holdfast_client.aio.chat import AsyncChat
from holdfast_client.aio.client import AsyncClient
from holdfast_client.reply import Reply
from holdfast_client.tools import Tool, tool
from holdfast_client.visible import visible

if TYPE_CHECKING:
    from holdfast_client.sync.chat import Chat
    from holdfast_client.sync.client import Client

__all__ = [
    "AsyncChat",
    "AsyncClient",
    "Chat",
    "Client",
    "Reply",
    "Tool",
    "errors",
    "events",
    "models",
    "tool",
    "visible",
]


def __getattr__(name: str) -> object:
    """The sync half once it is asked for: most programs need one of the two."""
    if name == "Client":
        from holdfast_client.sync.client import Client

        return Client
    if name == "Chat":
        from holdfast_client.sync.chat import Chat

        return Chat
    raise AttributeError(name)
