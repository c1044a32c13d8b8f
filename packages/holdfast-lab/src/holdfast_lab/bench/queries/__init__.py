"""The statements of `bench`: what the database counts, and what the bare engine needs."""

from typing import Final

from holdfast.statements import Statements

load_query: Final = Statements(__name__).load_query
