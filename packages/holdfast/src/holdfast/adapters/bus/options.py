"""Every bound of the bus, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BusOptions:
    tick_s: float = 0.02
    """What is said within a tick goes out together; after a silence the first goes at once. Hints
    and the first part of an episode end a tick early."""
    rest: float = 3.0
    """Pause after a large batch, urgent items included, as a multiple of the time it took."""
    crowd: int = 8
    """Hints and first parts in one batch, from which on the next ones had better share one, too."""
    buffered_max: int = 50_000
    buffered_bytes_max: int = 32 * 2**20
    batch_max: int = 2_000
    batch_bytes_max: int = 4 * 2**20
    mailbox_max: int = 2_000
    mailbox_bytes_max: int = 1 * 2**20
    backoff_min_s: float = 0.05
    backoff_max_s: float = 2.0
    connect_timeout_s: float = 3.0
    answer_timeout_s: float = 5.0
    ping_every_s: float = 5.0
    subscribe_wait_s: float = 2.0
    """How long a new follower waits for the engine before it goes on with the promise of a gap."""
    drain_s: float = 1.0
    """How long closing waits for the last things to go out."""
    live_ttl_s: float = 600.0
    """How long the live log is kept at least; on PostgreSQL up to twice that."""
    episode_parts_max: int = 20_000
    """On Redis an episode keeps this many of its newest parts."""

    def __post_init__(self) -> None:
        assert 0 < self.tick_s < self.answer_timeout_s
        assert self.rest >= 0
        assert self.crowd > 0
        assert 0 < self.backoff_min_s <= self.backoff_max_s
        assert 0 < self.batch_max <= self.buffered_max
        assert self.mailbox_max > 1, "a gap needs a place, too"
        assert self.live_ttl_s > 0

    def rest_after(self, took_s: float, urgent: int) -> float:
        """The pause after a batch with this many urgent items. In proportion to the time it took: a
        busy engine gets fewer, larger batches. And to the number of urgent items: a single one
        among hundreds of streams does not wait."""
        return min(took_s * self.rest * min(1.0, urgent / self.crowd), self.tick_s)
