"""What the admins of an organisation set while the server runs."""

from starlette.responses import Response

from holdfast.admin import changes
from holdfast.admin.current import OrgSettings
from holdfast.admin.registry import SettingScope
from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, Caller
from holdfast.api.etags import IfMatch, only_number, present, tag_of_settings, tagged
from holdfast.api.presenters import answer
from holdfast.api.routes.common import router_for

router = router_for("settings")


@router.get("/settings", response_model=shapes.Settings)
async def look(asks: Asks) -> Response:
    """What is set for the organisation; null: as the server's own settings say."""
    return _answer(asks, await changes.find(asks.edge.settings, asks.who))


@router.put("/settings", response_model=shapes.Settings)
async def change(body: bodies.SettingsIn, asks: Asks, if_match: IfMatch) -> Response:
    """All of them at once: what is left out is unset. Every replica knows within a second, and the
    next step of every turn goes by it."""
    async with present(lambda: _tag(asks)):
        changed = await changes.change(
            asks.edge.settings,
            asks.edge.clock,
            asks.who,
            body.values(),
            models=asks.edge.models,
            expected=only_number(if_match),
        )
    return _answer(asks, changed)


async def _tag(asks: Caller) -> str:
    return tag_of_settings(await changes.find(asks.edge.settings, asks.who))


def _answer(asks: Caller, found: OrgSettings) -> Response:
    shown = asks.edge.settings.registry.show(SettingScope.ORGANISATION, found.values)
    return tagged(answer(shown), tag_of_settings(found))
