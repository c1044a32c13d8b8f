"""A client of a Holdfast server, typed, async and sync, that resumes by itself after a cut.

async with AsyncClient() as client:
    reply = await client.chats.run("Hello")

with Client() as client:
    reply = client.chats.run("Hello")

aio       the async half, by hand
sync      the sync half, generated from it
models    what the server answers
events    what a stream tells
errors    what can go wrong
tools     functions that a chat may call and this process runs
config    which server, with which API key
visible   text to decide about, with nothing hidden in it
testing   a server with a simulated model, for tests
"""

from typing import TYPE_CHECKING

from holdfast_client import errors, events, models
from holdfast_client.aio.chat import AsyncChat
from holdfast_client.aio.client import AsyncClient
from holdfast_client.aio.turn import AsyncToolApproval, AsyncTurn
from holdfast_client.chat_view import ChatView
from holdfast_client.errors import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    ConflictError,
    HoldfastError,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionFailedError,
    RateLimitError,
    TurnFailedError,
    TurnRemovedError,
    WaitTimeoutError,
)
from holdfast_client.progress import Chunk
from holdfast_client.reply import Reply
from holdfast_client.tools import Tool, tool
from holdfast_client.version import __version__
from holdfast_client.visible import visible

if TYPE_CHECKING:
    from holdfast_client.sync.chat import Chat
    from holdfast_client.sync.client import Client
    from holdfast_client.sync.turn import ToolApproval, Turn

__all__ = [
    "APIConnectionError",
    "APIError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncChat",
    "AsyncClient",
    "AsyncToolApproval",
    "AsyncTurn",
    "AuthenticationError",
    "BadRequestError",
    "Chat",
    "ChatView",
    "Chunk",
    "Client",
    "ConfigurationError",
    "ConflictError",
    "HoldfastError",
    "InternalServerError",
    "NotFoundError",
    "PermissionDeniedError",
    "PreconditionFailedError",
    "RateLimitError",
    "Reply",
    "Tool",
    "ToolApproval",
    "Turn",
    "TurnFailedError",
    "TurnRemovedError",
    "WaitTimeoutError",
    "__version__",
    "errors",
    "events",
    "models",
    "tool",
    "visible",
]

_SYNC = {"Chat": "chat", "Client": "client", "ToolApproval": "turn", "Turn": "turn"}


def __getattr__(name: str) -> object:
    """The sync half once it is asked for: most programs need one of the two."""
    if name not in _SYNC:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"holdfast_client.sync.{_SYNC[name]}"), name)
