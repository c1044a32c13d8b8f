"""The sync half: made of `holdfast.sdk.aio` by scripts/generate_sync.py, but for `ground`."""
