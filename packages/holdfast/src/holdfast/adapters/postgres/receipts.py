"""What keyed requests made, besides changes to chats."""

from typing import Any, Final

from holdfast.adapters.postgres.codec import escape
from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.queries import load_query
from holdfast.adapters.postgres.store import fetch_row
from holdfast.domain.ids import ClientKey, UserId
from holdfast.ports.identity import AccountReceipt
from holdfast.ports.store import IdempotencyKey

FIND: Final = load_query("account_receipt")


def receipt_parameters(keyed: IdempotencyKey | None) -> dict[str, Any]:
    return {
        "client_key": None if keyed is None else escape(keyed.key),
        "digest": None if keyed is None else keyed.digest,
    }


async def find_receipt(pool: Pool, actor_id: UserId, key: ClientKey) -> AccountReceipt | None:
    row = await fetch_row(pool, FIND, actor_id=actor_id, client_key=escape(key))
    return None if row is None else AccountReceipt(row["digest"], row["made_id"])
