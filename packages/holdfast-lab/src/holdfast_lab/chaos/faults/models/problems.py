"""What is wrong with how a turn under a fault was told, stored and billed."""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from holdfast.domain.chat import ErrorKind, Status
from holdfast.domain.events import EventType, is_shown, message_json
from holdfast.domain.messages import Ending, Role
from holdfast.domain.parts import Text
from holdfast_lab.chaos.faults.models.outcomes import ASKED_ONCE_MORE, ODD, RACING, kept
from holdfast_lab.chaos.faults.models.skips import skipped_retries
from holdfast_lab.chaos.faults.models.turns import ATTEMPTS_MAX, Account


def problems(account: Account) -> Iterator[str]:
    yield from order_problems(account)
    yield from retry_problems(account)
    yield from end_problems(account)
    yield from view_problems(account)


def retries_of(account: Account) -> int:
    if not account.row.retryable:
        return 0
    once = account.row.fault in ASKED_ONCE_MORE or not account.always
    return 1 if once else ATTEMPTS_MAX - 1


def fails(account: Account) -> bool:
    """A prompt that is too long fails no turn: the chat is compacted, and the model asked again."""
    if account.row.kind == ErrorKind.CONTEXT_OVERFLOW:
        return False
    return account.row.kind is not None and (account.always or not account.row.retryable)


def order_problems(account: Account) -> Iterator[str]:
    """Parts belong to the attempt that was announced, and are taken back before the next (L53)."""
    skipped = skipped_retries(account.told, retries_of(account))
    attempt, shown = 0, 0
    for told in account.told:
        match told.kind:
            case EventType.PREVIEW_DELTA:
                if (told.data["attempt"], told.data["index"]) != (attempt, shown + 1):
                    yield f"a part {told.data} after {attempt}.{shown}"
                shown += 1
            case EventType.MESSAGE_CREATED | EventType.PREVIEW_RESET:
                if told.kind == EventType.PREVIEW_RESET and not shown:
                    yield "nothing was taken back"
                shown = 0
            case EventType.CHAT_STATE:
                # Skipped together with its retry: then the first part of the next attempt does it.
                if told.data["attempt"] != attempt and shown and attempt not in skipped:
                    yield f"{shown} parts of attempt {attempt} stay when another begins"
                attempt = told.data["attempt"]
            case _:
                pass
    if shown:
        yield f"{shown} parts stay for ever"


def retry_problems(account: Account) -> Iterator[str]:
    """As many attempts as are documented, each with the reason for the one before. Only a retry
    that the reader's cursors show to be skipped may be missing."""
    retries = account.said("retry")
    documented = retries_of(account)
    skipped = skipped_retries(account.told, documented)
    after = [retry["attempt"] for retry in retries]
    wanted = [number for number in range(1, documented + 1) if number not in skipped]
    if after != wanted:
        yield f"{len(after)} retries: after the attempts {after}, not {wanted}"
    for retry in retries:
        yield from error_problems(account, retry["error"])


def error_problems(account: Account, error: dict[str, Any]) -> Iterator[str]:
    row = account.row
    if (error["type"], error["status_code"]) != (row.kind, row.status_code):
        yield f"{error} instead of {row.kind} ({row.status_code})"
    if error["retryable"] != row.retryable:
        yield f"{error} may be retried: {row.retryable}"
    if error["provider"] != f"simulator-{row.wire}":
        yield f"the provider is {error['provider']!r}"
    if re.search(r"\d", error["message"]) or not error["message"].endswith("."):
        yield f"{error['message']!r} is no sentence for people (L47)"


def end_problems(account: Account) -> Iterator[str]:
    chat, row = account.chat, account.row
    assert chat is not None
    errors = account.said("error")
    spoken = [m.body for m in account.stored if m.body.role is Role.ASSISTANT]
    if not fails(account):
        if chat.status is not Status.IDLE or errors:
            yield f"{chat.status}, {chat.error}, {errors}"
        if any(body.ending is Ending.INTERRUPTED for body in spoken):
            yield "an interrupt that was not requested"
        said = [p.text for p in spoken[-1].parts if isinstance(p, Text)] if spoken else []
        if row.fault not in ODD and "Dry." not in said:
            yield f"the last word is {said}"
        return
    if chat.status is not Status.FAILED or len(errors) != 1:
        yield f"{chat.status} with {len(errors)} errors"
        return
    yield from error_problems(account, errors[0])
    if [body.ending for body in spoken] != ([Ending.CUT] if row.kept != "nothing" else []):
        if row.fault not in RACING:
            yield f"{[body.ending for body in spoken]} where {row.kept} was said"
        return
    if spoken and row.fault not in RACING and kept(spoken[0].parts) != row.kept:
        yield f"{kept(spoken[0].parts)} is kept instead of {row.kept}"


def view_problems(account: Account) -> Iterator[str]:
    """What the reader made of it is what is stored."""
    chat, view = account.chat, account.view
    assert chat is not None
    stored = [
        orjson.loads(orjson.dumps(message_json(message)))
        for message in account.stored
        if is_shown(message.body)
    ]
    if list(view.messages) != stored:
        yield f"the reader has {view.messages} instead of {stored}"
    if view.preview is not None or view.retry is not None:
        yield f"the reader still has {view.preview}, {view.retry}"
    if view.status != chat.status:
        yield f"the reader is told {view.status}"
    sentence = None if chat.error is None else chat.error.sentence
    if (view.error or {}).get("message") != sentence:
        yield f"the reader is told {view.error} instead of {sentence!r}"
