"""Settings of providers and models become endpoints, facts, prices and cache policies.

Every function raises `ValueError` that names the field and never quotes a secret.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never, get_type_hints

import orjson
from pydantic import TypeAdapter, ValidationError

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS, AwsKeys, Vendor, auth_of, endpoint_of
from holdfast.adapters.providers.prices import Price, is_listed
from holdfast.adapters.providers.provider_tools import check
from holdfast.adapters.providers.token_sources import (
    AwsTokens,
    AzureTokens,
    CommandTokens,
    FileKey,
    GoogleTokens,
)
from holdfast.adapters.providers.tokens import RenewingAuth, Secret, TokenSource
from holdfast.adapters.providers.types import (
    CachePolicy,
    Endpoint,
    FixedAuth,
    HeaderAuth,
    ModelFacts,
    Quirks,
    RenewedAuth,
    ThinkingStyle,
)
from holdfast.domain.provider_tools import ProviderToolSpec
from holdfast.settings.models import ModelSettings
from holdfast.settings.providers import (
    AwsTokenSettings,
    AzureTokenSettings,
    CommandTokenSettings,
    GoogleTokenSettings,
    ProviderSettings,
    TokenSettings,
)


def endpoints_of(
    providers: Sequence[ProviderSettings], wrong: Callable[[int, str, ValueError], None]
) -> dict[str, Endpoint]:
    """Those of the providers by name; `wrong` is told of each that has none."""
    endpoints: dict[str, Endpoint] = {}
    for number, provider in enumerate(providers):
        try:
            endpoints[provider.name] = provider_endpoint(provider)
        except ValueError as error:
            wrong(number, provider.name, error)
    return endpoints


def provider_endpoint(provider: ProviderSettings) -> Endpoint:
    vendor = VENDORS.get(provider.vendor)
    if vendor is None:
        raise ValueError(f"no vendor is named {provider.vendor!r}; there are {', '.join(VENDORS)}")
    needed = vendor.places if not provider.base_url else vendor.header_places
    if unknown := sorted(provider.values.keys() - needed):
        raise ValueError(f"the address of {vendor.name} has no place for {', '.join(unknown)}")
    places: dict[str, Any] = provider.values  # its keys are checked: none is a parameter's name
    endpoint = endpoint_of(
        vendor, _credential(provider), base_url=provider.base_url or None, **places
    )
    headers = {name: value.get_secret_value() for name, value in provider.headers.items()}
    renewed = _renewed(provider, vendor)
    return replace(
        endpoint,
        auth=renewed or endpoint.auth,
        headers={**endpoint.headers, **headers},
        quirks=_quirks(endpoint.quirks, provider.quirks),
        dialect=provider.dialect or endpoint.dialect,
        proxy=None if provider.proxy is None else provider.proxy.get_secret_value(),
        private=tuple(provider.secrets()),
    )


def _credential(provider: ProviderSettings) -> str | AwsKeys | None:
    assert not provider.key_env, "`read_settings` reads it"
    if provider.aws is not None:
        token = provider.aws.token
        return AwsKeys(
            provider.aws.access_key,
            provider.aws.secret.get_secret_value(),
            provider.aws.region,
            None if token is None else token.get_secret_value(),
        )
    return None if provider.key is None else provider.key.get_secret_value()


def _renewed(provider: ProviderSettings, vendor: Vendor) -> RenewedAuth | None:
    """None: the credential stays as it is."""
    token = provider.token
    if provider.key_file is not None:
        key_file = FileKey(provider.key_file)
        return RenewingAuth(key_file, lambda secret: auth_of(vendor, secret), provider.name)
    if token is None:
        return None
    as_key = isinstance(token, CommandTokenSettings) and token.sends == "key"

    def shape(secret: Secret) -> FixedAuth:
        if as_key or isinstance(secret, AwsKeys):
            return auth_of(vendor, secret)
        return HeaderAuth("authorization", secret, "Bearer ")

    return RenewingAuth(_source(provider, token, vendor), shape, provider.name)


def _source(provider: ProviderSettings, token: TokenSettings, vendor: Vendor) -> TokenSource:
    match token:
        case CommandTokenSettings():
            return CommandTokens(token.command, token.timeout_s)
        case GoogleTokenSettings():
            return GoogleTokens(
                None if token.key_file is None else str(token.key_file), token.scope
            )
        case AzureTokenSettings():
            return AzureTokens(token.scope)
        case AwsTokenSettings():
            if vendor.aws_service is None:
                raise ValueError(f"token: {vendor.name} takes no AWS keys")
            region = token.region or provider.values.get("region", "")
            if not region:
                raise ValueError("token.region is needed, or region in values")
            return AwsTokens(region, token.profile)
        case _:
            assert_never(token)


def _quirks(usual: Quirks, given: Mapping[str, object]) -> Quirks:
    kinds = get_type_hints(Quirks)
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in kinds:
            raise ValueError(f"quirks.{name}: unknown; there are {', '.join(kinds)}")
        try:
            # As JSON, and strictly: "no" is not a boolean, a list is a tuple.
            kind: TypeAdapter[Any] = TypeAdapter(kinds[name])
            found[name] = kind.validate_json(orjson.dumps(value), strict=True)
        except ValidationError as error:
            said = error.errors(include_input=False)[0]["msg"]
            raise ValueError(f"quirks.{name}: {said[:1].lower()}{said[1:]}") from None
    return replace(usual, **found)


# Of a model.


def model_facts(model: ModelSettings, vendor: Vendor) -> ModelFacts:
    given = model.facts
    like = "" if given is None else given.like
    facts = facts_of(vendor, like or model.model_name)
    if like and replace(facts, model="", price_id=None) == ModelFacts(model=""):
        raise ValueError(f"facts.like: no model like {like!r} is known")
    own: dict[str, Any] = {} if given is None else given.model_dump(exclude_none=True)
    own.pop("like", None)
    if "thinking" in own:
        own["thinking"] = ThinkingStyle(own["thinking"])
    if model.price_id and not is_listed(model.price_id):
        raise ValueError("price_id: the price list has no such model")
    facts = replace(
        facts,
        model=model.model_name,
        price_id=model.price_id or facts.price_id,
        betas=tuple(dict.fromkeys((*facts.betas, *model.betas))),
        **own,
    )
    thinks = facts.thinking is not ThinkingStyle.NONE and facts.efforts
    if model.effort is not None and not thinks:
        raise ValueError(
            "effort: the model is not known to think; set facts.thinking and facts.efforts"
        )
    return facts


def model_price(model: ModelSettings) -> Price | None:
    return None if model.price is None else Price(**model.price.model_dump())


def model_tools(
    model: ModelSettings, facts: ModelFacts, endpoint: Endpoint
) -> tuple[ProviderToolSpec, ...]:
    """The tools that the provider runs for the model. ValueError says which it does not run."""
    names = [tool.name for tool in model.provider_tools]
    if len(set(names)) != len(names):
        raise ValueError("provider_tools: a tool is named twice")
    specs = tuple(ProviderToolSpec(**tool.model_dump()) for tool in model.provider_tools)
    check(specs, facts, endpoint)
    return specs


def model_cache(model: ModelSettings) -> CachePolicy:
    return CachePolicy() if model.cache is None else CachePolicy(**model.cache.model_dump())
