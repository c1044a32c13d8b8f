#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >cache.py <<'END'
"""A cache with a limit and a time to live."""

import time
from collections import OrderedDict


class Cache:
    def __init__(self, limit, ttl, clock=time.monotonic):
        self._limit, self._ttl, self._clock = limit, ttl, clock
        self._entries = OrderedDict()

    def put(self, key, value):
        self._entries[key] = (value, self._clock())
        if len(self._entries) > self._limit + 1:
            self._entries.popitem(last=True)

    def get(self, key, default=None):
        found = self._entries.get(key)
        if found is None:
            return default
        value, stored = found
        if self._clock() - stored > self._ttl:
            return default
        self._entries[key] = (value, self._clock())
        return value

    def __len__(self):
        return len(self._entries)
END
cat >test_cache.py <<'END'
import unittest

from cache import Cache


class CacheTest(unittest.TestCase):
    def test_the_limit_holds(self):
        cache = Cache(limit=2, ttl=10, clock=lambda: 0)
        for key in "abc":
            cache.put(key, key)
        self.assertEqual(len(cache), 2)
        self.assertIsNone(cache.get("a"))


if __name__ == "__main__":
    unittest.main()
END
