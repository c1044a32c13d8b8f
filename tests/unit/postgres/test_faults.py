"""Every class of SQLSTATE, and whose mistake it is."""

import asyncpg
import pytest

from holdfast.adapters.postgres import faults
from holdfast.domain.errors import Contended, DatabaseReadOnly, Unavailable
from tests.requirements import requirement

STATES = sorted(
    {
        each.sqlstate
        for each in vars(asyncpg.exceptions).values()
        if isinstance(each, type)
        and issubclass(each, asyncpg.PostgresError)
        and getattr(each, "sqlstate", None)
    }
)
CLASSES = sorted({state[:2] for state in STATES} | {"ZZ"})


def error(state: str) -> asyncpg.PostgresError:
    return asyncpg.PostgresError.new({"C": state, "M": f"the server said {state}"})


def test_the_driver_knows_all_classes_of_the_manual() -> None:
    manual = (
        "03 08 09 0A 0B 0F 0L 0P 0Z 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44"
        " 53 54 55 57 58 F0 HV P0 XX"
    )
    assert set(manual.split()) <= set(CLASSES)


@requirement("L133")
@pytest.mark.parametrize("of_class", CLASSES)
def test_only_classes_22_23_and_42_are_our_mistakes(of_class: str) -> None:
    # Codes that the driver does not know are classified by their class, too.
    for state in (*(each for each in STATES if each.startswith(of_class)), f"{of_class}999"):
        said = error(state)
        if of_class in ("22", "23", "42") and state != "42501":
            with pytest.raises(asyncpg.PostgresError) as raised:
                faults.unavailable(said)
            assert raised.value is said
        else:
            assert isinstance(faults.unavailable(said), Unavailable), state


@requirement("L134")
@pytest.mark.parametrize("state", STATES)
def test_a_connection_is_dropped_for_what_says_that_it_leads_elsewhere(state: str) -> None:
    elsewhere = state in ("25006", "57P01", "57P02", "57P03", "3D000") or state[:2] in ("08", "28")
    assert faults.leads_elsewhere(error(state)) is elsewhere


@pytest.mark.parametrize("state", ["40001", "40P01", "55P03"])
def test_contention_is_undone_and_told_apart(state: str) -> None:
    assert faults.is_undone(error(state))
    assert isinstance(faults.unavailable(error(state)), Contended)


@pytest.mark.parametrize("state", ["XX001", "P0001", "0A000", "54000"])
def test_what_is_said_of_one_statement_does_not_speak_of_the_database(state: str) -> None:
    assert isinstance(faults.unavailable(error(state)), Contended)


def test_a_privilege_that_is_missing_concerns_every_chat() -> None:
    assert not isinstance(faults.unavailable(error("42501")), Contended)


@pytest.mark.parametrize("state", ["08006", "25006", "53300", "57014", "57P01"])
def test_what_an_ailing_server_says_is_not_asked_again_one_by_one(state: str) -> None:
    assert not faults.is_undone(error(state))
    assert not isinstance(faults.unavailable(error(state)), Contended)


@pytest.mark.parametrize(
    "said",
    [
        OSError("no route"),
        TimeoutError(),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.InternalClientError("got result for unknown protocol state 3"),
    ],
)
def test_what_the_driver_and_the_network_say_is_unavailable(said: Exception) -> None:
    assert isinstance(faults.unavailable(said), Unavailable)
    assert not faults.is_undone(said)
    assert not faults.leads_elsewhere(said)


@pytest.mark.parametrize(
    "said", [error("25006"), asyncpg.TargetServerAttributeNotMatched("none of the hosts")]
)
def test_a_server_without_writes_is_told_apart(said: Exception) -> None:
    assert isinstance(faults.unavailable(said), DatabaseReadOnly)


def test_arguments_that_do_not_fit_are_our_mistake() -> None:
    wrong = asyncpg.InterfaceError("the server expects 1 argument for this query, 2 were passed")
    with pytest.raises(asyncpg.InterfaceError):
        faults.unavailable(wrong)
