"""The model test is itself tested: with any one protection removed, it must fail, and soon."""

from collections.abc import Callable
from datetime import timedelta

import asyncpg
import pytest
from hypothesis import errors

from holdfast.domain.errors import HoldfastError, Unavailable
from scripts.gate.canaries import MODEL
from tests.model.harness import machine_settings, on_postgres, run_machine
from tests.model.mutants import MUTANTS
from tests.requirements import requirement
from tests.support.tiers import with_canary

EXAMPLES_MAX = 200
"""The examples are the same in every run: a mutant is noticed after the same number of them."""


NOTICING = (AssertionError, HoldfastError, asyncpg.PostgresError)
"""The errors that speak about the product: an assert of the model or of the product, the verify
query, a refusal that the model did not expect, a constraint of the database."""


def notice(name: str, run: Callable[[], object]) -> Exception:
    """The error by which the model test noticed a mutant. Any other error fails the test:
    Hypothesis raises errors of its own (such as `Flaky`), and a mutant may no longer fit the code
    that it changes (`TypeError`). Neither says that the missing protection was noticed."""
    try:
        run()
    except NOTICING as found:
        return found
    except Exception as error:  # noqa: BLE001 - told below
        pytest.fail(
            f"mutant {name}: the model test broke off without an answer, because of"
            f" {type(error).__name__}: {first_line(error)}"
        )
    pytest.fail(f"mutant {name}: the model test did not notice it")


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:60]


BREAKS_OFF = [
    errors.Flaky("the second run was another"),
    errors.FlakyFailure("the second run passed", [AssertionError("S4")]),
    errors.Unsatisfiable("no example"),
    errors.FailedHealthCheck("too slow"),
    errors.InvalidArgument("no such option"),
    errors.DeadlineExceeded(timedelta(seconds=2), timedelta(seconds=1)),
    TypeError("close_calls() takes 2 positional arguments but 3 were given"),
]


@pytest.mark.parametrize("error", BREAKS_OFF, ids=lambda error: type(error).__name__)
def test_an_error_that_is_not_about_the_product_is_no_notice(error: Exception) -> None:
    def run() -> None:
        raise error

    with pytest.raises(pytest.fail.Exception, match="broke off without an answer"):
        notice("m", run)


def test_a_run_without_an_error_is_no_notice() -> None:
    with pytest.raises(pytest.fail.Exception, match="did not notice"):
        notice("m", lambda: None)


@pytest.mark.parametrize(
    "error", [AssertionError("S4"), Unavailable("x"), asyncpg.UniqueViolationError("x")]
)
def test_an_error_about_the_product_is_a_notice(error: Exception) -> None:
    def run() -> None:
        raise error

    assert notice("m", run) is error


@requirement("T26")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", with_canary(MUTANTS, MODEL))
def test_the_model_test_catches(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with on_postgres() as (runner, world):
        MUTANTS[name](monkeypatch)
        options = machine_settings(EXAMPLES_MAX)
        found = notice(name, lambda: run_machine(runner, world, shard=0, options=options))
        monkeypatch.undo()
    with capsys.disabled():
        print(f"\nmutant {name}: caught ({type(found).__name__}: {first_line(found)})")
