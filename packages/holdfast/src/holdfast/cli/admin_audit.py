"""`holdfast admin audit`: what was done in the organisation."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def audit(
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of entries.")
    ] = 50,
    json: AsJson = False,
) -> None:
    """What was done in the organisation, newest first."""

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
