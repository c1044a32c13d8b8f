"""Facts in, outcomes out: each commit is one statement, compare and set."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, LiteralString, TypeVar

import asyncpg

from holdfast.db.codec import escape
from holdfast.db.pool import Pool
from holdfast.db.queries import load_query
from holdfast.db.rows import (
    Row,
    appended_columns,
    chat_from_row,
    facts_parameters,
    past_from_row,
    rest_parameters,
)
from holdfast.domain.chat import Facts, Past, Target
from holdfast.domain.errors import Unavailable
from holdfast.domain.fence import Fence
from holdfast.domain.format import FORMAT
from holdfast.domain.ids import ChatId, ClientKey, Epoch, QueuedId, Seq, UserId, Version
from holdfast.domain.messages import Role
from holdfast.domain.outcome import Answer, Outcome
from holdfast.ports.store import JUST_THE_CHAT, Asking, Created, Keyed, Loaded, Receipt, Stamp

LOAD: Final = load_query("load_chat")
LOAD_PAST: Final = load_query("load_past")
CREATE: Final = load_query("create_chat")
FIND_CREATED: Final = load_query("find_created")
COMMIT: Final = load_query("commit_begin") + "\n" + load_query("commit_end")
COMMIT_ALL: Final = "\n".join(
    (load_query("commit_begin"), load_query("commit_rest"), load_query("commit_end"))
)


SEQ_MAX: Final = 2**31 - 1
VERSION_MAX: Final = 2**63 - 1

Number = TypeVar("Number", bound=int)


class PostgresStore:
    """The store on PostgreSQL. Holds no state but the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def load(self, chat_id: ChatId, asking: Asking = JUST_THE_CHAT) -> Loaded | None:
        key = None if asking.key is None else escape(asking.key)
        target = within(asking.target, SEQ_MAX)
        row = await fetch_row(self._pool, LOAD, chat_id, target, key)
        if row is None:
            return None
        facts = Facts(
            chat=chat_from_row(row),
            target=_target(asking.target, row),
            past=await self._load_past(chat_id, within(asking.past, VERSION_MAX)),
        )
        return Loaded(facts, _receipt(row))

    async def _load_past(self, chat_id: ChatId, version: Version | None) -> Past | None:
        if version is None:
            return None
        row = await fetch_row(self._pool, LOAD_PAST, chat_id, version)
        return None if row is None else past_from_row(version, row)

    async def create(self, outcome: Outcome, keyed: Keyed | None = None) -> Stamp | None:
        chat = outcome.chat
        row = await fetch_row(
            self._pool,
            CREATE,
            chat.chat_id,
            chat.org_id,
            chat.owner_id,
            chat.status.value,
            chat.history_version,
            chat.last_seq,
            chat.owes_reply,
            chat.compactable,
            None if chat.model is None else escape(chat.model),
            None if chat.effort is None else escape(chat.effort),
            *_key_parameters(keyed),
            FORMAT,
            *appended_columns(outcome),
        )
        return None if row is None else _stamp(row)

    async def find_created(self, owner_id: UserId, key: ClientKey) -> Created | None:
        row = await fetch_row(self._pool, FIND_CREATED, owner_id, escape(key))
        if row is None:
            return None
        receipt = Receipt(row["digest"], Answer(version=Version(1)))
        return Created(ChatId(row["id"]), receipt)

    async def commit(
        self, outcome: Outcome, *, fence: Fence | None = None, keyed: Keyed | None = None
    ) -> Stamp | None:
        before, answer = outcome.before, outcome.answer
        parameters: tuple[Any, ...] = (
            before.chat_id,
            before.version,
            None if fence is None else fence.worker_id,
            None if fence is None else fence.epoch,
            outcome.releases,
            *facts_parameters(outcome.chat),
            *_key_parameters(keyed),
            answer.seq,
            answer.queued_id,
            FORMAT,
            *appended_columns(outcome),
        )
        statement: LiteralString = COMMIT
        if _needs_the_rest(outcome):
            statement = COMMIT_ALL
            parameters += rest_parameters(outcome)
        row = await fetch_row(self._pool, statement, *parameters)
        return None if row is None else _stamp(row)


async def fetch_row(pool: Pool, statement: LiteralString, *parameters: object) -> Row | None:
    with unavailable_when_cut():
        return await pool.fetchrow(statement, *parameters)


async def fetch_rows(pool: Pool, statement: LiteralString, *parameters: object) -> list[Any]:
    with unavailable_when_cut():
        return await pool.fetch(statement, *parameters)


@contextmanager
def unavailable_when_cut() -> Generator[None]:
    """The world's faults as `Unavailable`; a broken constraint is our mistake and stays itself.

    When the answer to a commit is lost the change may well be there (F1: 40 of 40 were), so nobody
    may take this for a refusal.
    """
    try:
        yield
    except (
        OSError,
        TimeoutError,
        asyncpg.PostgresConnectionError,
        asyncpg.InsufficientResourcesError,
        asyncpg.OperatorInterventionError,
        asyncpg.LockNotAvailableError,
    ) as error:
        what = str(error) or type(error).__name__
        raise Unavailable(f"the database did not answer: {what}") from error
    except asyncpg.InterfaceError as error:
        # The driver's word for a closed connection, but also for arguments of ours that do not fit.
        if "clos" not in str(error):
            raise
        raise Unavailable(f"the connection to the database is gone: {error}") from error


def within(number: Number | None, bound: int) -> Number | None:
    """A number that a column can hold, or None: what lies beyond cannot be there anyway."""
    return number if number is not None and 0 <= number <= bound else None


def _needs_the_rest(outcome: Outcome) -> bool:
    return bool(outcome.hidden_from is not None or outcome.queued or outcome.left or outcome.moved)


def _key_parameters(keyed: Keyed | None) -> tuple[str | None, bytes | None]:
    return (None, None) if keyed is None else (escape(keyed.key), keyed.digest)


def _stamp(row: Row) -> Stamp:
    return Stamp(Epoch(row["epoch"]), row["at"])


def _target(seq: Seq | None, row: Row) -> Target | None:
    if seq is None or row["target_role"] is None:
        return None
    return Target(seq=seq, role=Role(row["target_role"]), removed=row["target_removed"])


def _receipt(row: Row) -> Receipt | None:
    if row["receipt_digest"] is None:
        return None
    seq, queued_id = row["receipt_seq"], row["receipt_queued_id"]
    answer = Answer(
        version=Version(row["receipt_version"]),
        seq=None if seq is None else Seq(seq),
        queued_id=None if queued_id is None else QueuedId(queued_id),
    )
    return Receipt(row["receipt_digest"], answer)
