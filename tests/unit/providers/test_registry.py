"""The registry of models: several sources, replaced at run time."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS, endpoint_of
from holdfast.adapters.providers.listings import PublishedFacts
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.registry import ModelConfig, ModelRegistry
from holdfast.ports.models import Usage
from holdfast.settings import WrongSettings, read_settings, reread_models

AT = datetime(2026, 11, 18, tzinfo=UTC)


def config(model: str, base_url: str = "http://one/v1") -> ModelConfig:
    row = VENDORS["vllm"]
    return ModelConfig(endpoint=endpoint_of(row, base_url=base_url), facts=facts_of(row, model))


def test_sources_replace_only_their_own_and_the_older_source_wins() -> None:
    ours, theirs = config("ours"), config("theirs")
    registry = ModelRegistry({"a": ours, "b": ours}, "b")
    registry.replace({"b": theirs, "c": theirs}, source="database")
    assert registry.names() == ("b", "a", "c")
    assert registry.find("b") == ours
    registry.replace({"a": ours}, "a")
    assert registry.names() == ("a", "b", "c")
    assert registry.find("b") == theirs
    registry.replace({}, source="database")
    assert registry.names() == ("a",)


def test_default_that_is_gone_is_the_first_model() -> None:
    registry = ModelRegistry({"a": config("a"), "b": config("b")}, "b")
    registry.replace({"a": config("a")})
    assert registry.default == "a"
    registry.replace({})
    assert (registry.default, registry.names(), registry.find(None)) == ("", (), None)


def test_what_a_list_says_outlives_a_replacement_of_the_same_address() -> None:
    registry = ModelRegistry({"a": config("m")})
    registry.learn("a", PublishedFacts(context_window=1_000))
    registry.learn("gone", PublishedFacts(context_window=1_000))
    registry.changed.clear()
    registry.replace({"renamed": config("m"), "other": config("m", "http://two/v1")})
    assert registry.changed.is_set()
    windows = {
        name: card.context_window for name in registry.names() if (card := registry.card(name))
    }
    assert windows == {"renamed": 1_000, "other": None}


def test_reply_of_a_removed_model_is_billed() -> None:
    priced = replace(config("m"), facts=replace(config("m").facts, price_id="openai/gpt-5.4"))
    registry = ModelRegistry({"a": priced})
    models = ConfiguredModels(None, registry)  # pyright: ignore[reportArgumentType]
    usage = Usage(input=1_000_000, output=0)
    before = models.cost_micros("a", usage, AT)
    registry.replace({"b": priced})
    assert before
    assert models.cost_micros("a", usage, AT) == before
    assert models.route("a").endpoint == " ", "but it is not asked again"


def test_models_file_is_read_again_beside_the_providers_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_bytes(orjson.dumps({"providers": [{"name": "p", "vendor": "openai", "key": "k"}]}))
    own = {"name": "own", "vendor": "anthropic", "key": "k"}
    settings = read_settings(providers=[own], models_file=file)
    assert [each.name for each in settings.providers] == ["own", "p"]
    file.write_bytes(
        orjson.dumps({"models": [{"name": "m", "provider": "own", "model": "claude-sonnet-5"}]})
    )
    again = reread_models(settings)
    assert [each.name for each in again.providers] == ["own"]
    assert [each.name for each in again.models] == ["m"]
    file.write_bytes(orjson.dumps({"models": [{"name": "m", "provider": "p"}]}))
    with pytest.raises(WrongSettings, match="no provider is named 'p'"):
        reread_models(again)
