"""Reading by lines, whatever the size and the content."""

import asyncio
import os
import resource
from base64 import b64decode
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast_agent.faults import Refused
from holdfast_agent.files import images, reading
from holdfast_agent.wire import FaultCode, ReadFile
from tests.support.agent_files import Client, Place

PIECES = st.sampled_from([b"a", b"bb", b"\n", b"\r\n", b"\xc3\xa9", b"\xff", b"x" * 50])


@given(
    st.lists(PIECES, max_size=30).map(b"".join),
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(1, 7),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_range_of_lines_is_what_a_simple_reader_would_read(
    place: Place, content: bytes, first: int, most: int, block: int
) -> None:
    """Whatever the blocks are that it comes in: a line feed may be the first byte of one."""
    place.write("f", content)
    lines = content.split(b"\n")
    whole = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    if first > max(1, len(whole)):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BLOCK_BYTES", block)
        got = reading.read(place.beneath, ReadFile(path="f", first_line=first, lines_max=most))

    expected = whole[first - 1 : first - 1 + most]
    assert got.text == b"".join(expected).decode(errors="replace")
    assert (got.lines_total, got.bytes_total) == (len(whole), len(content))
    assert got.last_line == first + len(expected) - 1
    assert got.more == (got.last_line < len(whole))


async def test_two_gigabytes_are_read_without_being_held(place: Place, files: Client) -> None:
    """Sparse, so that it costs no disk: most of it is one line of NULs after the beginning."""
    path = place.write("large.log", "first\n" * 3000 + "tail")
    with path.open("r+b") as file:
        file.truncate(2 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    status, read = await files.ask("read", {"path": "large.log", "first_line": 2, "lines_max": 2})

    grown_mib = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert (status, read["text"], read["more"]) == (200, "first\nfirst\n", True)
    assert read["bytes_total"] == (2 << 30) + 6
    assert read["lines_total"] == 3002 or not read["counted"]
    assert grown_mib < 64


async def test_a_large_read_does_not_stall_the_agent(place: Place, files: Client) -> None:
    path = place.write("large.log", "x\n" * 5000)
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    place.write("small.txt", "quick")

    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(files.ask("read", {"path": "large.log"}))
        answered = 0
        while not slow.done():
            _, small = await files.ask("read", {"path": "small.txt"})
            assert small["text"] == "quick"
            answered += 1

    assert slow.result()[0] == 200
    assert answered > 3, "the small reads waited for the large one"


def test_counting_ends_in_time(place: Place) -> None:
    place.write("f", "a\n" * 2_000_000)
    ticks = count(0, 6)

    got = reading.read(place.beneath, ReadFile(path="f", lines_max=1), clock=lambda: next(ticks))

    assert (got.text, got.more, got.counted) == ("a\n", True, False)
    assert 0 < got.lines_total < 2_000_000
    assert got.bytes_total == 4_000_000


def test_a_line_too_far_away_is_refused(place: Place) -> None:
    place.write("f", "a\n" * 2_000_000)
    ticks = count(0, 6)

    asked = ReadFile(path="f", first_line=1_999_999)
    with pytest.raises(Refused) as refused:
        reading.read(place.beneath, asked, clock=lambda: next(ticks))

    assert refused.value.code is FaultCode.TOO_LARGE


async def test_long_lines_are_cut_at_a_rune_and_keep_their_ending(
    place: Place, files: Client
) -> None:
    place.write("f", "é" * 10_000 + "\r\n" + "short\n")

    _, read = await files.ask("read", {"path": "f"})

    first, second = read["text"].split("\r\n")
    assert first == "é" * 4096 + "… [11,808 more bytes in this line: use a command such as cut -c]"
    assert second == "short\n"


async def test_not_more_is_told_than_fits(place: Place, files: Client) -> None:
    place.write("f", ("y" * 1000 + "\n") * 3000)

    _, read = await files.ask("read", {"path": "f", "lines_max": 100_000})

    assert len(read["text"]) <= reading.TEXT_BYTES_MAX
    assert read["last_line"] == len(read["text"]) // 1001
    assert (read["more"], read["lines_total"]) == (True, 3000)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"\xef\xbb\xbfbom\n", "bom\n"),
        (b"caf\xe9\n", "caf\ufffd\n"),
        (b"x" * 9000 + b"\0\n", None),
    ],
)
async def test_odd_content_is_told_as_text(
    place: Place, files: Client, content: bytes, text: str | None
) -> None:
    place.write("f", content)

    status, read = await files.ask("read", {"path": "f"})

    assert status == 200
    assert read["bytes_total"] == len(content)
    assert "\0" not in read["text"]
    assert text is None or read["text"] == text


@pytest.mark.parametrize(
    ("content", "first", "told"),
    [
        ("1\n2\n3\n", -1, "3\n"),
        ("1\n2\n3", -1, "3"),
        ("1\n2\n3\n", -2, "2\n3\n"),
        ("1\n2\n3\n", -3, "1\n2\n3\n"),
        ("1\n2\n3\n", -99, "1\n2\n3\n"),
        ("1\n2\n3\n", 0, "1\n2\n3\n"),
        ("", -5, ""),
    ],
)
def test_a_negative_line_counts_from_the_end(
    place: Place, content: str, first: int, told: str
) -> None:
    place.write("f", content)

    got = reading.read(place.beneath, ReadFile(path="f", first_line=first))

    assert got.text == told
    assert got.first_line == content.count("\n", 0, len(content) - len(told)) + 1


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
        (b"\xff\xd8\xff\xe0\0", "image/jpeg"),
        (b"GIF89a\0", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_an_image_is_sent_whole_where_it_is_asked_for(place: Place, head: bytes, kind: str) -> None:
    place.write("picture", head)
    place.write("large", head + b"\0" * images.IMAGE_BYTES_MAX)

    got = reading.read(place.beneath, ReadFile(path="picture", images=True))

    assert got.image is not None
    assert (got.image.media_type, b64decode(got.image.base64)) == (kind, head)
    with pytest.raises(Refused, match="binary file"):
        reading.read(place.beneath, ReadFile(path="picture"))
    with pytest.raises(Refused, match="Make a smaller copy"):
        reading.read(place.beneath, ReadFile(path="large", images=True))


async def test_what_cannot_be_read_is_named(place: Place, files: Client) -> None:
    place.write("image.png", b"\x89PNG\0\0")
    place.write("short.txt", "one\n")

    binary = await files.ask("read", {"path": "image.png"})
    beyond = await files.ask("read", {"path": "short.txt", "first_line": 9})
    missing = await files.ask("read", {"path": "missing.txt"})

    assert binary[0] == 400
    assert "binary file of 6 bytes" in binary[1]["message"]
    assert beyond[0] == 400
    assert "has 1 line, so there is no line 9" in beyond[1]["message"]
    assert (missing[0], missing[1]["code"]) == (404, "not_found")
