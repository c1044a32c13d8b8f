"""Mutants: a check of who may do what is gone, one at a time."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from holdfast.chats import ledger, listing
from holdfast.domain.policy import Principal
from holdfast_lab.chaos.mutants import instead_of


def _always_true(*_: Any) -> bool:
    return True


def _never_refuses(*_: Any) -> None:
    pass


UNGUARDED: Final[Mapping[str, tuple[Any, str, Any]]] = {
    "every member is an admin": (Principal, "is_admin", property(_always_true)),
    "who drives is not asked": (ledger, "_check_right", _never_refuses),
    "a key that sends may approve": (listing, "approver", listing.driver),
}
NOTICED_BY: Final[Mapping[str, str]] = {"a key that sends may approve": "sender"}
"""The actor who gets through; else it is a colleague."""


def unguarded(name: str) -> AbstractContextManager[None]:
    return instead_of(*UNGUARDED[name])
