"""The part of docs/reference/settings.md about providers and models."""

from collections.abc import Callable
from dataclasses import fields

from pydantic import BaseModel

from holdfast.adapters.providers.types import Quirks
from holdfast.settings import ModelSettings, ProviderSettings, env_name
from holdfast.settings.models import (
    CacheSettings,
    FactsSettings,
    PriceSettings,
    ProviderToolSettings,
)
from holdfast.settings.providers import (
    AwsTokenSettings,
    AzureTokenSettings,
    CommandTokenSettings,
    GoogleTokenSettings,
)

Lines = Callable[[type[BaseModel]], list[str]]


def lines(table: Lines, kind: Lines) -> list[str]:
    """`table`: the fields of a class; `kind`: a section about one of several kinds."""
    parts = (
        ("cache", CacheSettings),
        ("facts", FactsSettings),
        ("price", PriceSettings),
        ("provider_tools", ProviderToolSettings),
    )
    tokens = CommandTokenSettings, GoogleTokenSettings, AzureTokenSettings, AwsTokenSettings
    return [
        "## Providers",
        "",
        f"An entry of `{env_name('providers')}`, or of `providers` in the file of",
        f"`{env_name('models_file')}`. Which vendors there are, and which values the address of",
        "each needs, is in `holdfast.adapters.providers.endpoints`.",
        "",
        "```json",
        '[{"name": "anthropic", "vendor": "anthropic", "key_file": "/run/secrets/anthropic"},',
        ' {"name": "vertex", "vendor": "vertex", "token": {"kind": "google"},',
        '  "values": {"region": "europe-west1", "project": "my-project"}}]',
        "```",
        "",
        *table(ProviderSettings),
        "",
        f"Names of `quirks`: {', '.join(f'`{each.name}`' for each in fields(Quirks))}. The class",
        "`Quirks` in `holdfast.adapters.providers.types` says what each does.",
        "",
        "`token` is of one of these kinds:",
        *(line for token in tokens for line in kind(token)),
        "",
        "## Models",
        "",
        f"An entry of `{env_name('models')}`.",
        "",
        "```json",
        '[{"name": "sonnet", "provider": "anthropic", "model": "claude-sonnet-5"},',
        ' {"name": "local", "vendor": "ollama", "model": "qwen3", "first_part_s": 300}]',
        "```",
        "",
        *table(ModelSettings),
        *(line for name, part in parts for line in _part(name, part, table)),
    ]


def _part(name: str, model: type[BaseModel], table: Lines) -> list[str]:
    about = " ".join((model.__doc__ or "").split())
    return ["", f"### `{name}`", "", about, "", *table(model)]
