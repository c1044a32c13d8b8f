"""The fault table is itself tested: without a protection of the model layer, it must say so."""

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import aiohttp
import pytest

from holdfast.adapters.providers import stream as stream_module
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.stream import ProviderStream
from holdfast.domain.chat import ErrorKind
from holdfast_agent.addresses import is_public
from holdfast_lab.chaos.half import half_finish
from holdfast_simulator.faults import Fault
from tests.requirements import requirement
from tests.support import provider_faults
from tests.support.fault_table import silent_successes
from tests.unit.domain.test_addresses import CLOSED

HANG_S = 6.0


def end_not_required(patch: pytest.MonkeyPatch) -> None:
    """Whatever came before the connection ended is taken for the reply (P1)."""
    patch.setattr(ProviderStream, "_finish", half_finish())


def no_silence_deadline(patch: pytest.MonkeyPatch) -> None:
    """A connection that says nothing is waited for (L50)."""
    for clock in ("_patience_s", "_longest_silence_s"):
        patch.setattr(ProviderStream, clock, property(lambda _: 3600.0))


def no_progress_deadline(patch: pytest.MonkeyPatch) -> None:
    """Pings keep a dead stream alive."""
    intact: Any = ProviderStream._check_clocks  # pyright: ignore[reportPrivateUsage]

    def lenient(self: ProviderStream, *, progressed: bool) -> None:
        intact(self, progressed=True)

    patch.setattr(ProviderStream, "_check_clocks", lenient)


def redirects_followed(patch: pytest.MonkeyPatch) -> None:
    """A provider may send us, and our key, elsewhere."""
    post: Any = aiohttp.ClientSession.post

    def following(self: aiohttp.ClientSession, url: Any, **kwargs: Any) -> Any:
        return post(self, url, **{**kwargs, "allow_redirects": True})

    patch.setattr(aiohttp.ClientSession, "post", following)


def errors_in_a_stream_ignored(patch: pytest.MonkeyPatch) -> None:
    """An error event inside a 200 is passed over, as some libraries do."""
    decode = stream_module.decode

    def deaf(*args: Any) -> Any:
        try:
            return decode(*args)
        except ProviderError:
            return []

    patch.setattr(stream_module, "decode", deaf)


MUTANTS: dict[Callable[[pytest.MonkeyPatch], None], Fault] = {
    end_not_required: Fault.EOF_MID,
    no_silence_deadline: Fault.HANG_MID,
    no_progress_deadline: Fault.PINGS_MID,
    redirects_followed: Fault.REDIRECT,
    errors_in_a_stream_ignored: Fault.ERROR_OVERLOADED,
}


@requirement("T26")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
async def test_the_fault_table_catches(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_faults, "HANG_S", HANG_S)
    intact = await provider_faults.run([MUTANTS[mutant]])
    kinds = kinds_of(intact)
    assert silent_successes(intact) == []
    assert not any(seen.hung for seen in intact.seen.values())
    mutant(monkeypatch)

    account = await provider_faults.run([MUTANTS[mutant]])

    hung = [wire for (_, wire), seen in account.seen.items() if seen.hung]
    assert silent_successes(account) or hung or kinds_of(account) != kinds


def kinds_of(account: provider_faults.Account) -> dict[str, tuple[ErrorKind, int | None] | None]:
    return {
        wire: None if seen.error is None else (seen.error.kind, seen.error.status)
        for (_, wire), seen in account.seen.items()
    }


@requirement("T26")
def test_the_address_table_catches_the_standard_library() -> None:
    """The obvious guard, `ip_address(...).is_global`, lets some of the table through."""
    fooled = [a for a in CLOSED if _is_literal(a) and ip_address(a).is_global]
    assert fooled
    assert not any(is_public(address) for address in fooled)


def _is_literal(address: str) -> bool:
    try:
        ip_address(address)
    except ValueError:
        return False
    return True
