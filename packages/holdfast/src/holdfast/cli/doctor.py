"""`holdfast doctor`: is everything between here and the agent as it should be?

Each check says what it found, and, if that is not well, what to do. The last one looks for proxies
that hold events back: it follows an empty chat, in which there is nothing big enough to be let
through by a buffer that fills up.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from holdfast.cli.client_context import chosen_target, run
from holdfast.cli.exit_codes import Exit, sentence_of
from holdfast.cli.findings import Finding, Verdict, of_clock
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.screen import Screen
    from holdfast_client import AsyncChat, AsyncClient

HELD_BACK_S: Final = 10.0
"""An event that takes longer is held back by something: without a proxy it takes milliseconds."""
TITLE: Final = "holdfast doctor"


def doctor(
    *,
    server: Annotated[
        bool,
        typer.Option(
            "--server",
            help="Check the server's side instead: the settings of this environment, and the"
            " database, bus, provider keys, sandbox and page that they name.",
        ),
    ] = False,
    call: Annotated[
        bool,
        typer.Option("--call", help="With --server: also ask each model for one word."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Check the way to the server: reachable, signed in, clock, versions, streams.

    Exit code 1: something does not work. What it finds is safe to show: no line has a secret.
    """

    async def work(screen: "Screen") -> Exit:
        from holdfast.cli.server_checks import server_findings

        found = server_findings(calls=call) if server else _findings()
        findings = [finding async for finding in found]
        if json:
            screen.json(
                [
                    {"check": each.check, "verdict": each.verdict, "sentence": each.sentence}
                    for each in findings
                ]
            )
        else:
            for each in findings:
                screen.answer(f"{_mark(screen, each.verdict)} {each.check:<11} {each.sentence}")
        return Exit.FAILED if any(each.verdict == "bad" for each in findings) else Exit.DONE

    run(work)


def _mark(screen: "Screen", verdict: Verdict) -> str:
    return {"ok": screen.marks.done, "warning": "!", "bad": screen.marks.failed}[verdict]


async def _findings() -> AsyncIterator[Finding]:
    """In order; what cannot work after a failure is not tried."""
    from importlib import metadata

    from holdfast_client import AsyncClient
    from holdfast_client.errors import HoldfastError

    check = "server"
    try:
        target = chosen_target()
        async with AsyncClient(target.url, api_key=target.api_key, timeout=HELD_BACK_S) as client:
            probed = await client.probe()
            yield Finding(check, "ok", f"{target.url} answers in {probed.took_s * 1000:.0f} ms.")
            yield of_versions(metadata.version("holdfast"), probed.version)
            yield of_clock(datetime.now(UTC), probed.date)  # noqa: TID251 - the clock is the subject
            check = "credential"
            me = await client.me()
            yield Finding(check, "ok", f"{me.user.email or me.user.name}, {', '.join(me.scopes)}.")
            check = "stream"
            yield await _stream(client, me.scopes)
    except HoldfastError as error:
        yield Finding(check, "bad", sentence_of(error))


def of_versions(ours: str, theirs: str) -> Finding:
    if ours == theirs:
        return Finding("version", "ok", f"{ours} here and there.")
    if ours.split(".")[:2] == theirs.split(".")[:2]:
        return Finding("version", "ok", f"{ours} here, {theirs} there: that fits.")
    return Finding(
        "version", "warning", f"{ours} here, {theirs} there: install holdfast=={theirs} here."
    )


async def _stream(client: "AsyncClient", scopes: list[str]) -> Finding:
    if "write" not in scopes:
        return Finding("stream", "warning", "Not tried: it needs a key that may write.")
    chat = await _own_chat(client)
    try:
        async with asyncio.timeout(HELD_BACK_S), aclosing(chat.events()) as events:
            async for event in events:
                if event.type == "chat.state":
                    break
            # The snapshot may have come in one piece. What happens now has to come by itself.
            await chat.archive()
            async for event in events:
                if event.type == "chat.state":
                    return Finding("stream", "ok", "Events arrive one by one.")
    except TimeoutError:
        await chat.archive()
    return Finding(
        "stream",
        "bad",
        "Events are held back: tell the proxy not to buffer text/event-stream"
        " (nginx: proxy_buffering off).",
    )


async def _own_chat(client: "AsyncClient") -> "AsyncChat":
    """Always the same empty chat, put away in between, so that doctors leave no litter."""
    async for entry in client.chats.list(search=TITLE, archived=True, owner="me", limit=20):
        if entry.title == TITLE and entry.last_seq == 0:
            chat = client.chat(entry.id)
            await chat.unarchive()
            return chat
    return await client.chats.create(title=TITLE)
