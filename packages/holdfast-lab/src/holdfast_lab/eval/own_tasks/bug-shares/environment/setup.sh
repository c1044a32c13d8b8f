#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >shares.py <<'END'
"""Divides amounts of money."""


def split_cents(total, weights):
    """Integers that add up to `total`, in proportion to `weights`.

    Each part is the exact share rounded down or up by less than one cent. The cents that are left after rounding
    towards zero go, one each, to the largest remainders; of equal remainders the one that comes first
    gets it. A negative total is divided like the positive one, with the signs changed. A weight of 0
    gets 0. Raises ValueError for no weights, a negative weight, or weights that are all 0.
    """
    whole = sum(weights)
    parts = [round(total * weight / whole) for weight in weights]
    parts[-1] += total - sum(parts)
    return parts
END
cat >test_shares.py <<'END'
import unittest

from shares import split_cents


class SharesTest(unittest.TestCase):
    def test_the_first_of_equal_remainders_gets_the_cent(self):
        self.assertEqual(split_cents(100, [1, 1, 1]), [34, 33, 33])


if __name__ == "__main__":
    unittest.main()
END
