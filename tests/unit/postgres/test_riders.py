"""Riders: every kind has a statement, and none is dropped."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from holdfast import domain
from holdfast.adapters.postgres.commits import CommitForm, commit_query
from holdfast.adapters.postgres.queries import Query
from holdfast.adapters.postgres.riders import RIDERS, ride_alone, rider_parameters
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.rider import Rider
from tests.support.builders import NOW, ORG, OWNER

ENTRY = AuditEntry(org_id=ORG, at=NOW, action=AuditAction.CALL_APPROVED, actor_id=OWNER)


@dataclass(frozen=True, slots=True)
class Unknown(Rider):
    """A kind for which there is no statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialEntry(AuditEntry):
    """A kind of its own: the statement of its base would write only a part of it."""


def kinds(of: type[Rider] = Rider) -> Iterator[type[Rider]]:
    for module in pkgutil.walk_packages(domain.__path__, f"{domain.__name__}."):
        importlib.import_module(module.name)
    for kind in of.__subclasses__():
        if kind.__module__.startswith("holdfast."):
            yield kind
        yield from kinds(kind)


def test_every_kind_of_rider_has_a_statement() -> None:
    # Two classes of one name: `dataclass(slots=True)` makes a second one.
    assert {kind.__qualname__ for kind in kinds()} == {kind.__qualname__ for kind in RIDERS}
    assert set(RIDERS) <= set(kinds())


@pytest.mark.parametrize("riders", [(Unknown(),), (ENTRY, Unknown())], ids=["alone", "beside"])
def test_rider_without_a_statement_is_refused(riders: tuple[Rider, ...]) -> None:
    with pytest.raises(AssertionError, match="writes no Unknown"):
        rider_parameters(riders)


def test_subclass_of_a_known_rider_is_not_taken_for_it() -> None:
    special = SpecialEntry(org_id=ORG, at=NOW, action=AuditAction.CALL_APPROVED, actor_id=OWNER)
    with pytest.raises(AssertionError, match="writes no SpecialEntry"):
        rider_parameters((special,))


@pytest.mark.parametrize("kind", RIDERS, ids=lambda kind: kind.__name__)
def test_parameters_of_a_rider_are_its_own(kind: type[Rider]) -> None:
    statement = RIDERS[kind]
    given = statement.parameters([]).keys()
    core = set(commit_query(CommitForm.FULL).names)
    others = {
        name for other, each in RIDERS.items() if other is not kind for name in each.parameters([])
    }
    assert given == set(Query.compile(statement.block).names) - core
    assert not given & (core | others)


def test_audit_entries_ride_one_at_a_time_and_alone() -> None:
    assert ride_alone((ENTRY,))
    assert not ride_alone(())
    with pytest.raises(AssertionError, match="one audit entry at most"):
        rider_parameters((ENTRY, ENTRY))
