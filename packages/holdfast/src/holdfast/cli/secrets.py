"""`holdfast secrets`: the keys of the secrets in the database.

Imports that are heavy stand in functions: `holdfast --help` needs none of them.
"""

import asyncio
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.admin.secrets.vault import Vault

secrets = typer.Typer(no_args_is_help=True, help="The keys of the secrets in the database.")
T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


@secrets.command("rotate")
def rotate(*, json: Json = False) -> None:
    """Seal every secret anew, with new data keys under the first key of the master key file.

    Servers go on meanwhile. The next run finishes one that was stopped. Exit codes: 0 done;
    1 a secret cannot be read and was left, or the database cannot be used; 2 wrong settings, or no
    master key.
    """
    from holdfast.admin.secrets.rotation import rotate as rotate_all
    from holdfast.cli.exit_codes import Exit

    report = _with_vault(rotate_all)
    numbers = {
        "data_keys_added": report.keys_added,
        "data_keys_rewrapped": report.keys_rewrapped,
        "data_keys_removed": report.keys_removed,
        "secrets_sealed": report.resealed,
        "secrets_unreadable": report.unreadable,
    }
    _tell(numbers, json=json)
    raise typer.Exit(Exit.FAILED if report.unreadable else Exit.DONE)


@secrets.command("check")
def check(*, json: Json = False) -> None:
    """Open every secret in memory and count what cannot be read. Changes nothing.

    Exit codes: 0 all can be read and are under the current keys; 1 a secret cannot be read, or
    the database cannot be used; 2 wrong settings, or another master key; 3 all can be read, and
    `holdfast secrets rotate` has work to do.
    """
    from holdfast.admin.secrets.rotation import check as check_all
    from holdfast.cli.exit_codes import Exit

    report = _with_vault(check_all)
    numbers = {
        "secrets": report.secrets,
        "secrets_unreadable": report.unreadable,
        "data_keys": report.keys,
        "under_old_keys": report.outdated,
    }
    _tell(numbers, json=json)
    if report.unreadable:
        raise typer.Exit(Exit.FAILED)
    raise typer.Exit(Exit.NEEDS_ACTION if report.outdated else Exit.DONE)


def _tell(numbers: dict[str, int], *, json: bool) -> None:
    if json:
        import orjson

        typer.echo(orjson.dumps(numbers).decode())
        return
    for name, number in numbers.items():
        typer.echo(f"{name.replace('_', ' '):<20} {number}")


def _with_vault(work: "Callable[[Vault], Awaitable[T]]") -> T:
    from holdfast.admin.secrets.vault import WrongMasterKey
    from holdfast.cli.process import EXIT_CANNOT, EXIT_WRONG_SETTINGS, say
    from holdfast.domain.errors import HoldfastError, SecretsOff
    from holdfast.settings import WrongSettings

    try:
        return asyncio.run(_run(work))
    except (WrongSettings, WrongMasterKey, SecretsOff) as wrong:
        say(str(wrong))
        raise typer.Exit(EXIT_WRONG_SETTINGS) from None
    except HoldfastError as reason:
        say(str(reason))
        raise typer.Exit(EXIT_CANNOT) from None


async def _run(work: "Callable[[Vault], Awaitable[T]]") -> T:
    from holdfast.adapters.postgres.clock import DatabaseClock
    from holdfast.adapters.postgres.migrate import refuse_behind
    from holdfast.adapters.postgres.pool import PoolOptions, open_pool
    from holdfast.bootstrap.master_key import master_keys, open_vault
    from holdfast.settings import Settings

    settings = Settings()
    masters = await asyncio.to_thread(master_keys, settings)
    options = PoolOptions(connections_min=1, connections_max=1)
    async with open_pool(settings.direct_url, options) as pool:
        await refuse_behind(pool)
        return await work(await open_vault(pool, await DatabaseClock.open(pool), masters))
