#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir tools
cat >tools/__init__.py <<'END'
END
cat >tools/upload.py <<'END'
"""Uploads."""


def parse_size(text):
    text = text.strip()
    units = {"k": 1000, "m": 1000**2, "g": 1000**3}
    if text and text[-1].lower() in units:
        return int(text[:-1]) * units[text[-1].lower()]
    return int(text)


def fits(text, limit):
    return parse_size(text) <= parse_size(limit)
END
cat >tools/quota.py <<'END'
"""Quotas."""


def parse_size(text):
    if text.endswith("KiB"):
        return int(text[:-3]) * 1024
    if text.endswith("MiB"):
        return int(text[:-3]) * 1024**2
    return int(text)


def left(quota, used):
    return max(0, parse_size(quota) - used)
END
cat >tools/log.py <<'END'
"""Logs."""


def parse_size(text):
    number = text.replace("_", "")
    if number.endswith("k"):
        return int(number[:-1]) * 1024
    if number.lower().endswith("b"):
        return int(number[:-1])
    return int(number)


def rotates(size, at):
    return size >= parse_size(at)
END
