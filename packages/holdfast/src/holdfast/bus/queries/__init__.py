"""The statements of `bus`."""

from typing import Final

from holdfast.statements import Statements

_STATEMENTS: Final = Statements(__name__)
load_query: Final = _STATEMENTS.load_query
block_names: Final = _STATEMENTS.block_names
