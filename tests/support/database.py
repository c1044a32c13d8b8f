"""A real database per test, cloned from one that was migrated once."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.resources import files
from uuid import uuid4

import asyncpg

from holdfast.db.migrate import migrate
from holdfast.db.pool import Pool, PoolOptions, open_pool
from holdfast.prove.stage.people import add_user as add_user

MIGRATIONS = sum(
    each.name.endswith(".sql") for each in files("holdfast.db").joinpath("migrations").iterdir()
)
"""How many there are."""
SERVER_URL = os.environ.get("HOLDFAST_TEST_SERVER_URL", "postgresql://127.0.0.1:5432")


def database_url(name: str) -> str:
    return f"{SERVER_URL}/{name}"


async def on_server(statement: str) -> None:
    connection = await asyncpg.connect(database_url("postgres"))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def temporary_database(template: str = "template1") -> AsyncGenerator[str]:
    """The URL of a database that is gone afterwards."""
    name = f"holdfast_test_{uuid4().hex}"
    await on_server(f'create database "{name}" template "{template}"')
    try:
        yield database_url(name)
    finally:
        await on_server(f'drop database "{name}" with (force)')


@asynccontextmanager
async def migrated_template() -> AsyncGenerator[str]:
    """The name of a migrated database to clone."""
    async with temporary_database() as url:
        await migrate(url)
        yield url.rsplit("/", 1)[1]


@asynccontextmanager
async def cloned_pool(template: str, **options: int) -> AsyncGenerator[Pool]:
    async with temporary_database(template) as url, open_pool(url, PoolOptions(**options)) as pool:
        yield pool
