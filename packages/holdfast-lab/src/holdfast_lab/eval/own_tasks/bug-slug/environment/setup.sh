#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >slug.py <<'END'
"""Slugs of titles, for addresses."""

import re


def slug(title):
    """Lower case words, joined by single dashes."""
    words = re.sub(r"[^a-z0-9]", "-", title.lower())
    return words.strip("-")
END
cat >test_slug.py <<'END'
import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_words_are_joined_by_single_dashes(self):
        self.assertEqual(slug("Hello, World!"), "hello-world")

    def test_a_plain_word_stays(self):
        self.assertEqual(slug("kelp"), "kelp")


if __name__ == "__main__":
    unittest.main()
END
