"""The async half, by hand. `holdfast_client.sync` is made of it by scripts/generate_sync.py."""
