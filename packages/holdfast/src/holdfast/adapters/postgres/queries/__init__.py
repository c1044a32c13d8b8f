"""The statements of `adapters.postgres`."""

from typing import Final

from holdfast.adapters.postgres.columns import FILLED
from holdfast.adapters.statements import Query, Statements

__all__ = ["Query", "block_names", "load_query"]

_STATEMENTS: Final = Statements(__name__, FILLED)
load_query: Final = _STATEMENTS.load_query
block_names: Final = _STATEMENTS.block_names
