"""How a worker is paced and bounded."""

from dataclasses import dataclass, field

from holdfast.domain.ids import ChatId


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTimings:
    """`ttl_s` is how long the chats of a dead worker stay where they are."""

    ttl_s: float = 10.0
    heartbeat_every_s: float = 3.0
    heartbeat_timeout_s: float = 2.0
    retry_s: float = 0.25

    def __post_init__(self) -> None:
        # Two beats in a row may fail, and the third still comes in time.
        assert 0 < self.heartbeat_every_s * 3 < self.ttl_s
        assert 0 < self.heartbeat_timeout_s <= self.heartbeat_every_s
        assert 0 < self.retry_s <= self.heartbeat_every_s


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    name: str = "worker"
    lease: LeaseTimings = field(default_factory=LeaseTimings)
    capacity: int = 600
    """Chats driven at once; interrupts come on top (L80)."""

    only: tuple[ChatId, ...] | None = None
    """Drive these chats, if their workers are dead, and end with them. Nothing else is driven,
    swept or forgotten: see quarantine.py."""

    acquire_every_s: float = 1.0
    """How long a chat waits whose hint was lost."""
    acquire_full_every_s: float = 0.25
    """Between two acquires without room, which can only bring interrupts (L81)."""
    acquire_batch_max: int = 64
    release_batch_s: float = 0.02
    sync_every_s: float = 3.0
    sweep_every_s: float = 5.0
    stop_every_s: float = 1.5
    """How often to look for chats of disabled users: they end within 5 s."""
    sweep_max: int = 100
    forget_every_s: float = 600.0
    forget_after_s: float = 3600.0

    statement_timeout_s: float = 5.0
    lost_answer_s: float = 260.0
    """How long after an acquire or a commit without an answer it may still take effect: longer than
    the database lets those statements run that share a transaction (db/lanes.py), one by one. Until
    then each sync asks for what is ours and not driven, which is one statement."""
    retry_s: float = 0.25
    crash_pause_s: float = 1.0
    """Before a chat is released whose driver failed: a poisoned one must not spin."""
    stop_s: float = 5.0
    """For cancelled runners to end."""
    drain_s: float = 30.0
    """For runners to let go, and for tools that must finish."""
    finish_replies_s: float = 0.0
    """Of that, for replies that are under way to come to their end; then they are cut."""
    leave_s: float = 2.0

    def __post_init__(self) -> None:
        assert self.capacity > 0
        assert self.only is None or 0 < len(self.only) <= self.capacity
        assert self.acquire_batch_max > 0
        assert self.sweep_max > 0
        assert 0 < self.acquire_full_every_s <= self.acquire_every_s
        assert 0 <= self.release_batch_s < 1
        assert self.sync_every_s > 0
        assert self.stop_every_s > 0
        assert 0 < self.sweep_every_s <= self.forget_every_s
        assert self.forget_after_s > self.lease.ttl_s
        assert 0 < self.statement_timeout_s < self.lost_answer_s
        assert self.retry_s > 0
        assert 0 <= self.finish_replies_s <= self.drain_s
        assert min(self.crash_pause_s, self.stop_s, self.drain_s, self.leave_s) >= 0


@dataclass(slots=True)
class WorkerCounters:
    """What the worker did, for the metrics. Only grows, but for `driven`."""

    driven: int = 0
    """Chats driven now."""
    acquired: int = 0
    """Taken ones among them."""
    taken: int = 0
    """Chats that were acquired by the commit that made them runnable."""
    taken_in_doubt: int = 0
    """Such commits whose answer was lost; the chats were released."""
    released: int = 0
    lost: int = 0
    """Chats that passed on while a runner was still at them."""
    crashed: int = 0
    """Drivers that failed; their chats were released."""
    stuck: int = 0
    """Runners that did not end in time after they were cancelled."""
    acquires: int = 0
    acquires_failed: int = 0
    syncs: int = 0
    set_aside: int = 0
    """Chats that this version cannot read, left for a newer one."""
    expired: int = 0
    """Waits ended because their deadline had passed."""
    stopped: int = 0
    """Chats stopped because their owner was disabled."""
    forgotten: int = 0
    """Workers removed that died long ago."""
    heartbeats: int = 0
    heartbeats_failed: int = 0
    leases: int = 0
    """Times this worker began, or began anew."""
    lease_losses: int = 0
    leases_given_up: int = 0
    """Leases that could be renewed while no commit was answered."""
    alone_started: int = 0
    """Processes started for chats that keep losing their workers."""
    alone_died: int = 0
    """Such processes that did not end by themselves."""
