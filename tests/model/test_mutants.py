"""The model test is itself tested: with any one protection removed, it must fail, and soon."""

import pytest

from scripts.gate.canaries import MODEL
from tests.model.harness import machine_settings, on_postgres, run_machine
from tests.model.mutants import MUTANTS
from tests.requirements import requirement
from tests.support.tiers import with_canary

EXAMPLES_MAX = 100
"""The examples are the same in every run: a mutant is noticed after the same number of them."""


@requirement("T26")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", with_canary(MUTANTS, MODEL))
def test_the_model_test_catches(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with on_postgres() as (runner, world):
        MUTANTS[name](monkeypatch)
        # Any failure will do: our asserts, the constraints, or the verify query.
        with pytest.raises(Exception) as caught:  # noqa: PT011
            run_machine(runner, world, shard=0, options=machine_settings(EXAMPLES_MAX))
        monkeypatch.undo()
    with capsys.disabled():
        reason = (str(caught.value).splitlines() or [""])[0][:60]
        print(f"\nmutant {name}: caught ({type(caught.value).__name__}: {reason})")
