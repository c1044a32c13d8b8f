"""The model test is itself tested: with any one protection removed, it must fail, and soon."""

import time

import pytest

from tests.model.harness import machine_settings, on_postgres, run_machine
from tests.model.mutants import MUTANTS
from tests.requirements import requirement

SECONDS_MAX = 30


@requirement("T26")
@pytest.mark.parametrize("name", MUTANTS)
def test_the_model_test_catches(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with on_postgres() as (runner, world):
        MUTANTS[name](monkeypatch)
        started = time.monotonic()
        # Any failure will do: our asserts, the constraints, or the verify query.
        with pytest.raises(Exception) as caught:  # noqa: PT011
            run_machine(runner, world, shard=0, options=machine_settings(100))
        seconds = time.monotonic() - started
        monkeypatch.undo()
    with capsys.disabled():
        reason = (str(caught.value).splitlines() or [""])[0][:60]
        kind = type(caught.value).__name__
        print(f"\nmutant {name}: caught after {seconds:.1f} s ({kind}: {reason})")
    assert seconds < SECONDS_MAX
