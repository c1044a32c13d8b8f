"""The async half, by hand. `holdfast.sdk.sync` is made of it by scripts/generate_sync.py."""
