"""What becomes of a proof when an attack cannot be made, or comes to no end."""

import asyncio
from collections.abc import Awaitable, Callable

from holdfast_lab.chaos.attack import Attack, CannotTry, Found, Mutant, Order, Profile
from holdfast_lab.chaos.attacks import sizes
from holdfast_lab.chaos.proof import Proof, prove


def an_attack(name: str, play: Callable[[Order], Awaitable[Found]]) -> Attack:
    return Attack(name, "It holds.", "struck", "blows", sizes(1, 1, 1), play)


async def holds(_: Order) -> Found:
    return Found(1)


async def breaks(_: Order) -> Found:
    return Found(1, ["a word was lost"])


async def hangs(_: Order) -> Found:
    async with asyncio.timeout(0):
        await asyncio.Event().wait()
    raise AssertionError


async def refuses(_: Order) -> Found:
    raise CannotTry("no namespaces here")


async def noticed() -> bool:
    return True


async def crashes() -> bool:
    raise RuntimeError("a port was taken")


async def cannot() -> bool:
    raise CannotTry("no namespaces here")


async def proof_of(*attacks: Attack, mutants: tuple[Mutant, ...] = ()) -> tuple[Proof, list[str]]:
    proof, said = Proof(Profile.QUICK, 1), list[str]()
    await prove(attacks, mutants, proof, said.append, lambda: None)
    return proof, said


async def test_an_attack_that_comes_to_no_end_breaks_its_promise_and_no_other() -> None:
    proof, _ = await proof_of(an_attack("hangs", hangs), an_attack("holds", holds))
    hung, held = proof.tried

    assert hung.broken
    assert hung.found is not None
    assert "came to no end: TimeoutError" in hung.found.violations[0]
    assert held.held
    assert not proof.holds


async def test_what_cannot_be_tried_is_neither_held_nor_broken() -> None:
    proof, said = await proof_of(an_attack("refuses", refuses), an_attack("holds", holds))

    assert [(each.held, each.broken) for each in proof.tried] == [(False, False), (True, False)]
    assert proof.holds
    assert "refuses: not tried: no namespaces here" in said


async def test_a_mutant_is_noticed_by_a_sentence_and_not_by_a_crash() -> None:
    mutants = tuple(Mutant(each.__name__, "breaks", each) for each in (noticed, crashes, cannot))
    proof, said = await proof_of(an_attack("breaks", breaks), mutants=mutants)

    assert proof.noticed == {"noticed": True, "crashes": False}
    assert any("cannot" in each and "not tried" in each for each in said)
