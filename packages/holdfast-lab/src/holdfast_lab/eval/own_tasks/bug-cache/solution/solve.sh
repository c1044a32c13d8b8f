#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >new.py <<'END'
    def put(self, key, value):
        self._entries[key] = (value, self._clock())
        self._entries.move_to_end(key)
        while len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def get(self, key, default=None):
        found = self._entries.get(key)
        if found is None:
            return default
        value, stored = found
        if self._clock() - stored > self._ttl:
            del self._entries[key]
            return default
        self._entries.move_to_end(key)
        return value

    def __len__(self):
        return len(self._entries)
END
sed -i '/def put/,$d' cache.py
cat new.py >>cache.py
rm new.py
