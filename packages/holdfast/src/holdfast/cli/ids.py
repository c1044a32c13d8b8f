"""Which chat the user means: the beginning of an id, @last, @pinned/N, or words of a title.

An id may be given with its prefix or without it, or as the UUID that a log of the server has. After
the prefix, ids begin with the time, so the beginning that `ls` shows (to the millisecond) is hardly
ever that of two. A title is only matched on a terminal: a script must not depend on what chats are
called.
"""

import re
import sys
from typing import TYPE_CHECKING, Final

from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.render.entries import SHORT_CHARS
from holdfast.cli.render.text import clip
from holdfast.domain.public_ids import CHAT_ID, WrongId

if TYPE_CHECKING:
    from holdfast.cli.screen import Screen
    from holdfast_client import AsyncChat, AsyncClient
    from holdfast_client.models import ChatSummary

SEARCHED_MAX: Final = 2_000
"""So many chats are looked through for a beginning; older ones need their whole id."""
CHOICES_MAX: Final = 9
_BEGINNING: Final = re.compile(rf"(?:{CHAT_ID.prefix})?([0-9a-fA-F][0-9a-fA-F-]{{3,35}})")
_PINNED: Final = re.compile(r"@pinned/([1-9][0-9]{0,3})")


def short(chat_id: str) -> str:
    return chat_id[:SHORT_CHARS]


async def find_chat(client: "AsyncClient", screen: "Screen", given: str) -> "AsyncChat":
    whole = _whole(given)
    return client.chat(whole or (await _find(client, screen, given)).id)


def _whole(given: str) -> str | None:
    try:
        return CHAT_ID.encode(CHAT_ID.decode_or_uuid(given))
    except WrongId:
        return None


async def _find(client: "AsyncClient", screen: "Screen", given: str) -> "ChatSummary":
    if given == "@last":
        async for last in client.chats.list(limit=1):
            return last
        raise CommandEnd("There is no chat yet: begin one with `holdfast run`.", Exit.NOT_FOUND)
    if pinned := _PINNED.fullmatch(given):
        return await _pinned(client, int(pinned[1]))
    if beginning := _BEGINNING.fullmatch(given):
        found = await _beginning_with(client, beginning[1].lower().replace("-", ""))
        if len(found) == 1:
            return found[0]
        if found:
            raise CommandEnd(f"{len(found)} chats begin with {given}: give more of it.", Exit.USAGE)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandEnd(f"There is no chat {given}.", Exit.NOT_FOUND)
    return await _titled(client, screen, given)


async def _pinned(client: "AsyncClient", number: int) -> "ChatSummary":
    found = [each async for each in client.chats.list(limit=SEARCHED_MAX) if each.pinned]
    if number > len(found):
        raise CommandEnd(f"There are {len(found)} pinned chats.", Exit.NOT_FOUND)
    return found[number - 1]


async def _beginning_with(client: "AsyncClient", beginning: str) -> "list[ChatSummary]":
    return [
        each
        for archived in (False, True)
        async for each in client.chats.list(archived=archived, limit=SEARCHED_MAX)
        if each.id.removeprefix(CHAT_ID.prefix).startswith(beginning)
    ]


async def _titled(client: "AsyncClient", screen: "Screen", words: str) -> "ChatSummary":
    found = [each async for each in client.chats.list(search=words, limit=CHOICES_MAX)]
    if not found:
        raise CommandEnd(f"There is no chat {words}.", Exit.NOT_FOUND)
    if len(found) == 1:
        return found[0]
    for number, entry in enumerate(found, start=1):
        title = clip(entry.title or "", screen.width - 24)
        screen.note(f"{number}  {short(entry.id)}  {title}", "")
    screen.note("Which one? ", "bold")
    chosen = sys.stdin.readline().strip()
    if not chosen.isdecimal() or not 1 <= int(chosen) <= len(found):
        raise CommandEnd("None chosen.", Exit.USAGE)
    return found[int(chosen) - 1]
