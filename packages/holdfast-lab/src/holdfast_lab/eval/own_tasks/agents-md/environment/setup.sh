#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir units tests
cat >AGENTS.md <<'END'
# Rules of this project

- Every Python file begins with the line `# SPDX-License-Identifier: MIT`.
- Every function has type annotations, and a docstring of one line.
- Every public function is exported in `units/__init__.py`, in `__all__`, which is sorted.
- Every change adds a line to the top of the list in `CHANGES.md`, in the form `- added NAME`.
- Every module `units/NAME.py` has a test `tests/test_NAME.py`. Run `python3 -m unittest discover -s tests -t .` before you finish.
END
cat >CHANGES.md <<'END'
# Changes

- added knots
END
cat >units/knots.py <<'END'
# SPDX-License-Identifier: MIT
"""Speed."""


def knots(metres_per_second: float) -> float:
    """Metres per second in knots, rounded to two digits."""
    return round(metres_per_second * 1.943844, 2)
END
cat >units/__init__.py <<'END'
# SPDX-License-Identifier: MIT
"""Units of the sea."""

from units.knots import knots

__all__ = ["knots"]
END
cat >tests/__init__.py <<'END'
# SPDX-License-Identifier: MIT
END
cat >tests/test_knots.py <<'END'
# SPDX-License-Identifier: MIT
import unittest

from units import knots


class KnotsTest(unittest.TestCase):
    def test_one_metre_per_second(self):
        self.assertEqual(knots(1), 1.94)
END
