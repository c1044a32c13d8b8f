"""The record: what was asked, what was sent, what was billed, and whether the client stayed."""

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from holdfast_simulator.jsons import JsonObject
from holdfast_simulator.usage import InputUsage, Usage, bill

ENTRIES_MAX: Final = 10_000
BODIES_BYTES_MAX: Final = 64 * 1024 * 1024
"""Bodies that are kept; older ones are forgotten first, their entries stay."""
SENT_BYTES_MAX: Final = 32_768
"""How much of each answer is kept."""
SECRET_HEADERS: Final = frozenset(
    {"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
)


def without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name.lower(): "***" if name.lower() in SECRET_HEADERS else value
        for name, value in headers.items()
    }


def key_digest(headers: Mapping[str, str]) -> str:
    """Tells the keys of requests apart; empty: there was none."""
    given = {name.lower(): value for name, value in headers.items()}
    keys = sorted(value for name, value in given.items() if name in SECRET_HEADERS)
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:12] if keys else ""


@dataclass(slots=True, kw_only=True)
class Entry:
    number: int
    wire: str
    path: str
    headers: dict[str, str]
    body: JsonObject | None
    body_bytes: int
    began_s: float
    key: str = ""
    """A digest of it."""
    model: str = ""
    source: str = ""
    fault: str | None = None
    fault_struck: bool = False
    status: int | None = None
    rejected_by: str | None = None
    events: dict[str, int] = field(default_factory=dict[str, int])
    bytes_sent: int = 0
    sent: bytearray = field(default_factory=bytearray)
    entry: InputUsage | None = None
    """Set when the first event went out: from then on the request is billed."""
    output: int = 0
    reasoning: int = 0
    searches: int = 0
    completed: bool = False
    disconnected_after_s: float | None = None
    took_s: float | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def billed(self) -> Usage | None:
        if self.entry is None:
            return None
        return bill(
            self.entry, output=self.output, reasoning=self.reasoning, searches=self.searches
        )

    def note(self, name: str, data: bytes) -> None:
        self.events[name] = self.events.get(name, 0) + 1
        self.note_bytes(data)

    def note_bytes(self, data: bytes) -> None:
        self.bytes_sent += len(data)
        room = SENT_BYTES_MAX - len(self.sent)
        if room > 0:
            self.sent += data[:room]

    def brief(self) -> JsonObject:
        usage = self.billed
        return {
            "number": self.number,
            "wire": self.wire,
            "path": self.path,
            "model": self.model,
            "source": self.source,
            "fault": self.fault,
            "fault_struck": self.fault_struck,
            "status": self.status,
            "rejected_by": self.rejected_by,
            "finished": self.done.is_set(),
            "completed": self.completed,
            "disconnected_after_s": self.disconnected_after_s,
            "took_s": self.took_s,
            "usage": asdict(usage) if usage else None,
        }

    def full(self) -> JsonObject:
        return self.brief() | {
            "headers": self.headers,
            "body": self.body,
            "events": self.events,
            "bytes_sent": self.bytes_sent,
            "sent": self.sent.decode(errors="replace"),
        }


class Record:
    """The last requests. Memory is bounded; the bill is not: what is forgotten stays summed."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._bodies: deque[Entry] = deque()
        self._bodies_bytes = 0
        self._forgotten: dict[str, Sum] = {}
        self._next = 1
        self.redirects_followed = 0

    def open(
        self,
        *,
        wire: str,
        path: str,
        headers: Mapping[str, str],
        body: JsonObject | None,
        body_bytes: int,
        began_s: float,
    ) -> Entry:
        entry = Entry(
            number=self._next,
            wire=wire,
            path=path,
            headers=without_secrets(headers),
            key=key_digest(headers),
            body=body,
            body_bytes=body_bytes,
            began_s=began_s,
        )
        self._next += 1
        self._entries[entry.number] = entry
        self._bodies.append(entry)
        self._bodies_bytes += body_bytes
        self._make_room()
        return entry

    def _make_room(self) -> None:
        while self._bodies_bytes > BODIES_BYTES_MAX and len(self._bodies) > 1:
            oldest = self._bodies.popleft()
            oldest.body = None
            self._bodies_bytes -= oldest.body_bytes
        while len(self._entries) > ENTRIES_MAX:
            oldest = next(iter(self._entries.values()))
            if not oldest.done.is_set():
                break
            del self._entries[oldest.number]
            _add(self._forgotten, oldest)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, number: int) -> Entry | None:
        return self._entries.get(number)

    def clear(self) -> None:
        self._entries.clear()
        self._bodies.clear()
        self._bodies_bytes = 0
        self._forgotten.clear()
        self._next = 1
        self.redirects_followed = 0

    def billing(self) -> JsonObject:
        models = {name: Sum(held.streams, held.usage) for name, held in self._forgotten.items()}
        for entry in self._entries.values():
            _add(models, entry)
        total = sum((held.usage for held in models.values()), start=Usage())
        return {
            "streams": sum(held.streams for held in models.values()),
            "usage": asdict(total),
            "models": {
                name: {"streams": held.streams, "usage": asdict(held.usage)}
                for name, held in models.items()
            },
        }


@dataclass(slots=True)
class Sum:
    streams: int = 0
    usage: Usage = field(default_factory=Usage)


def _add(models: dict[str, Sum], entry: Entry) -> None:
    usage = entry.billed
    if usage is not None:
        held = models.setdefault(entry.model, Sum())
        held.streams += 1
        held.usage += usage
