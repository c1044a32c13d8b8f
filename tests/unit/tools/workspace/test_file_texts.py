"""Files, listings and matches as a model reads them: whole pieces below the limit of a result."""

import pytest

from holdfast.tools.workspace.file_texts import (
    SKIPPED_FILES,
    counts_text,
    entries_text,
    image_value,
    lines_text,
    matches_text,
    paths_text,
)
from holdfast_agent.wire import Entry, FileCount, Found, Image, Lines, Listed, Match, Matches


def lines(text: str, **more: object) -> Lines:
    total = text.count("\n") + (not text.endswith("\n") and text != "")
    fields = {"path": "a.py", "first_line": 1, "last_line": total, "lines_total": total}
    return Lines.model_validate({"text": text, "bytes_total": 9, "more": False, **fields, **more})


def read(found: Lines, *, limit: int = 2000, bytes_max: int = 32_768) -> str:
    return lines_text(found, lines_max=limit, bytes_max=bytes_max).text


def test_lines_are_numbered() -> None:
    assert read(lines("x\n\n\ty")) == "a.py lines 1-3 of 3\n     1\tx\n     2\t\n     3\t\ty"
    tail = lines("y\n", first_line=99_999, last_line=99_999, lines_total=99_999)
    assert read(tail) == "a.py lines 99999-99999 of 99999\n 99999\ty"
    assert read(lines("", lines_total=0)) == "a.py is empty."


def test_how_to_continue_is_in_the_header() -> None:
    some = lines("x\ny\n", last_line=2, lines_total=9, more=True)
    assert read(some, limit=2).startswith("a.py lines 1-2 of 9 (continue with offset=3)\n")
    assert "(size limit; continue with offset=3)" in read(some)
    uncounted = some.model_copy(update={"counted": False})
    assert read(uncounted, limit=2).startswith("a.py lines 1-2 of more than 9 (continue")


def test_line_endings_are_told_and_not_shown() -> None:
    assert read(lines("x\r\ny\r\n")) == (
        "a.py lines 1-2 of 2 (CRLF line endings)\n     1\tx\n     2\ty"
    )


def test_of_one_line_above_the_limit_the_beginning_is_told_and_how_to_see_the_rest() -> None:
    told = lines_text(lines("é" * 5000 + "\nb\n"), lines_max=2000, bytes_max=400)
    assert len(told.text.encode()) <= 400
    assert "bytes in this line: use a command such as cut -c]" in told.text
    assert "lines 1-1 of 2 (size limit; continue with offset=2)" in told.text
    assert told.is_cut


def test_a_listing_has_sizes_and_the_entries_of_what_is_not_listed() -> None:
    found = Listed(
        entries=(
            Entry(path="src", kind="folder"),
            Entry(path="a.py", kind="file", bytes=12),
            Entry(path="x\ny", kind="link"),
            Entry(path="node_modules", kind="folder", entries=1234, ignored=True),
            Entry(path="data", kind="folder", entries=500),
        ),
        more=True,
        note="Listing took longer than 10 s.",
    )
    told = entries_text(found, limit=5, bytes_max=32_768)
    assert told.text.splitlines() == [
        "src/",
        "a.py (12 bytes)",
        r"x\ny (link)",
        "node_modules/ (ignored, 1,234 entries)",
        "data/ (500 entries)",
        "[5 of more entries shown. Give the path of a directory in it, or a smaller depth, or "
        "raise limit.]",
        "[Listing took longer than 10 s.]",
    ]
    assert (
        entries_text(Listed(entries=()), limit=5, bytes_max=999).text == "The directory is empty."
    )


def test_notes_are_the_last_line_of_listings_finds_and_searches() -> None:
    """R3: a search that was stopped must not read as one that found everything."""
    note = "Stopped: it took too long."
    match = Match(path="a", line=1, text="x")
    texts = [
        entries_text(Listed(entries=(), note=note), limit=9, bytes_max=999),
        paths_text(Found(paths=("a",), note=note), "", limit=9, bytes_max=999),
        paths_text(Found(paths=("a" * 900, "b"), note=note), "", limit=9, bytes_max=500),
        matches_text(Matches(matches=(match,), more=True, note=note), "", limit=9, bytes_max=999),
        counts_text(Matches(note=note), "", limit=9, bytes_max=999),
    ]
    assert {text.text.splitlines()[-1] for text in texts} == {f"[{note}]"}
    assert "raise limit" not in texts[3].text


def test_nothing_found_says_what_was_skipped() -> None:
    assert matches_text(Matches(), SKIPPED_FILES, limit=9, bytes_max=999).text == (
        "No matches. Files named by .gitignore were skipped: to include them, set ignored=true."
    )
    assert paths_text(Found(paths=()), "", limit=9, bytes_max=999).text == "No files match."


def test_counts_are_told_by_file() -> None:
    files = [FileCount(path="a", count=1), FileCount(path="b", count=20)]
    found = Matches(files=(*files, FileCount(path="c", count=10_000, more=True)))
    assert counts_text(found, "", limit=9, bytes_max=999).text.splitlines() == [
        "a: 1 match",
        "b: 20 matches",
        "c: 10,000 or more matches",
    ]


def test_lines_around_matches_are_told_once() -> None:
    def match(path: str, line: int) -> Match:
        before = tuple(f"{n}" for n in range(max(1, line - 2), line))
        return Match(path=path, line=line, text="hit", before=before, after=("x", "y"))

    found = Matches(matches=(match("a", 3), match("a", 5), match("a", 20), match("b", 2)))
    told = matches_text(found, "", limit=9, bytes_max=999).text.splitlines()
    assert [line.split()[0] for line in told] == [
        *("a-1-", "a-2-", "a:3:", "a-4-", "a:5:", "a-6-", "a-7-", "--"),
        *("a-18-", "a-19-", "a:20:", "a-21-", "a-22-", "--"),
        *("b-1-", "b:2:", "b-3-", "b-4-"),
    ]
    plain = Matches(matches=(Match(path="a", line=1, text="x"), Match(path="b", line=1, text="y")))
    assert matches_text(plain, "", limit=9, bytes_max=999).text == "a:1: x\nb:1: y"


@pytest.mark.parametrize("room", [300, 500, 1000])
def test_a_match_is_told_whole_or_not_at_all(room: int) -> None:
    matches = tuple(
        Match(path="a", line=line, text=f"{line}" * 30, before=("b",)) for line in range(10, 60, 3)
    )
    told = matches_text(Matches(matches=matches), "", limit=99, bytes_max=room)
    *rows, footer = told.text.splitlines()
    shown = [row for row in rows if row.startswith("a:")]
    assert len(told.text.encode()) <= room
    assert footer == f"[Size limit: {len(shown)} of 17 matches shown. Narrow the pattern or path.]"
    assert shown == [f"a:{match.line}: {match.text}" for match in matches[: len(shown)]]
    assert told.is_cut


def test_an_image_comes_with_words_for_a_model_that_takes_none() -> None:
    image = Image(media_type="image/png", base64="iVBORw==")
    value = image_value(lines("", bytes_total=1234, image=image), image)
    assert value["content"] == [
        {"type": "text", "text": "a.py: image/png, 1,234 bytes"},
        {
            "type": "image",
            "data": "iVBORw==",
            "mimeType": "image/png",
            "caption": "[This model does not take images. Use a command to look into the file.]",
        },
    ]
