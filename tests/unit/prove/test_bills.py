"""What the provider billed is compared with what is stored, in both directions."""

from typing import Any

from holdfast.domain.chat import ErrorKind
from holdfast.domain.ids import Epoch, Seq, Version
from holdfast.domain.messages import Ending, Message, MessageBody, Role
from holdfast.domain.parts import Text
from holdfast_lab.chaos.attack import Found, Profile
from holdfast_lab.chaos.attacks import ATTACKS
from holdfast_lab.chaos.models.bills import Bill, bill_of, unrecorded_item
from holdfast_lab.chaos.models.documented import Documented
from holdfast_lab.chaos.models.turns import Account
from holdfast_lab.chaos.proof import Proof, Tried, verdict_of
from holdfast_lab.chaos.report import as_page, with_proof
from holdfast_simulator.faults import Fault
from tests.support.builders import NOW

BROKEN_OFF = Documented(
    fault=Fault.EOF_MID,
    wire="anthropic",
    kind=ErrorKind.STREAM_CLOSED,
    status_code=None,
    retryable=True,
    hint_s=0.0,
    kept="text",
)
MODELS = next(attack for attack in ATTACKS if attack.name == "failing models")


def reply(seq: int, tokens: tuple[int, int], ending: Ending = Ending.COMPLETE) -> Message:
    usage = {"input": tokens[0], "output": tokens[1]}
    body = MessageBody(role=Role.ASSISTANT, parts=(Text("Dry."),), ending=ending, usage=usage)
    return Message(seq=Seq(seq), body=body, revision=Version(seq), epoch=Epoch(1), created_at=NOW)


def asked(*bills: tuple[int, int] | None) -> list[dict[str, Any]]:
    return [
        {"usage": None if bill is None else {"input_tokens": bill[0], "output_tokens": bill[1]}}
        for bill in bills
    ]


def a_turn(*stored: Message) -> Account:
    """One attempt breaks off, and the next one is whole."""
    account = Account(BROKEN_OFF, always=False)
    account.stored = stored
    return account


def test_bill_without_a_difference() -> None:
    bill = bill_of(a_turn(reply(2, (54, 120))), asked(None, (54, 120)))
    assert (bill.problems, bill.unrecorded) == ((), ())
    assert unrecorded_item([bill]) == []


def test_billed_but_not_stored_is_an_open_item_and_no_problem() -> None:
    bill = bill_of(a_turn(reply(2, (54, 120))), asked((54, 60), (54, 120)))
    assert bill.problems == ()
    assert bill.unrecorded == ((54, 60),)
    (item,) = unrecorded_item([bill, Bill(problems=(), billed=((1, 1),), unrecorded=())])
    assert item.startswith("L148: 1 of 3 billed requests (114 tokens) are stored nowhere.")


def test_stored_but_not_billed_is_a_problem() -> None:
    bill = bill_of(a_turn(reply(2, (54, 121))), asked((54, 60), (54, 120)))
    assert bill.problems == ("(54, 121) tokens are noted, [(54, 60), (54, 120)] were billed",)
    assert bill.unrecorded == ((54, 60), (54, 120))


def test_one_request_does_not_pay_for_two_replies() -> None:
    bill = bill_of(a_turn(reply(2, (54, 120)), reply(4, (54, 120))), asked(None, None, (54, 120)))
    assert bill.problems == ("(54, 120) tokens are noted, [] were billed",)


def test_reply_that_was_cut_may_have_been_billed_with_more() -> None:
    cut = reply(2, (54, 30), Ending.CUT)
    bill = bill_of(a_turn(cut, reply(4, (54, 120))), asked(None, (54, 60), (54, 120)))
    assert (bill.problems, bill.unrecorded) == ((), ((54, 60),))
    whole = bill_of(a_turn(reply(2, (54, 60), Ending.CUT)), asked((54, 60), (54, 120)))
    assert whole.unrecorded == ((54, 120),)


def test_open_items_are_named_by_the_report_and_break_no_promise() -> None:
    tried = Tried(MODELS, Found(9, open_items=["L148: 1 of 3 are stored nowhere."]))
    proof = Proof(Profile.FULL, 7, [tried])
    assert tried.held
    assert proof.holds
    assert "known open item: L148: 1 of 3" in verdict_of(tried)
    page = as_page(with_proof({}, proof))
    assert "- failing models: L148: 1 of 3 are stored nowhere." in page
    assert page.index("## Known open items") < page.index("L148: 1 of 3")

    broken = Tried(MODELS, Found(9, ["a reply was not billed"]))
    assert not Proof(Profile.FULL, 7, [broken]).holds
