#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >pages.py <<'END'
"""Pages of a list."""


def page_count(items, size):
    """How many pages the list has; an empty list has none."""
    return len(items) // size


def page(items, number, size):
    """The page with this number; the first is 1. Raises IndexError for a page that is not there."""
    if number < 0 or number > page_count(items, size):
        raise IndexError(number)
    first = (number - 1) * size
    return items[first : first + size]
END
cat >test_pages.py <<'END'
import unittest

from pages import page, page_count


class PagesTest(unittest.TestCase):
    def test_the_last_page_may_be_short(self):
        self.assertEqual(page_count([1, 2, 3], 2), 2)
        self.assertEqual(page([1, 2, 3], 2, 2), [3])


if __name__ == "__main__":
    unittest.main()
END
