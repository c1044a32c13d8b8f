"""`holdfast login`, `logout`, `whoami`: which server, and as whom.

A password is used once, to make a key, and never kept. Keys are in a file of mode
0600; docs/architecture/clients.md says why not in a keyring.
"""

import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import at_desk, given_url
from holdfast.cli.client_context import run as run_here
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast.cli.screen import Screen
    from holdfast_client import AsyncClient
    from holdfast_client.config import Config, Target
    from holdfast_client.models import Me

DEFAULT_SCOPES = ["read", "write"]


def login(
    *,
    email: Annotated[str | None, typer.Option(help="Prompted for if omitted.")] = None,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read an API key from stdin instead.")
    ] = False,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the context (default: the server's host).")
    ] = None,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="Scopes of the new key (default: read and write); approve is for tool calls.",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow http:// to another machine.")
    ] = False,
) -> None:
    """Sign in to a server, and keep a key for it. The password itself is not kept."""

    async def work(screen: "Screen") -> None:
        from holdfast_client import AsyncClient
        from holdfast_client.config import Target, config_path

        url = _url()
        if not insecure:
            refuse_clear_text(url)
        api_key = (
            _api_key() if token_stdin else await _made_key(url, email, scopes or DEFAULT_SCOPES)
        )
        async with AsyncClient(url, api_key=api_key) as client:
            me = await client.me()
        context = name or _name_of(url)
        _keep(context, Target(url, api_key))
        screen.note(f"Signed in to {url} as {_words(me)}; kept in {config_path()}.", "")

    run_here(work)


def logout(
    *,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the context (default: the current one).")
    ] = None,
) -> None:
    """Revoke the key of a context, and forget the context."""

    async def work(screen: "Screen") -> None:
        from holdfast_client.config import read_config

        config = read_config()
        chosen = name or config.current
        target = None if chosen is None else config.contexts.get(chosen)
        if chosen is None or target is None:
            raise CommandEnd("There is nothing to log out of.", Exit.USAGE)
        told = await _revoke(target)
        _forget(config, chosen)
        screen.note(f"Forgot {chosen}; {told}.", "")

    run_here(work)


def whoami(*, json: AsJson = False) -> None:
    """Show the signed-in user and the scopes of the credential."""

    async def work(desk: "ClientContext") -> None:
        me = await desk.client.me()
        if json:
            desk.screen.json(me.model_dump(mode="json"))
        else:
            desk.screen.answer(f"{_words(me)}: {me.user.role}, {', '.join(me.scopes)}")

    at_desk(work)


def _words(me: "Me") -> str:
    return f"{me.user.name} <{me.user.email}>" if me.user.email else me.user.name


def _url() -> str:
    from holdfast_client.config import resolve
    from holdfast_client.errors import ConfigurationError

    if (url := given_url()) is not None:
        return resolve(url=url).url
    try:
        return resolve().url
    except ConfigurationError:
        if not sys.stdin.isatty():
            raise CommandEnd("Which server? Give --url.", Exit.USAGE) from None
        return resolve(url=typer.prompt("Server URL", err=True)).url


def refuse_clear_text(url: str) -> None:
    """A password or a key that is sent by http:// to another machine can be read on the way."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "http" or host == "localhost" or host.endswith(".localhost"):
        return
    with suppress(ValueError):
        if ip_address(host).is_loopback:
            return
    raise CommandEnd(
        f"{url} is not encrypted: other machines on the way could read the password or the key."
        " Use https://, or --insecure if the network is trusted.",
        Exit.USAGE,
    )


def _api_key() -> str:
    api_key = sys.stdin.readline().strip()
    if not api_key:
        raise CommandEnd("No key came on stdin.", Exit.USAGE)
    return api_key


async def _made_key(url: str, email: str | None, scopes: list[str]) -> str:
    """A key of our own, made with a password that is forgotten at once."""
    import platform

    from holdfast_client import AsyncClient

    if not sys.stdin.isatty():
        raise CommandEnd(
            "stdin is not a terminal, so no password can be typed: use --token-stdin.", Exit.USAGE
        )
    who: str = email or typer.prompt("E-mail", err=True)
    password: str = typer.prompt("Password", hide_input=True, err=True)
    async with AsyncClient(url=url) as client:
        await client.sessions.create(who, password)
        try:
            made = await client.api_keys.create(
                f"holdfast on {platform.node()}"[:200], scopes=scopes
            )
        finally:
            await client.sessions.delete_current()
    return made.secret


def _name_of(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).netloc


def _keep(name: str, target: "Target") -> None:
    from holdfast_client.config import read_config, write_config

    config = read_config()
    write_config(replace(config, contexts={**config.contexts, name: target}, current=name))


def _forget(config: "Config", name: str) -> None:
    from holdfast_client.config import write_config

    left = {each: target for each, target in config.contexts.items() if each != name}
    current = config.current if config.current in left else next(iter(left), None)
    write_config(replace(config, contexts=left, current=current))


async def _revoke(target: "Target") -> str:
    """The key need not be revocable for us to forget it: the server may be gone."""
    from holdfast_client import AsyncClient
    from holdfast_client.errors import HoldfastError

    api_key = target.api_key
    if api_key is None:
        return "there was no key"
    try:
        async with AsyncClient(target.url, api_key=api_key, timeout=10) as client:
            async for key in client.api_keys.list():
                if key.revoked_at is None and api_key.startswith(key.prefix):
                    return await _revoke_key(client, key.id)
    except HoldfastError as error:
        return f"its key may still hold ({error})"
    return "its key holds no more"


async def _revoke_key(client: "AsyncClient", key_id: str) -> str:
    from holdfast_client.errors import PermissionDeniedError

    try:
        await client.api_keys.revoke(key_id)
    except (
        PermissionDeniedError
    ):  # only keys with the scope admin may change keys, be it themselves
        return f"its key still holds, for an admin to revoke: holdfast api-keys revoke {key_id}"
    return "its key is revoked"
