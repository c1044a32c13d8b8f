"""What the admins of an organisation set while the server runs."""

from dataclasses import asdict

from starlette.responses import Response

from holdfast.domain.approvals import policy_to_json
from holdfast.identity import org_settings
from holdfast.ports.org_settings import Versioned
from holdfast.web import bodies, shapes
from holdfast.web.answers import answer
from holdfast.web.auth import Asks, Caller
from holdfast.web.routes.common import router_for
from holdfast.web.tags import IfMatch, only_number, present, tag_of_settings, tagged

router = router_for("settings")


@router.get("/settings", response_model=shapes.Settings)
async def look(asks: Asks) -> Response:
    """What is set for the organisation; null: as the server's own settings say."""
    return _told(await org_settings.find(asks.edge.settings.store, asks.who))


@router.put("/settings", response_model=shapes.Settings)
async def change(body: bodies.SettingsIn, asks: Asks, if_match: IfMatch) -> Response:
    """All of them at once: what is left out is unset. Every replica knows within a second, and the
    next step of every turn goes by it."""
    settings = asks.edge.settings
    async with present(lambda: _tag(asks)):
        changed = await org_settings.change(
            settings.store,
            settings.kept,
            asks.edge.clock,
            asks.who,
            body.settings(),
            models=asks.edge.models,
            expected=only_number(if_match),
        )
    return _told(changed)


async def _tag(asks: Caller) -> str:
    return tag_of_settings(await org_settings.find(asks.edge.settings.store, asks.who))


def _told(found: Versioned) -> Response:
    told = asdict(found.settings) | {"approvals": policy_to_json(found.settings.approvals)}
    return tagged(answer(told), tag_of_settings(found))
