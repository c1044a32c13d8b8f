"""`holdfast admin audit --verify`: whether the audit log is as it was written.

It reads the database directly, with the server's settings: a server that was altered would not say
so. An anchor is a file with the end of each organisation's chain. Kept on another machine, it shows
what the chain alone cannot: that the owner of the database has written all of it anew.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.domain.audit import AuditHead, Tampering
    from holdfast.domain.ids import OrgId

    Verdicts = Mapping[OrgId, Tampering | AuditHead]


def verify_log(anchor: Path | None, *, json: bool) -> None:
    """Exit code 1: something is not as it was written; the anchor is left as it is."""
    from holdfast.cli.exit_codes import Exit
    from holdfast.cli.process import EXIT_CANNOT, say
    from holdfast.domain.audit import Tampering
    from holdfast.domain.errors import HoldfastError

    try:
        known = _read(anchor)
        found = asyncio.run(_check(known))
    except (HoldfastError, OSError, ValueError) as reason:
        say(str(reason))
        raise typer.Exit(EXIT_CANNOT) from None
    _tell(found, json=json)
    if any(isinstance(each, Tampering) for each in found.values()):
        raise typer.Exit(Exit.FAILED)
    if anchor is not None:
        _write(anchor, found)


async def _check(known: "Mapping[OrgId, AuditHead]") -> "Verdicts":
    from holdfast.adapters.postgres.audit import PostgresAuditLog
    from holdfast.adapters.postgres.migrate import refuse_behind
    from holdfast.adapters.postgres.pool import PoolOptions, open_pool
    from holdfast.identity import audit
    from holdfast.settings import Settings

    options = PoolOptions(connections_min=1, connections_max=1)
    async with open_pool(Settings().direct_url, options) as pool:
        await refuse_behind(pool)
        log = PostgresAuditLog(pool)
        organisations = sorted({*await log.organisations(), *known}, key=str)
        return {
            each: await audit.verify(log, each, known=known.get(each)) for each in organisations
        }


def _tell(found: "Verdicts", *, json: bool) -> None:
    from holdfast.domain.audit import Tampering
    from holdfast.domain.public_ids import ORG_ID

    lines = [
        {
            "organization_id": ORG_ID.encode(org_id),
            "intact": not isinstance(each, Tampering),
            "entries": each.seq,
            "what": each.what if isinstance(each, Tampering) else None,
        }
        for org_id, each in found.items()
    ]
    if json:
        import orjson

        typer.echo(orjson.dumps(lines).decode())
        return
    for line in lines:
        said = "intact" if line["intact"] else f"entry {line['entries']} was {line['what']}"
        count = f", {line['entries']} entries" if line["intact"] else ""
        typer.echo(f"{line['organization_id']}  {said}{count}")


def _read(anchor: Path | None) -> "dict[OrgId, AuditHead]":
    import orjson

    from holdfast.domain.audit import AuditHead
    from holdfast.domain.public_ids import ORG_ID

    if anchor is None or not anchor.exists():
        return {}
    try:
        kept = orjson.loads(anchor.read_bytes())
        return {
            ORG_ID.decode(org_id): AuditHead(int(head["seq"]), bytes.fromhex(head["hash"]))
            for org_id, head in kept.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{anchor} is not an anchor of `holdfast admin audit`.") from None


def _write(anchor: Path, found: "Verdicts") -> None:
    import orjson

    from holdfast.domain.audit import AuditHead
    from holdfast.domain.public_ids import ORG_ID

    heads = {
        ORG_ID.encode(org_id): {"seq": head.seq, "hash": head.hash.hex()}
        for org_id, head in found.items()
        if isinstance(head, AuditHead)
    }
    fresh = anchor.with_name(f"{anchor.name}.new")
    fresh.write_bytes(orjson.dumps(heads, option=orjson.OPT_INDENT_2) + b"\n")
    fresh.replace(anchor)
