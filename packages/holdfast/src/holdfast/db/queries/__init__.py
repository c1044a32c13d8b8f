"""The statements of `db`."""

from typing import Final

from holdfast.statements import Query, Statements

__all__ = ["Query", "block_names", "load_query"]

_STATEMENTS: Final = Statements(__name__)
load_query: Final = _STATEMENTS.load_query
block_names: Final = _STATEMENTS.block_names
