"""Mutants: a check of who may do what is gone, one at a time."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from holdfast.chats import ledger
from holdfast.domain.policy import Principal
from holdfast_lab.chaos.mutants import instead_of


def _anybody(*_: Any) -> bool:
    return True


def _whoever_asks(*_: Any) -> None:
    pass


UNGUARDED: Final[Mapping[str, tuple[Any, str, Any]]] = {
    "everybody is an admin": (Principal, "is_admin", property(_anybody)),
    "who drives is not asked": (ledger, "_check_right", _whoever_asks),
}


def unguarded(name: str) -> AbstractContextManager[None]:
    return instead_of(*UNGUARDED[name])
