"""What is kept of an output: its first and last bytes, whole runes, every byte accounted for."""

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_agent import ring as ring_module
from holdfast_agent.ring import Ring, unfinished
from tests.requirements import requirement

HEAD, TAIL = 16, 12
TEXTS: Final = st.text(alphabet="aé€😀\n", max_size=80)
CUTS: Final = st.lists(st.integers(1, 7), min_size=1, max_size=40)


def filled(text: str, cuts: list[int], made: Callable[[], Ring]) -> Ring:
    ring, data, at = made(), text.encode(), 0
    for number, _ in enumerate(data):
        if at >= len(data):
            break
        step = cuts[number % len(cuts)]
        ring.append(data[at : at + step])
        at += step
    return ring


def small() -> Ring:
    return Ring(head_max=HEAD, tail_max=TAIL)


def check_ends(text: str, cuts: list[int], made: Callable[[], Ring] = small) -> None:
    """The beginning is the beginning, the end is the end, and the gap is as large as is said."""
    ring = filled(text, cuts, made)
    ring.close()
    head, rest = ring.all_kept()
    assert rest.end == ring.total == len(text.encode())
    assert text.endswith(rest.text)
    assert "\ufffd" not in rest.text
    if head is None:
        assert rest.text == text
        return
    assert text.startswith(head.text)
    assert head.begin == 0
    assert head.end + rest.missed == rest.begin
    assert rest.end - rest.begin > TAIL - 4
    assert head.end > HEAD - 4


def check_follower(text: str, cuts: list[int], made: Callable[[], Ring] = small) -> None:
    """Whoever reads as fast as it is written gets all of it, and never half a rune."""
    ring, heard, cursor, data, at = made(), "", 0, text.encode(), 0
    while at < len(data):
        step = cuts[at % len(cuts)]
        ring.append(data[at : at + step])
        at += step
        output = ring.since(cursor)
        assert output.missed == 0
        heard, cursor = heard + output.text, output.end
    ring.close()
    assert heard + ring.since(cursor).text == text


@requirement("L105")
@given(TEXTS, CUTS)
def test_head_and_tail_are_kept_whole_and_the_gap_is_counted(text: str, cuts: list[int]) -> None:
    check_ends(text, cuts)


@given(TEXTS, CUTS)
def test_a_reader_who_keeps_up_misses_nothing(text: str, cuts: list[int]) -> None:
    check_follower(text, cuts)


@given(TEXTS, CUTS, st.integers(0, 400))
def test_every_byte_after_a_cursor_is_given_or_counted_as_missed(
    text: str, cuts: list[int], after: int
) -> None:
    ring = filled(text, cuts, small)
    ring.close()
    output = ring.since(after)
    if after < ring.total:
        assert after + output.missed == output.begin
        assert output.end > after
    else:
        assert output.begin == output.end == ring.total


def test_bytes_that_are_no_text_do_no_harm() -> None:
    ring = small()
    for number in range(2000):
        ring.append(bytes([number % 256]))
        ring.since(max(0, number - 5))
    ring.close()
    assert ring.since(ring.total - 3).end == ring.total


def test_however_much_is_written_little_is_held() -> None:
    ring = Ring()
    for _ in range(2000):
        ring.append(b"x" * 65_536)
    head, tail = ring.all_kept()
    assert head is not None
    assert (head.end, tail.end) == (16 * 1024, 2000 * 65_536)
    held = vars(ring)
    assert len(held["_head"]) + len(held["_tail"]) <= 48 * 1024


def test_half_a_rune_waits_for_its_rest_and_comes_out_at_the_end() -> None:
    ring = small()
    ring.append("a€".encode()[:-1])
    assert (ring.since(0).text, ring.since(0).end) == ("a", 1)
    assert not ring.has_after(1)
    ring.close()
    assert ring.since(1).text == "\ufffd"


@pytest.mark.parametrize(
    ("data", "rest"),
    [
        (b"a", 0),
        ("é".encode(), 0),
        (b"\xc3", 1),
        (b"\xe2\x82", 2),
        (b"\xf0\x9f\x98", 3),
        (b"\x80", 0),
    ],
)
def test_the_beginning_of_a_rune_is_told_from_a_whole_one(data: bytes, rest: int) -> None:
    assert unfinished(data) == rest


class CutsRunes(Ring):
    """Mutant: the tail begins wherever it begins."""

    def _torn_tail(self) -> tuple[int, bytes]:  # pyright: ignore[reportImplicitOverride] - 3.11
        kept = bytes(vars(self)["_tail"][-TAIL:])
        begin = self.total - len(kept)
        head = bytes(vars(self)["_head"])
        return (0, head + kept) if begin <= len(head) else (begin, kept)


class ForgetsTheEnd(Ring):
    """Mutant: keeps the bytes after the head, not the last ones."""

    def append(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride] - 3.11
        held = vars(self)
        super().append(data)
        held["_tail"] = (held["_tail"])[:TAIL]


def waits_for_no_rest(_data: bytes) -> int:
    """Mutant: half a rune is given as it is."""
    return 0


@pytest.mark.parametrize("mutant", [CutsRunes, ForgetsTheEnd])
def test_a_ring_that_cuts_is_noticed(mutant: type[Ring]) -> None:
    """Whatever HEAD and TAIL are, one of these three has a rune where the tail begins."""
    noticed = 0
    for after in ("", "x", "xx"):
        try:
            check_ends("€" * (HEAD + TAIL) + after, [5], lambda: mutant(HEAD, TAIL))
        except AssertionError:
            noticed += 1
    assert noticed


def test_a_ring_that_gives_half_runes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_module, "unfinished", waits_for_no_rest)
    with pytest.raises(AssertionError):
        check_follower("€€€", [1])
