"""A user's own keys for providers that allow them."""

from typing import Any

from starlette.responses import Response

from holdfast.api import catalogue_shapes as shapes
from holdfast.api.auth import Asks
from holdfast.api.presenters import answer, nothing, page
from holdfast.api.routes.common import ProviderIdInPath, router_for
from holdfast.domain.public_ids import PROVIDER_ID
from holdfast.ports.user_keys import UserKeyProvider

router = router_for("auth")


@router.get("/provider-keys", response_model=shapes.ProviderKeyPage)
async def list_provider_keys(asks: Asks) -> Response:
    """Providers for which the caller may store a key, and whether one is stored."""
    found = await asks.edge.user_keys.list(asks.who)
    return page([_json(each) for each in found])


@router.put("/provider-keys/{provider_id}", response_model=shapes.ProviderKey)
async def set_provider_key(
    provider_id: ProviderIdInPath, body: shapes.SetProviderKey, asks: Asks
) -> Response:
    """Store a key of the caller, or replace it. From the next attempt on it is used in the chats
    that the caller owns. It is stored encrypted and is never returned."""
    key = body.key.get_secret_value()
    return answer(_json(await asks.edge.user_keys.set(asks.who, provider_id, key)))


@router.delete("/provider-keys/{provider_id}", status_code=204)
async def delete_provider_key(provider_id: ProviderIdInPath, asks: Asks) -> Response:
    """The next attempt uses the key of the provider."""
    await asks.edge.user_keys.remove(asks.who, provider_id)
    return nothing()


def _json(found: UserKeyProvider) -> dict[str, Any]:
    return {
        "provider_id": PROVIDER_ID.encode(found.provider_id),
        "name": found.name,
        "vendor": found.record.get("vendor", ""),
        "is_allowed": found.is_allowed,
        "has_key": found.set_at is not None,
        "set_at": found.set_at,
    }
