"""The bare engine runs the statements of a turn: it knows a value for each of their parameters."""

import re

from holdfast_lab.bench.pgbench import turn_script


def test_each_parameter_of_a_turns_statements_has_a_value() -> None:
    # A parameter without a value raises; a parameter that stayed would be PostgreSQL's error.
    assert not re.search(r"\$\d", turn_script())
