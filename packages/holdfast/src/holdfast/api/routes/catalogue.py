"""Providers and models that the admins of an organisation add while the server runs."""

from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.responses import Response

from holdfast.admin.catalogue.changes import ModelChange, ProviderChange
from holdfast.admin.purposes import ModelPurpose
from holdfast.admin.settings import DEFAULT_MODEL
from holdfast.api import catalogue_shapes as shapes
from holdfast.api.auth import Asks, Caller
from holdfast.api.etags import IfMatch, only_number, present, tag_of_row, tagged
from holdfast.api.presenters import answer, nothing, page
from holdfast.api.routes.common import ModelIdInPath, ProviderIdInPath, router_for
from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import UserId
from holdfast.domain.policy import Action, TargetKind, rule_for
from holdfast.domain.public_ids import MODEL_ID, PROVIDER_ID, USER_ID
from holdfast.ports.catalogue import ModelRow, ModelState, ProviderRow

router = router_for("organization")
_OWN_FIELDS = ("vendor", "base_url", "values")


@router.get("/organization/providers", response_model=shapes.ProviderEntryPage)
async def list_organization_providers(asks: Asks) -> Response:
    """Providers that admins added. Those of the models file are not listed."""
    found = await asks.edge.catalogue.find(asks.who)
    return page([_provider_json(row) for row in found.providers])


@router.post("/organization/providers", status_code=201, response_model=shapes.ProviderEntry)
async def create_provider(body: shapes.CreateProvider, asks: Asks) -> Response:
    """Add a provider. The key is stored encrypted and is never returned."""
    row = await asks.edge.catalogue.add_provider(asks.who, _provider_change(body))
    return await _provider_answer(asks, row.id, 201)


@router.get("/organization/providers/{provider_id}", response_model=shapes.ProviderEntry)
async def get_provider(provider_id: ProviderIdInPath, asks: Asks) -> Response:
    """A provider, without its secrets."""
    return await _provider_answer(asks, provider_id)


@router.patch("/organization/providers/{provider_id}", response_model=shapes.ProviderEntry)
async def update_provider(
    provider_id: ProviderIdInPath, body: shapes.UpdateProvider, asks: Asks, if_match: IfMatch
) -> Response:
    """Every replica knows within a second. Replies that are under way go on; the next attempt uses
    what is set now."""
    async with present(lambda: _provider_tag(asks, provider_id)):
        await asks.edge.catalogue.change_provider(
            asks.who, provider_id, _provider_change(body), expected=only_number(if_match)
        )
    return await _provider_answer(asks, provider_id)


@router.delete("/organization/providers/{provider_id}", status_code=204)
async def delete_provider(provider_id: ProviderIdInPath, asks: Asks, if_match: IfMatch) -> Response:
    """With its key and its models. Messages keep the names of the models."""
    async with present(lambda: _provider_tag(asks, provider_id)):
        await asks.edge.catalogue.remove_provider(
            asks.who, provider_id, expected=only_number(if_match)
        )
    return nothing()


@router.get("/organization/models", response_model=shapes.ModelEntryPage)
async def list_organization_models(asks: Asks) -> Response:
    """Models of the models file and models that admins added, each with its state."""
    found = await asks.edge.catalogue.find(asks.who)
    file_models = asks.edge.added.builder.file_models
    default = asks.default_model
    listed: list[dict[str, Any]] = [
        {
            "id": None,
            "name": name,
            "source": "file",
            "provider_id": None,
            "is_enabled": True,
            "is_default": name == default,
            "settings": {},
            "state": ModelState.AVAILABLE,
            **_use(asks, name),
            "etag": None,
        }
        for name in file_models
    ]
    return page([*listed, *(_model_json(asks, row) for row in found.models)])


@router.post("/organization/models", status_code=201, response_model=shapes.ModelEntry)
async def create_model(body: shapes.CreateModel, asks: Asks) -> Response:
    """Add a model of a provider. Without a models file, the first one becomes the default."""
    _check_default(asks, body)
    row = await asks.edge.catalogue.add_model(asks.who, _model_change(body))
    return await _model_answer(asks, row.id, 201)


@router.get("/organization/models/{model_id}", response_model=shapes.ModelEntry)
async def get_model(model_id: ModelIdInPath, asks: Asks) -> Response:
    """A model that admins added."""
    return await _model_answer(asks, model_id)


@router.patch("/organization/models/{model_id}", response_model=shapes.ModelEntry)
async def update_model(
    model_id: ModelIdInPath, body: shapes.UpdateModel, asks: Asks, if_match: IfMatch
) -> Response:
    """Every replica knows within a second. Replies that are under way go on."""
    _check_default(asks, body)
    async with present(lambda: _model_tag(asks, model_id)):
        await asks.edge.catalogue.change_model(
            asks.who, model_id, _model_change(body), expected=only_number(if_match)
        )
    return await _model_answer(asks, model_id)


@router.delete("/organization/models/{model_id}", status_code=204)
async def delete_model(model_id: ModelIdInPath, asks: Asks, if_match: IfMatch) -> Response:
    """If it was the default, the oldest model that is enabled becomes the default."""
    async with present(lambda: _model_tag(asks, model_id)):
        await asks.edge.catalogue.remove_model(asks.who, model_id, expected=only_number(if_match))
    return nothing()


@router.post("/organization/models/{model_id}/test", response_model=shapes.ModelAnswer)
async def check_model(model_id: ModelIdInPath, asks: Asks) -> Response:
    """Ask the model for one word, which is billed by its provider, and say what came of it."""
    rule_for(asks.who, Action.CHANGE, TargetKind.SETTINGS)
    row = await asks.edge.catalogue.find_model(asks.who, model_id)
    said = asks.edge.added.refusal(asks.who.org_id, row.name)
    if said is not None:
        return answer({"answered": False, "failure": said, "took_ms": 0})
    found = await asks.edge.ask_model(row.name)
    return answer(
        {
            "answered": found.failure is None,
            "failure": found.failure,
            "took_ms": round(found.took_s * 1_000),
        }
    )


def _provider_change(body: shapes.CreateProvider | shapes.UpdateProvider) -> ProviderChange:
    given: dict[str, Any] = dict(body.settings)
    for field in _OWN_FIELDS:
        if field in body.model_fields_set:
            given[field] = getattr(body, field) or None
    if "key" in body.model_fields_set:
        given["key"] = None if body.key is None else body.key.get_secret_value()
    return ProviderChange(
        name=body.name,
        is_enabled=body.is_enabled,
        user_keys=body.user_keys,
        settings=given,
    )


def _model_change(body: shapes.CreateModel | shapes.UpdateModel) -> ModelChange:
    is_default = body.is_default if "is_default" in body.model_fields_set else None
    return ModelChange(
        name=body.name,
        provider_id=None if body.provider_id is None else UUID(str(body.provider_id)),
        is_enabled=body.is_enabled,
        is_default=is_default,
        settings=body.settings,
    )


async def _provider_answer(asks: Caller, provider_id: UUID, status: int = 200) -> Response:
    row = await asks.edge.catalogue.find_provider(asks.who, provider_id)
    return tagged(answer(_provider_json(row), status), tag_of_row(row))


async def _model_answer(asks: Caller, model_id: UUID, status: int = 200) -> Response:
    row = await asks.edge.catalogue.find_model(asks.who, model_id)
    return tagged(answer(_model_json(asks, row), status), tag_of_row(row))


async def _provider_tag(asks: Caller, provider_id: UUID) -> str:
    return tag_of_row(await asks.edge.catalogue.find_provider(asks.who, provider_id))


async def _model_tag(asks: Caller, model_id: UUID) -> str:
    return tag_of_row(await asks.edge.catalogue.find_model(asks.who, model_id))


def _provider_json(row: ProviderRow) -> dict[str, Any]:
    record: dict[str, Any] = dict(row.record)
    about: dict[str, Any] = dict(row.about or {})
    set_by = about.get("set_by")
    fields: list[str] = about.get("fields", [])
    return {
        "id": PROVIDER_ID.encode(row.id),
        "name": row.name,
        "vendor": record.pop("vendor", ""),
        "base_url": record.pop("base_url", ""),
        "values": record.pop("values", {}),
        "settings": record,
        "is_enabled": row.is_enabled,
        "user_keys": row.user_keys,
        "has_key": "key" in fields,
        "secret_fields": fields,
        "key_last_four": about.get("last_four") or None,
        "key_fingerprint": about.get("fingerprint"),
        "key_set_at": datetime.fromisoformat(about["set_at"]) if about else None,
        "key_set_by": None if set_by is None else USER_ID.encode(UserId(UUID(set_by))),
        "created_at": row.created_at,
        "etag": tag_of_row(row),
    }


def _model_json(asks: Caller, row: ModelRow) -> dict[str, Any]:
    return {
        "id": MODEL_ID.encode(row.id),
        "name": row.name,
        "source": "database",
        "provider_id": PROVIDER_ID.encode(row.provider_id),
        "is_enabled": row.is_enabled,
        "is_default": row.name == asks.default_model,
        "settings": dict(row.record),
        "state": asks.edge.added.state(row.name),
        **_use(asks, row.name),
        "etag": tag_of_row(row),
    }


def _check_default(asks: Caller, body: shapes.CreateModel | shapes.UpdateModel) -> None:
    """There is one default: that of the settings goes first, and would hide this one."""
    if body.is_default and asks.current(DEFAULT_MODEL) is not None:
        raise FieldRefused("is_default", "the setting default_model says which one: change that")


def _use(asks: Caller, name: str) -> dict[str, Any]:
    purposes, org_id, default = asks.edge.purposes, asks.who.org_id, asks.default_model
    return {
        "unavailable_reason": purposes.unavailable(org_id, name),
        "purposes": [
            purpose
            for purpose in ModelPurpose
            if (purposes.model_for(purpose, org_id).model or default) == name
        ],
    }
