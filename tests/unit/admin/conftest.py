"""Hints and polls on fakes do no I/O: they run in virtual time."""

from tests.support.virtual import virtual_runner as virtual_runner
