"""Passwords that cost a test next to nothing."""

from typing import Final

from holdfast.identity.passwords import PasswordOptions

CHEAP: Final = PasswordOptions(time_cost=1, memory_kib=8, parallelism=1, at_once_max=4)
