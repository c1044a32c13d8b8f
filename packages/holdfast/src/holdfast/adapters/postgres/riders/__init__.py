"""Riders: rows of other tables that a commit writes in the same statement.

A kind of rider is a value in `domain` (a `Rider`), a module here (a `RiderStatement`) and a line in
`RIDERS`. Every block is part of the full form of the commit (`adapters.postgres.commits`), so a new
kind adds no form, and a commit without riders takes a form without their blocks.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.adapters.postgres.riders.audit import AUDIT
from holdfast.adapters.postgres.riders.prefix import PREFIX
from holdfast.adapters.postgres.riders.statement import RiderStatement
from holdfast.domain.audit import AuditEntry
from holdfast.domain.prefix import PromptPrefix
from holdfast.domain.rider import Rider

RIDERS: Final[Mapping[type[Rider], RiderStatement]] = {
    AuditEntry: AUDIT,
    PromptPrefix: PREFIX,
}


def rider_parameters(riders: Sequence[Rider]) -> dict[str, Any]:
    """The values of all blocks. Refuses a rider that no block writes: it would be lost."""
    for rider in riders:
        _statement(rider)
    parameters = dict[str, Any]()
    for kind, statement in RIDERS.items():
        parameters |= statement.parameters([each for each in riders if type(each) is kind])
    return parameters


def ride_alone(riders: Sequence[Rider]) -> bool:
    """Whether a commit with these riders may not share its transaction."""
    return any(_statement(rider).alone for rider in riders)


def _statement(rider: Rider) -> RiderStatement:
    statement = RIDERS.get(type(rider))
    assert statement is not None, f"adapters.postgres.riders writes no {type(rider).__name__}"
    return statement
