"""Settings under load, on replicas that miss hints: no attempt begins under older ones."""

import pytest

from holdfast.admin.generation import SettingsReload
from tests.support.spreading import spread
from tests.support.tiers import set_seed

CHANGES = 16


def _unfenced(_outcome: object) -> bool:
    return False


def _deaf(_reload: SettingsReload, _generation: int) -> None:
    pass


@pytest.mark.timeout(300)
async def test_changes_are_known_before_the_next_attempt_also_without_hints(template: str) -> None:
    found = await spread(template, set_seed(), settings_changes=CHANGES, chats=3)
    print(found)
    assert (found.heard, found.lost, found.stops) == (CHANGES // 2, CHANGES // 2, CHANGES // 4)
    assert found.failed == []
    assert found.refused, "a model that is forbidden was asked for"
    assert found.attempts > CHANGES
    assert found.attempts_late == []
    assert found.attempts_stale == []


@pytest.mark.timeout(300)
async def test_an_attempt_under_older_settings_is_noticed(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the generation that statements return, and without the fence."""

    async def nothing(_reload: SettingsReload) -> None:
        pass

    monkeypatch.setattr(SettingsReload, "catch_up", nothing)
    monkeypatch.setattr("holdfast.adapters.postgres.store._begins_attempt", _unfenced)
    monkeypatch.setattr(SettingsReload, "saw", _deaf)
    found = await spread(template, set_seed(), settings_changes=8, chats=3)
    print(found)
    assert found.attempts_late
    assert found.attempts_stale
