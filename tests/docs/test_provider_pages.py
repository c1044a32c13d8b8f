"""The settings of the pages about providers: read as a server reads them, and played where the
simulator plays the vendor."""

import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.adapters.providers.registry import ModelConfig
from holdfast.adapters.providers.transport import open_transport
from holdfast.adapters.providers.types import Endpoint
from holdfast.bootstrap.options import model_configs
from holdfast.settings import read_settings
from holdfast_simulator.server import Config, Simulator, running
from tests.docs.pages import DOCS
from tests.integration.providers.test_vendors import PLAYED, turn
from tests.support.model import NOW

BLOCK = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted((DOCS / "how-to/providers").glob("*.md"))
NAMES = [page.stem for page in PAGES]
UNPLAYED = {"azure", "bedrock"}
"""The simulator plays no rules of their own."""


def configs_of(page: Path, folder: Path) -> dict[str, ModelConfig]:
    (given,) = BLOCK.findall(page.read_text())
    secret, file = folder / "secret", folder / "models.json"
    secret.write_text("any-key\n")
    file.write_text(re.sub(r'"/run/secrets/[a-z-]+"', f'"{secret}"', given))
    return model_configs(read_settings(models_file=file))


@pytest.fixture
async def simulator() -> AsyncGenerator[Simulator]:
    async with running(Config(hang_max_s=20)) as started:
        yield started


def test_each_provider_has_a_page_with_what_was_not_tried() -> None:
    expected = "anthropic anything-else azure bedrock google ollama openai openrouter vllm"
    assert " ".join(NAMES) == expected
    for page in PAGES:
        assert re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE) == [
            "Checked",
            "Not tried without a key",
        ]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
async def test_settings_of_the_page_hold_at_the_played_vendor(
    page: Path, tmp_path: Path, simulator: Simulator
) -> None:
    configs = configs_of(page, tmp_path)
    played = {one.vendor: one for one in PLAYED}
    turns = 0
    async with open_transport(lambda: NOW) as transport:
        for config in configs.values():
            one = played.get(config.endpoint.vendor)
            if one is None or "llm.example" in config.endpoint.base_url:
                continue

            def as_set(usual: Endpoint, config: ModelConfig = config) -> Endpoint:
                return replace(config.endpoint, base_url=usual.base_url, auth=usual.auth)

            model = config.facts.model
            await turn(replace(one, model=model), transport, simulator, [], as_set)
            turns += 1
    assert [entry.rejected_by for entry in simulator.record if entry.rejected_by] == []
    assert bool(turns) is (page.stem not in UNPLAYED)
