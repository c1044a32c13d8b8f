"""The sync half: made of `holdfast_client.aio` by scripts/generate_sync.py, but for `ground`."""
