"""Tokens add up, prompt caches behave, seals hold, replies fit their limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast_simulator import tokens
from holdfast_simulator.asked import Asked, Segment, WireName
from holdfast_simulator.chance import Chance
from holdfast_simulator.clock import Clock
from holdfast_simulator.reply import (
    CallPart,
    RedactedPart,
    Stop,
    TextPart,
    ThinkingPart,
    cost,
    fit,
    reply_of,
)
from holdfast_simulator.seal import Purpose, holds, seal
from holdfast_simulator.usage import ONE_HOUR_S, InputUsage, PromptCache, Usage, bill

FIVE = 300


class Hands:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def clock(self) -> Clock:
        return Clock(wall_s=lambda: self.at_s, mono_s=lambda: self.at_s)


def asked(wire: WireName, *segments: Segment) -> Asked:
    return Asked(wire=wire, model="m", streams=True, prompt=(), segments=segments, body={})


def piece(letter: str, size: int, ttl_s: int | None = None) -> Segment:
    return Segment(data=letter.encode() * size * tokens.BYTES_PER_TOKEN, ttl_s=ttl_s)


def test_a_marked_prefix_is_written_once_then_read_until_it_expires() -> None:
    hands = Hands()
    cache = PromptCache(hands.clock())
    first = asked(WireName.ANTHROPIC, piece("a", 2000, FIVE), piece("b", 10))
    assert cache.charge(first, "k") == InputUsage(total=2010, cache_write_5m=2000)
    assert cache.charge(first, "k") == InputUsage(total=2010, cache_read=2000)
    hands.at_s += FIVE + 1
    assert cache.charge(first, "k") == InputUsage(total=2010, cache_write_5m=2000)
    assert cache.charge(first, "other key").cache_read == 0


def test_hour_and_five_minutes_are_billed_apart_and_the_longer_lives_on() -> None:
    hands = Hands()
    cache = PromptCache(hands.clock())
    prompt = asked(WireName.ANTHROPIC, piece("a", 1500, ONE_HOUR_S), piece("b", 500, FIVE))
    wrote = cache.charge(prompt, "k")
    assert (wrote.cache_write_1h, wrote.cache_write_5m) == (1500, 500)
    hands.at_s += FIVE + 1
    later = cache.charge(prompt, "k")
    assert (later.cache_read, later.cache_write_1h, later.cache_write_5m) == (1500, 0, 500)
    assert later.fresh == 0


def test_a_grown_chat_reads_the_old_breakpoint_and_writes_the_rest() -> None:
    cache = PromptCache(Hands().clock())
    cache.charge(asked(WireName.ANTHROPIC, piece("a", 1200, FIVE)), "k")
    grown = asked(WireName.ANTHROPIC, piece("a", 1200), piece("b", 300, FIVE))
    found = cache.charge(grown, "k")
    assert (found.cache_read, found.cache_write_5m) == (1200, 300)


def test_what_is_shorter_than_the_minimum_is_not_cached() -> None:
    cache = PromptCache(Hands().clock())
    small = asked(WireName.ANTHROPIC, piece("a", 1000, FIVE))
    assert cache.charge(small, "k") == cache.charge(small, "k") == InputUsage(total=1000)


@pytest.mark.parametrize("wire", [WireName.CHAT, WireName.RESPONSES, WireName.GEMINI])
def test_prefixes_are_cached_by_themselves_in_steps(wire: WireName) -> None:
    cache = PromptCache(Hands().clock())
    cache.charge(asked(wire, piece("a", 1100), piece("b", 50)), "k")
    found = cache.charge(asked(wire, piece("a", 1100), piece("c", 50)), "k")
    assert found == InputUsage(total=1150, cache_read=1024)
    cache.clear()
    assert cache.charge(asked(wire, piece("a", 1100)), "k").cache_read == 0


def test_bills_add_up_and_a_reply_is_never_free() -> None:
    one = bill(InputUsage(total=10, cache_read=4), output=0, reasoning=0, searches=1)
    assert one == Usage(input_tokens=10, cache_read_tokens=4, output_tokens=1, searches=1)
    assert (one + one).input_tokens == 20


@given(st.text(), st.integers(min_value=1, max_value=9) | st.none())
def test_deltas_join_to_their_text(text: str, number: int | None) -> None:
    assert "".join(tokens.deltas(text, number)) == text
    assert "".join(tokens.json_deltas(text, number)) == text
    assert all(tokens.deltas(text, number))


def test_a_reply_is_cut_at_its_limit() -> None:
    reply = reply_of(
        ThinkingPart(text="one two"),
        TextPart(text="three four five"),
        CallPart(name="t", arguments='{"a":"bcdefgh"}'),
    )
    assert fit(reply, None) is reply
    assert fit(reply, sum(map(cost, reply.parts))) is reply
    cut = fit(reply, cost(reply.parts[0]) + 2)
    assert cut.stop is Stop.LENGTH
    assert cut.parts == (ThinkingPart(text="one two"), TextPart(text="three"))
    inside = fit(reply, sum(map(cost, reply.parts)) - 1)
    assert isinstance(inside.parts[-1], CallPart)
    assert inside.parts[-1].arguments == '{"a":"bc'
    assert fit(reply_of(RedactedPart(text="x" * 99)), 1).parts == ()
    assert fit(reply_of(ThinkingPart(text="one two")), 1).parts == (ThinkingPart(text="one"),)


def test_a_seal_holds_for_its_purpose_and_text_only() -> None:
    made = seal(Purpose.THINKING, "hm", Chance(b"s"))
    assert holds(Purpose.THINKING, "hm", made)
    assert holds(Purpose.THINKING, "hm", made.replace("+", "-").replace("/", "_"))
    assert not holds(Purpose.THINKING, "Hm", made)
    assert not holds(Purpose.REASONING, "hm", made)
    for broken in ("", "AAAA", "not base64!", made[:-4]):
        assert not holds(Purpose.THINKING, "hm", broken)
