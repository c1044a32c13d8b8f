"""The names of background tasks, as metrics show them."""

from typing import Final

BACKGROUND_TASKS: Final = (
    *("bus receiver", "bus sender", "chat texts", "clock", "feed", "forget expired", "list"),
    "list poll",
    *("overdue", "runner", "settings", "stream poll", "worker", "workspace", "workspaces"),
    "other",
)
"""As `holdfast.tasks` counts them."""
