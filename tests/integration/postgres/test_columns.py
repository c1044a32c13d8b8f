"""The declared facts of a chat, beside the schema."""

from holdfast.adapters.postgres.columns import NAMES
from holdfast.adapters.postgres.pool import Pool

COLUMNS_OF_CHATS = """
select column_name from information_schema.columns
where table_schema = 'public' and table_name = 'chats'
"""


async def test_every_declared_fact_is_a_column_of_chats(pool: Pool) -> None:
    columns = {row["column_name"] for row in await pool.fetch(COLUMNS_OF_CHATS)}
    assert sorted(NAMES) == sorted(columns.intersection(NAMES))
