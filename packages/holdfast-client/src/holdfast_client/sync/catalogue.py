# Made of holdfast_client/aio/catalogue.py by scripts/generate_sync.py. Do not edit.
"""Providers and models of the organization, for its admins."""

from collections.abc import Mapping
from typing import Any

import httpx2

from holdfast_client import admin_models
from holdfast_client.content import NOT_GIVEN, NotGiven, changed, given
from holdfast_client.sync.http import Http, json_in


class OrganizationProviders:
    """Those that admins added. `etag`: of the provider that was read or written last."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.etag: str | None = None

    def list(self) -> list[admin_models.Provider]:
        found = self._http.get("organization/providers")
        return [admin_models.Provider.model_validate(each) for each in found["data"]]

    def create(
        self,
        name: str,
        vendor: str,
        *,
        base_url: str | None = None,
        key: str | None = None,
        values: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        is_enabled: bool | None = None,
        user_keys: bool | None = None,
    ) -> admin_models.Provider:
        """The key is never returned. `values`: for the places in the vendor's address. `settings`:
        further fields, as the models file of the server has them. `user_keys`: whether users may
        store keys of their own."""
        body = given(
            name=name,
            vendor=vendor,
            base_url=base_url,
            key=key,
            values=values,
            settings=settings,
            is_enabled=is_enabled,
            user_keys=user_keys,
        )
        return self._read(self._http.respond("POST", "organization/providers", body))

    def retrieve(self, provider_id: str) -> admin_models.Provider:
        path = f"organization/providers/{provider_id}"
        return self._read(self._http.respond("GET", path))

    def update(
        self,
        provider_id: str,
        *,
        name: str | NotGiven = NOT_GIVEN,
        vendor: str | NotGiven = NOT_GIVEN,
        base_url: str | NotGiven | None = NOT_GIVEN,
        key: str | NotGiven | None = NOT_GIVEN,
        values: Mapping[str, str] | NotGiven = NOT_GIVEN,
        settings: Mapping[str, Any] | NotGiven = NOT_GIVEN,
        is_enabled: bool | NotGiven = NOT_GIVEN,
        user_keys: bool | NotGiven = NOT_GIVEN,
        if_match: str | None = None,
    ) -> admin_models.Provider:
        """Change what is given; `key` None removes the key. If the host changes, secrets that are
        not sent again are dropped. `if_match`: an `etag`."""
        body = changed(
            name=name,
            vendor=vendor,
            base_url=base_url,
            key=key,
            values=values,
            settings=settings,
            is_enabled=is_enabled,
            user_keys=user_keys,
        )
        path = f"organization/providers/{provider_id}"
        return self._read(self._http.patch(path, body, if_match))

    def delete(self, provider_id: str, *, if_match: str | None = None) -> None:
        """With its key and its models."""
        path = f"organization/providers/{provider_id}"
        self._http.respond("DELETE", path, if_match=if_match)

    def _read(self, response: httpx2.Response) -> admin_models.Provider:
        self.etag = response.headers.get("etag")
        return admin_models.Provider.model_validate(json_in(response))


class OrganizationModels:
    """Those of the models file, which cannot be changed here, and those that admins added. `etag`:
    of the model that was read or written last."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.etag: str | None = None

    def list(self) -> list[admin_models.OrganizationModel]:
        found = self._http.get("organization/models")
        return [admin_models.OrganizationModel.model_validate(each) for each in found["data"]]

    def create(
        self,
        name: str,
        provider_id: str,
        *,
        settings: Mapping[str, Any] | None = None,
        is_enabled: bool | None = None,
        is_default: bool | None = None,
    ) -> admin_models.OrganizationModel:
        """`name`: what messages name it by. `settings`: fields of a model in the models file, such
        as `model`: how the provider names it."""
        body = given(
            name=name,
            provider_id=provider_id,
            settings=settings,
            is_enabled=is_enabled,
            is_default=is_default,
        )
        return self._read(self._http.respond("POST", "organization/models", body))

    def retrieve(self, model_id: str) -> admin_models.OrganizationModel:
        return self._read(self._http.respond("GET", f"organization/models/{model_id}"))

    def update(
        self,
        model_id: str,
        *,
        name: str | NotGiven = NOT_GIVEN,
        provider_id: str | NotGiven = NOT_GIVEN,
        settings: Mapping[str, Any] | NotGiven = NOT_GIVEN,
        is_enabled: bool | NotGiven = NOT_GIVEN,
        is_default: bool | NotGiven = NOT_GIVEN,
        if_match: str | None = None,
    ) -> admin_models.OrganizationModel:
        """Change what is given; None removes a field of `settings`. `if_match`: an `etag`."""
        body = changed(
            name=name,
            provider_id=provider_id,
            settings=settings,
            is_enabled=is_enabled,
            is_default=is_default,
        )
        path = f"organization/models/{model_id}"
        return self._read(self._http.patch(path, body, if_match))

    def delete(self, model_id: str, *, if_match: str | None = None) -> None:
        """If it was the default, another model becomes the default."""
        path = f"organization/models/{model_id}"
        self._http.respond("DELETE", path, if_match=if_match)

    def test(self, model_id: str) -> admin_models.ModelAnswer:
        """Ask the model for one word, which its provider bills."""
        found = self._http.post(f"organization/models/{model_id}/test")
        return admin_models.ModelAnswer.model_validate(found)

    def _read(self, response: httpx2.Response) -> admin_models.OrganizationModel:
        self.etag = response.headers.get("etag")
        return admin_models.OrganizationModel.model_validate(json_in(response))
