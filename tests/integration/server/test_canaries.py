"""Secrets that administrators store are seen nowhere again; a sweep that finds nothing can see."""

from pathlib import Path

import pytest

from holdfast.domain.secrets import SECRET_COLUMNS
from tests.support.canaries import BUSES, PLANTS, SHOWN, Sinks, forms, swept


@pytest.mark.timeout(300)
@pytest.mark.parametrize("bus", BUSES)
async def test_a_planted_key_is_seen_nowhere(bus: str, template: str, tmp_path: Path) -> None:
    sinks, canaries = await swept(template, tmp_path, bus)
    assert sinks.unseen() == []
    assert len(canaries) > len(SECRET_COLUMNS)
    assert sinks.hits(canaries) == []


def test_every_secret_column_has_its_canary() -> None:
    assert set(PLANTS) == set(SECRET_COLUMNS)


@pytest.mark.parametrize("sink", SHOWN)
def test_a_key_is_found_in_every_form_in_every_sink(sink: str) -> None:
    key = "sk-ca/na+ry-4711"
    for form, seen in forms(key).items():
        sinks = Sinks()
        sinks.put(sink, b"before " + seen + b" after")
        assert f"{sink}: the key, {form}" in sinks.hits({"the key": key})
        assert set(sinks.unseen()) == set(SHOWN)
