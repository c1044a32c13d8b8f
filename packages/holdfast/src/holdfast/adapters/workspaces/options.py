"""How patient the keeper of workspaces is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperOptions:
    lapse_s: float = 15.0
    """Seconds after which a claim to start or stop a workspace passes to another server."""
    renew_every_s: float = 4.0
    abandoned_s: float = 60.0
    """Seconds after which the sweep takes over work that no caller waits for."""
    sweep_every_s: float = 3.0
    """Workspaces of a disabled user are stopped within 5 s."""
    swept_max: int = 50
    """Workspaces claimed by one sweep."""
    at_once_max: int = 8
    """Workspaces that one sweep stops at once."""
    touch_every_s: float = 60.0
    known_max: int = 10_000
    """Chats of which this process remembers the workspace."""
    look_first_s: float = 0.05
    look_s_max: float = 1.0
    """Between two looks at a workspace that another process starts."""
    owned_max: int = 100
    """Workspaces that one user may have."""
    patience_s: float = 30.0
    """Seconds that a caller waits for a start beyond the timeout of the start itself."""

    def __post_init__(self) -> None:
        assert self.renew_every_s * 3 < self.lapse_s, "two lost signs of life are survived"
        assert self.lapse_s <= self.abandoned_s
        assert 0 < self.look_first_s <= self.look_s_max
