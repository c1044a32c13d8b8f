"""The provider's bill of a turn, compared with what is stored of it: in both directions (P4, L148).

What is stored and was not billed is a broken promise. What was billed and is not stored is a known
open item: an attempt that broke off is written nowhere yet. It is counted and told.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from holdfast.domain.chat import ErrorKind
from holdfast.domain.messages import MessageBody, Role
from holdfast_lab.chaos.faults.models.outcomes import ODD
from holdfast_lab.chaos.faults.models.problems import fails, retries_of
from holdfast_lab.chaos.faults.models.turns import Account

Tokens: TypeAlias = tuple[int, int]
"""Of the input and of the output."""
UNRECORDED: Final = (
    "L148: {requests:,} of {billed:,} billed requests ({tokens:,} tokens) are stored nowhere. They"
    " are attempts that broke off; no row is written for an attempt yet."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """`problems`: sentences about what is stored and was not billed, or was asked too often.
    `unrecorded`: what was billed and is stored with no message."""

    problems: tuple[str, ...]
    billed: tuple[Tokens, ...]
    unrecorded: tuple[Tokens, ...]


def bill_of(account: Account, asked: Sequence[dict[str, Any]]) -> Bill:
    """`asked`: the requests of this turn, as the simulator recorded them."""
    replies = [m.body for m in account.stored if m.body.role is Role.ASSISTANT]
    usages = [each["usage"] for each in asked if each["usage"] is not None]
    billed = [(usage["input_tokens"], usage["output_tokens"]) for usage in usages]
    left = list(billed)
    problems = [*_count_problems(account, replies, len(asked))]
    for body in replies:
        if (tokens := _tokens(body)) is None:
            continue
        if tokens in left:
            left.remove(tokens)  # so that no request pays for two
        elif not body.ending.is_cut:  # of a cut reply the provider may have billed more
            problems.append(f"{tokens} tokens are noted, {left} were billed")
    return Bill(problems=tuple(problems), billed=tuple(billed), unrecorded=tuple(left))


def _tokens(body: MessageBody) -> Tokens | None:
    usage = body.usage
    return None if usage is None else (usage.get("input", 0), usage.get("output", 0))


def _count_problems(account: Account, replies: Sequence[MessageBody], asked: int) -> Iterator[str]:
    expected = retries_of(account) + (1 if fails(account) else len(replies))
    if account.row.kind == ErrorKind.CONTEXT_OVERFLOW:
        expected += 2  # the prompt that was too long, and the request for its summary
    if asked != expected:
        yield f"the model was asked {asked} times, not {expected}"
    whole = [body for body in replies if not body.ending.is_cut]
    if account.row.fault not in ODD and not fails(account) and not whole:
        yield "there is no reply to pay for"


def unrecorded_item(bills: Sequence[Bill]) -> list[str]:
    """The open item, if there is one."""
    left = [tokens for bill in bills for tokens in bill.unrecorded]
    if not left:
        return []
    billed = sum(len(bill.billed) for bill in bills)
    tokens = sum(map(sum, left))
    return [UNRECORDED.format(requests=len(left), billed=billed, tokens=tokens)]
