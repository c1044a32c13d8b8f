"""Prices from a file instead of the installed list."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from genai_prices.data_snapshot import set_custom_snapshot

from holdfast.adapters.providers.price_file import PriceFileWrong, use_price_file
from holdfast.adapters.providers.prices import cost_micros
from holdfast.ports.models import Usage

NOW = datetime(2026, 11, 18, tzinfo=UTC)
MODEL: dict[str, Any] = {
    "id": "claude-next",
    "match": {"equals": "claude-next"},
    "prices": {"input_mtok": 2, "output_mtok": 8},
}
PROVIDER: dict[str, Any] = {
    "id": "anthropic",
    "name": "Anthropic",
    "api_pattern": "https://api\\.anthropic\\.com",
    "models": [MODEL],
}


@pytest.fixture(autouse=True)
def installed_list() -> Iterator[None]:
    yield
    set_custom_snapshot(None)


def written(folder: Path, value: object) -> Path:
    path = folder / "prices.json"
    path.write_bytes(value if isinstance(value, bytes) else orjson.dumps(value))
    return path


def test_prices_come_from_the_file(tmp_path: Path) -> None:
    usage = Usage(input=1_000, output=100)
    assert cost_micros(usage, "anthropic/claude-next", NOW) is None

    use_price_file(written(tmp_path, [PROVIDER]))

    assert cost_micros(usage, "anthropic/claude-next", NOW) == 2_800
    assert cost_micros(usage, "openai/gpt-5", NOW) is None, "the file replaces the whole list"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<html>", "is not JSON"),
        ({"providers": []}, "no list of providers"),
        ([], "no list of providers"),
        ([{"id": "anthropic"}], "prices.json"),
        ([1], "prices.json"),
        ([PROVIDER | {"models": [MODEL | {"prices": {"input_mtok": "dear"}}]}], "prices.json"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_words(
    tmp_path: Path, content: object, words: str
) -> None:
    with pytest.raises(PriceFileWrong, match=words):
        use_price_file(written(tmp_path, content))


def test_a_file_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(PriceFileWrong, match="cannot be read: No such file"):
        use_price_file(tmp_path / "none.json")
