"""`holdfast admin audit`: what was done in the organisation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.audit_check import verify_log
from holdfast.cli.client_context import at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def audit(
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of entries.")
    ] = 50,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Check in the database, with the server's settings, that every entry is as it was"
            " written. Exit code 1: one is not.",
        ),
    ] = False,
    anchor: Annotated[
        Path | None,
        typer.Option(
            "--anchor",
            help="With --verify: a file with the ends of the log at the last check. They must"
            " still be there; if so, the file gets the ends of now. Keep it on another machine.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """What was done in the organisation, newest first; or whether the log was altered."""
    if verify:
        verify_log(anchor, json=json)
        return
    if anchor is not None:
        raise typer.BadParameter("It goes with --verify.", param_hint="--anchor")

    async def work(desk: "ClientContext") -> None:
        found = [entry async for entry in desk.client.organization.audit_log.list(limit=limit)]
        if json:
            desk.screen.json([entry.model_dump(mode="json") for entry in found])
            return
        rows = [
            (
                str(entry.seq),
                entry.created_at.isoformat(timespec="seconds"),
                entry.actor_id or "",
                f"{entry.action} {entry.target_id or ''}".rstrip(),
            )
            for entry in found
        ]
        desk.screen.table(("SEQ", "AT", "BY", "WHAT"), rows)

    at_desk(work)
