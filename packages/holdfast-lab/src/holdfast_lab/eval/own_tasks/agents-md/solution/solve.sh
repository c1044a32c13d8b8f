#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >units/fathoms.py <<'END'
# SPDX-License-Identifier: MIT
"""Depth."""


def fathoms(metres: float) -> float:
    """Metres in fathoms, rounded to two digits."""
    return round(metres / 1.8288, 2)
END
sed -i 's/^from units.knots/from units.fathoms import fathoms\n&/; s/\["knots"\]/["fathoms", "knots"]/' units/__init__.py
sed -i '0,/^- /s//- added fathoms\n- /' CHANGES.md
cat >tests/test_fathoms.py <<'END'
# SPDX-License-Identifier: MIT
import unittest

from units import fathoms


class FathomsTest(unittest.TestCase):
    def test_one_fathom(self):
        self.assertEqual(fathoms(1.8288), 1.0)
END
python3 -m unittest discover -s tests -t .
