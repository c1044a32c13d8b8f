"""What is kept of a process's output: the first bytes, the last bytes, and how many there were.

However much is written, no more than `head_max + 2 * tail_max` bytes are held. Cursors are byte
offsets. No rune is cut: where the kept text is torn, bytes of a broken rune count as dropped; at
the end they wait for the rest, until there is no rest.
"""

from typing import Final

from holdfast_agent.wire import Output

HEAD_MAX: Final = 16 * 1024
TAIL_MAX: Final = 16 * 1024
RUNE_MAX: Final = 4


class Ring:
    def __init__(self, head_max: int = HEAD_MAX, tail_max: int = TAIL_MAX) -> None:
        self._head_max = head_max
        self._tail_max = tail_max
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._closed = False

    @property
    def total(self) -> int:
        return self._total

    def append(self, data: bytes) -> None:
        assert not self._closed
        self._total += len(data)
        room = self._head_max - len(self._head)
        self._head += data[:room]
        self._tail += data[room:][-self._tail_max :]
        if len(self._tail) > 2 * self._tail_max:
            # Seldom, so that a flood costs one copy per `tail_max` bytes and not one per read.
            del self._tail[: -self._tail_max]

    def whole(self) -> bytes:
        """All that was written, as long as that is no more than head and tail."""
        assert self._total <= self._head_max + self._tail_max
        return bytes(self._head + self._tail)

    def close(self) -> None:
        """Nothing will follow: a rune that is not whole stays so."""
        self._closed = True

    def since(self, after: int) -> Output:
        """From byte `after` on: up to what was dropped, or up to the end."""
        end = self._end()
        if after >= end:
            return Output(begin=end, end=end)
        begin, tail = self._torn_tail()
        if begin == 0:
            return _output(after, tail[after:end])
        head = self._torn_head()
        if after < len(head):
            return _output(after, head[after:])
        first = max(after, begin)
        return _output(first, tail[first - begin : end - begin], missed=first - after)

    def all_kept(self) -> tuple[Output | None, Output]:
        """Head and tail around what was dropped, or everything."""
        begin, _tail = self._torn_tail()
        if begin == 0:
            return None, self.since(0)
        head = self.since(0)
        return head, self.since(head.end)

    def has_after(self, after: int) -> bool:
        return self._end() > after

    def _end(self) -> int:
        if self._closed:
            return self._total
        return self._total - unfinished(bytes((self._head[-RUNE_MAX:] + self._tail)[-RUNE_MAX:]))

    def _torn_head(self) -> bytes:
        head = bytes(self._head)
        return head[: len(head) - unfinished(head)]

    def _torn_tail(self) -> tuple[int, bytes]:
        """Where the unbroken rest begins, and its bytes; 0 as long as nothing was dropped."""
        kept = bytes(self._tail[-self._tail_max :])
        begin = self._total - len(kept)
        if begin <= len(self._head):
            return 0, bytes(self._head) + kept
        torn = 0
        while torn < min(RUNE_MAX - 1, len(kept)) and kept[torn] & 0xC0 == 0x80:
            torn += 1
        return begin + torn, kept[torn:]


def unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a rune whose rest is missing."""
    for back in range(1, min(RUNE_MAX, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            return back if _length(byte) > back else 0
    return 0


def _length(lead: int) -> int:
    if lead >= 0xF0:
        return 4 if lead < 0xF5 else 1
    if lead >= 0xE0:
        return 3
    return 2 if lead >= 0xC2 else 1


def _output(begin: int, data: bytes, missed: int = 0) -> Output:
    text = data.decode("utf-8", errors="replace")
    return Output(begin=begin, end=begin + len(data), missed=missed, text=text)
