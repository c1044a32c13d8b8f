#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >table.py <<'END'
"""Comma separated text."""


def read_rows(text):
    """A list of rows, each a list of fields."""
    return [line.split(",") for line in text.strip().split("\n")]
END
cat >test_table.py <<'END'
import unittest

from table import read_rows


class TableTest(unittest.TestCase):
    def test_plain_fields(self):
        self.assertEqual(read_rows("a,b\nc,d\n"), [["a", "b"], ["c", "d"]])

    def test_a_comma_in_quotes_belongs_to_the_field(self):
        self.assertEqual(read_rows('"a,b",c\n'), [["a,b", "c"]])


if __name__ == "__main__":
    unittest.main()
END
