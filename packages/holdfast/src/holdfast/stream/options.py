"""Every bound of watching, in one place, and what is counted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    poll_every_s: float = 2.0
    """The safety net: how long something that the bus lost can stay unseen."""
    poll_grace_s: float = 0.2
    """What the poll, or a hint, shows to be ahead may be on its way: only what is still missing
    then is read."""
    ping_every_s: float = 15.0
    linger_s: float = 5.0
    """How long a chat stays watched after its last reader left; many come right back."""
    retry_min_s: float = 0.05
    log_max: int = 2_000
    log_bytes_max: int = 64 * 2**10
    """A chat's log for readers that are behind; its newest entry comes on top, however long. With
    as much that waits in its socket, one that never reads costs less than 300 KB (R5)."""
    missed_max: int = 500
    """Messages that a reader may have missed and is still told one by one."""
    missed_bytes_max: int = 1 * 2**20
    snapshot_max: int = 200
    snapshot_bytes_max: int = 128 * 2**10
    """A snapshot holds the newest message, however long, and older ones up to so much."""
    parts_bytes_max: int = 128 * 2**10
    """Live parts that one latecomer holds at a time; the rest is read when these are taken."""
    reads_max: int = 8
    """Chats that the poll reads at the same time."""

    def __post_init__(self) -> None:
        assert 0 <= self.poll_grace_s < self.poll_every_s
        assert self.retry_min_s > 0
        assert self.ping_every_s > 0
        assert self.linger_s >= 0
        assert self.log_max > 0
        assert self.log_bytes_max > 0
        assert self.missed_max > 0
        assert self.snapshot_max > 0
        assert self.parts_bytes_max > 0
        assert self.reads_max > 0

    @property
    def retry_max_s(self) -> float:
        return max(self.retry_min_s, self.poll_every_s)


@dataclass(slots=True)
class StreamCounters:
    """What watching did, for the metrics. Only grows, but for `readers` and `feeds`."""

    readers: int = 0
    feeds: int = 0
    events: int = 0
    """Given to readers; each counts."""
    commits: int = 0
    """Taken from hints, without a read."""
    reads: int = 0
    """Of the store, because a reader watches."""
    live_reads: int = 0
    """Of the bus, by latecomers and to fill gaps."""
    snapshots: int = 0
    lagged: int = 0
    gaps: int = 0
    polls: int = 0
    found_by_poll: int = 0
    """Chats that the safety poll found ahead of what the bus had told."""
    failed_reads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    poll_every_s: float = 2.0
    """How long a change of a list can stay unseen that no hint told of."""
    read_every_s: float = 0.25
    """At most so often a watcher reads: what changes meanwhile is told together."""
    retry_s: float = 1.0
    ping_every_s: float = 15.0
    snapshot_max: int = 50
    changes_max: int = 200
    """Chats that may have changed while a reader was away; past that, a snapshot."""
    told_max: int = 1_000

    def __post_init__(self) -> None:
        assert 0 <= self.read_every_s < self.poll_every_s
        assert self.retry_s > 0
        assert self.ping_every_s > 0
        assert 0 < self.snapshot_max <= self.changes_max


@dataclass(slots=True)
class WatchCounters:
    """What watching lists did, for the metrics. Only grows, but for `watchers`."""

    watchers: int = 0
    events: int = 0
    reads: int = 0
    """By watchers that were woken, or came."""
    snapshots: int = 0
    polls: int = 0
    failed_reads: int = 0
