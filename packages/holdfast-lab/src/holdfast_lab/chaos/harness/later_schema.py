"""A schema that is one migration ahead of this version's."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from holdfast.adapters.postgres.migrate import newest_migration

LATER: Final = "9000-later"
_SCRIPT: Final = """-- What a later version adds to the tables that every turn writes to
-- depends: {newest}

-- migrate: apply

alter table chats add column later integer not null default 0;

alter table messages add column later integer;

-- migrate: rollback

alter table messages drop column later;

alter table chats drop column later;
"""


@contextmanager
def later_migrations() -> Generator[Path]:
    """A folder with the migrations of this version and one more, `LATER`."""
    with TemporaryDirectory(prefix="holdfast-later-") as name:
        folder = Path(name)
        for each in (files("holdfast.adapters.postgres") / "migrations").iterdir():
            if each.name.endswith(".sql"):
                (folder / each.name).write_text(each.read_text())
        (folder / f"{LATER}.sql").write_text(_SCRIPT.format(newest=newest_migration()))
        yield folder
