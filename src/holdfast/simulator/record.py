"""The record: what was asked, what was sent, what was billed, and whether the client stayed."""

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from holdfast.simulator.jsons import JsonObject
from holdfast.simulator.usage import InputUsage, Usage, bill

ENTRIES_MAX: Final = 10_000
SENT_BYTES_MAX: Final = 65_536
SECRET_HEADERS: Final = frozenset(
    {"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
)


def without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name.lower(): "***" if name.lower() in SECRET_HEADERS else value
        for name, value in headers.items()
    }


@dataclass(slots=True, kw_only=True)
class Entry:
    number: int
    wire: str
    path: str
    headers: dict[str, str]
    body: JsonObject | None
    began_s: float
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
    """The last requests; the sums go over what is still kept."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=ENTRIES_MAX)
        self._next = 1
        self.redirects_followed = 0

    def open(
        self,
        *,
        wire: str,
        path: str,
        headers: Mapping[str, str],
        body: JsonObject | None,
        began_s: float,
    ) -> Entry:
        entry = Entry(
            number=self._next,
            wire=wire,
            path=path,
            headers=without_secrets(headers),
            body=body,
            began_s=began_s,
        )
        self._next += 1
        self._entries.append(entry)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def get(self, number: int) -> Entry | None:
        return next((entry for entry in self._entries if entry.number == number), None)

    def clear(self) -> None:
        self._entries.clear()
        self._next = 1
        self.redirects_followed = 0

    def billing(self) -> JsonObject:
        models: dict[str, JsonObject] = {}
        total = Usage()
        streams = 0
        for entry in self._entries:
            usage = entry.billed
            if usage is None:
                continue
            streams += 1
            total += usage
            held = models.setdefault(entry.model, {"streams": 0, "usage": Usage()})
            held["streams"] += 1
            held["usage"] += usage
        return {
            "streams": streams,
            "usage": asdict(total),
            "models": {
                name: {"streams": held["streams"], "usage": asdict(held["usage"])}
                for name, held in models.items()
            },
        }
