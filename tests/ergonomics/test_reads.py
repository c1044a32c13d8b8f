"""`read_file` at every limit: no line is missing, and every cut names a way to continue."""

import re
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.adapters.providers.content import Picture, Words, output_pieces
from holdfast.adapters.providers.types import ModelFacts
from holdfast.chats.outputs import storable
from holdfast.tools.workspace.file_texts import NO_IMAGES
from holdfast_agent.files.images import IMAGE_BYTES_MAX
from tests.support.agent_files import Place
from tests.support.ergonomics import FolderAgent
from tests.support.model import WIRE_NAMES, call_for

HEADER = re.compile(
    r"(?P<path>.+) lines (?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+)"
    r"(?: \((?P<facts>[^()]*)\))?"
)
CONTINUE = re.compile(r"continue with offset=(\d+)")
ROW = re.compile(r" *(\d+)\t(.*)", re.DOTALL)
CUT = re.compile(r"… \[[\d,]+ (more )?bytes in this line: use a command such as cut -c\]$")

FILES = {
    "1,500 lines of 50 bytes": "".join(f"{n:049}\n" for n in range(1500)),
    "no line feed at the end": "a\nb\nc",
    "blank lines": "\n" * 3000,
    "one line": "x",
    "CRLF": "a\r\nb\r\n" * 400,
    "runes of four bytes": "\N{HUGGING FACE}" * 200 + "\n" + "é\n" * 2000,
    "other line separators": "a\x0bb\x0cc\x1cd\u2028e\u0085f\rg\n" * 300,
    "tabs and numbers": "\t1\t2\n    42\tx\n" * 900,
    "long lines": ("y" * 7000 + "\n") * 30,
    "lines above every limit": "z" * 100_000 + "\nshort\n" + "z" * 9000 + "\n",
    "more lines than a read returns": "n\n" * 5000,
}
LIMITS = (256, 1000, 4096, 32 * 1024, 1 << 20)


@dataclass
class Pages:
    """What a model has after following every advice to continue."""

    rows: dict[int, str] = field(default_factory=dict[int, str])
    calls: int = 0


async def read_on(agent: FolderAgent, bytes_max: int, offset: int = 1, **more: int) -> Pages:
    pages = Pages()
    following: int | None = offset
    while following is not None:
        text = await agent.says(
            "read_file", path="f", offset=following, bytes_max=bytes_max, **more
        )
        head, *rows = text.split("\n")
        found = HEADER.fullmatch(head)
        assert found is not None, head
        numbered = [ROW.fullmatch(row) for row in rows]
        assert all(numbered), "a row without a number"
        numbers = [int(row[1]) for row in numbered if row]
        assert numbers == list(range(int(found["first"]), int(found["last"]) + 1))
        assert following < 0 or numbers[0] == following
        assert not pages.rows.keys() & set(numbers)
        pages.rows |= {int(row[1]): row[2] for row in numbered if row}
        pages.calls += 1
        onward = CONTINUE.search(found["facts"] or "")
        assert (onward is None) == (found["last"] == found["total"])
        following = int(onward[1]) if onward else None
    return pages


def lines_of(content: str) -> list[str]:
    lines = content.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def is_told(row: str, line: str) -> bool:
    """Whole, or its beginning and how to see the rest."""
    cut = CUT.search(row)
    return row == line if cut is None else line.startswith(row[: cut.start()]) and row != line


@pytest.mark.parametrize("bytes_max", LIMITS)
@pytest.mark.parametrize("name", FILES)
async def test_no_line_is_missing_whatever_the_limit_is(
    place: Place, agent: FolderAgent, name: str, bytes_max: int
) -> None:
    lines = lines_of(FILES[name])
    place.write("f", FILES[name])

    # A small window on a large file takes many pages; the first fifty show it as well as all.
    offset = max(1, len(lines) - 40 * bytes_max // 256)
    pages = await read_on(agent, bytes_max, offset)

    assert list(pages.rows) == list(range(offset, len(lines) + 1))
    for number, row in pages.rows.items():
        assert is_told(row, lines[number - 1]), number


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\0"), max_size=40), min_size=1),
    st.integers(256, 2000),
    st.integers(1, 20),
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
async def test_pages_of_any_text_are_the_text(
    place: Place, agent: FolderAgent, lines: list[str], bytes_max: int, limit: int
) -> None:
    content = "\n".join(lines) + "\n"
    place.write("f", content.encode("utf-8", "replace"))
    said = content.encode("utf-8", "replace").decode().removeprefix("\ufeff")

    pages = await read_on(agent, bytes_max, limit=limit)

    assert [*pages.rows.values()] == lines_of(said)


@pytest.mark.parametrize(
    ("arguments", "first", "last", "facts"),
    [
        ({}, 1, 1500, None),
        ({"limit": 10}, 1, 10, "continue with offset=11"),
        ({"offset": 1491}, 1491, 1500, None),
        ({"offset": -10}, 1491, 1500, None),
        ({"offset": -10, "limit": 3}, 1491, 1493, "continue with offset=1494"),
        ({"offset": -9999, "limit": 3}, 1, 3, "continue with offset=4"),
        ({"bytes_max": 32 * 1024}, 1, 573, "size limit; continue with offset=574"),
    ],
)
async def test_the_header_says_what_is_there(
    place: Place, agent: FolderAgent, arguments: dict[str, int], first: int, last: int,
    facts: str | None,
) -> None:  # fmt: skip
    place.write("src/a.py", FILES["1,500 lines of 50 bytes"])

    text = await agent.says("read_file", path="src/a.py", **{"bytes_max": 1 << 20, **arguments})

    said = f" ({facts})" if facts else ""
    assert text.split("\n")[0] == f"src/a.py lines {first}-{last} of 1500{said}"
    assert text.split("\n")[1] == f"{first:6}\t{first - 1:049}"
    assert text.endswith(f"{last - 1:049}")


@pytest.mark.parametrize("wire", WIRE_NAMES)
async def test_an_image_is_an_image_for_models_that_take_one(
    place: Place, agent: FolderAgent, wire: str
) -> None:
    place.write("a.png", b"\x89PNG\r\n\x1a\n".ljust(IMAGE_BYTES_MAX, b"\0"))

    value = storable((await agent.call("read_file", path="a.png")).value)

    sees = output_pieces(value, call_for(wire))
    reads = output_pieces(value, call_for(wire, model=ModelFacts(model="m", images=False)))
    described = Words(f"a.png: image/png, {IMAGE_BYTES_MAX:,} bytes")
    assert sees[0] == reads[0] == described
    assert isinstance(sees[1], Picture)
    assert reads[1:] == [Words(NO_IMAGES)]


async def test_a_large_image_is_refused_with_what_to_do(place: Place, agent: FolderAgent) -> None:
    place.write("a.png", b"\x89PNG\r\n\x1a\n".ljust(IMAGE_BYTES_MAX + 1, b"\0"))

    refused = await agent.call("read_file", path="a.png")

    assert refused.failed
    assert "Make a smaller copy with a command and read that." in str(refused.value)


@pytest.mark.parametrize(
    ("asked", "right"),
    [
        ("readme.md", "README.md"),
        ("main.py", "src/app/main.py"),
        ("src/app/mian.py", "src/app/main.py"),
    ],
)
async def test_the_name_in_a_refusal_can_be_read_next(
    place: Place, agent: FolderAgent, asked: str, right: str
) -> None:
    place.write("README.md", "# Title\n")
    place.write("src/app/main.py", "print()\n")

    refused = await agent.call("read_file", path=asked)

    assert refused.failed
    near = re.search(r"Nearest names: `([^`]+)`", str(refused.value))
    assert near is not None
    assert near[1] == right
    assert not (await agent.call("read_file", path=near[1])).failed
