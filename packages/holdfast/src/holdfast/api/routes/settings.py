"""What the admins of an organisation set while the server runs."""

from fastapi import Request
from starlette.responses import Response

from holdfast.admin import changes
from holdfast.admin.current import OrgSettings
from holdfast.admin.registry import SettingScope
from holdfast.api import account_responses as shapes
from holdfast.api import requests as bodies
from holdfast.api.auth import Asks, Caller
from holdfast.api.etags import IfMatch, only_number, present, tag_of_settings, tagged
from holdfast.api.presenters import answer
from holdfast.api.routes.common import router_for

router = router_for("organization")


@router.get("/organization/settings", response_model=shapes.Settings)
async def get_settings(asks: Asks) -> Response:
    """What is set for the organisation; null: as the server's own settings say."""
    return _answer(asks, await changes.find(asks.edge.settings, asks.who))


@router.patch("/organization/settings", response_model=shapes.Settings)
async def update_settings(
    body: bodies.UpdateSettings,  # noqa: ARG001 - checks the fields that were sent
    asks: Asks,
    if_match: IfMatch,
    request: Request,
) -> Response:
    """A merge patch (RFC 7396): what is left out stays, null unsets. Every replica knows within a
    second, and the next step of every turn goes by it."""
    patch = await request.json()
    async with present(lambda: _tag(asks)):
        changed = await changes.patch(
            asks.edge.settings,
            asks.edge.clock,
            asks.who,
            lambda now: bodies.patched_settings(now, patch),
            models=asks.models,
            expected=only_number(if_match),
        )
    return _answer(asks, changed)


async def _tag(asks: Caller) -> str:
    return tag_of_settings(await changes.find(asks.edge.settings, asks.who))


def _answer(asks: Caller, found: OrgSettings) -> Response:
    shown = asks.edge.settings.registry.show(SettingScope.ORGANISATION, found.values)
    return tagged(answer(shown), tag_of_settings(found))
