"""The examples of the pages about providers are settings that a server starts with."""

import re
from typing import Any, cast

import orjson
import pytest

from holdfast.bootstrap.options import model_configs
from holdfast.settings import read_settings
from tests.docs.pages import DOCS

BLOCK = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ("how-to/configure-a-provider.md", "how-to/cloud-credentials.md", "reference/settings.md")
AZURE = {"name": "azure", "vendor": "azure-openai", "values": {"resource": "r"}}


def examples() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for page in PAGES:
        for block in BLOCK.findall((DOCS / page).read_text()):
            example: Any = orjson.loads(block)
            listed = cast(
                "list[dict[str, Any]]", example if isinstance(example, list) else [example]
            )
            found += [each for each in listed if "kind" not in each]
    return found


@pytest.mark.parametrize("example", examples(), ids=lambda each: each["name"])
def test_an_example_is_a_provider_or_a_model(
    monkeypatch: pytest.MonkeyPatch, example: dict[str, Any]
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "k")
    if str(example.get("key_file", "")).startswith("/run/secrets/"):
        example = {**example, "key_file": None}
    if "provider" in example or "model" in example:
        providers = [{**AZURE, "name": example.get("provider", "other")}]
        others = [{"name": name, "provider": "azure"} for name in example.get("fallback", ())]
        if others:
            providers.append(AZURE)
        settings = read_settings(providers=providers, models=[example, *others])
    else:
        model = {"name": "m", "provider": example["name"], "model": "claude-sonnet-5"}
        settings = read_settings(providers=[example], models=[model])
    assert model_configs(settings)


def test_the_pages_have_examples_of_each_token_source() -> None:
    kinds = {example["token"]["kind"] for example in examples() if "token" in example}
    assert kinds == {"command", "google", "azure", "aws"}
