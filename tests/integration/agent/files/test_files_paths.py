"""Paths that want out, and things that are no files: nothing gets through, nothing hangs."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.files import reading
from holdfast_agent.wire import Change, EditFiles, FileEdit, ReadFile, WriteFile
from tests.support.agent_files import SECRET, SEEN_AS, Client, Place


def _link(target: str) -> Callable[[Place], str]:
    def make(place: Place) -> str:
        os.symlink(target.format(outside=place.outside), place.root / "link")
        return "link"

    return make


def _through(target: str) -> Callable[[Place], str]:
    def make(place: Place) -> str:
        return f"{_link(target)(place)}/secret.txt"

    return make


def _chain(place: Place) -> str:
    os.symlink("b", place.root / "a")
    os.symlink("sub/c", place.root / "b")
    (place.root / "sub").mkdir()
    os.symlink("../../outside/secret.txt", place.root / "sub" / "c")
    return "a"


def _hard_link(place: Place) -> str:
    os.link(place.outside / "secret.txt", place.root / "hard")
    return "hard"


def _fifo(place: Place) -> str:
    os.mkfifo(place.root / "fifo")
    return "fifo"


def _socket(place: Place) -> str:
    with socket.socket(socket.AF_UNIX) as each:
        each.bind(str(place.root / "sock"))
    return "sock"


def _device(place: Place) -> str:
    try:
        os.mknod(place.root / "null", 0o20666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root can make a device file")
    return "null"


def _said(path: str) -> Callable[[Place], str]:
    return lambda place: path.format(root=place.root, outside=place.outside)


ATTACKS: dict[str, Callable[[Place], str]] = {
    "up": _said("../outside/secret.txt"),
    "up and up": _said("../../../../../../../../etc/passwd"),
    "down and up": _said("x/../../outside/secret.txt"),
    "absolute": _said("/etc/passwd"),
    "absolute outside": _said("{outside}/secret.txt"),
    "absolute through the root": _said("{root}/../outside/secret.txt"),
    "absolute through the seen root": _said(f"{SEEN_AS}/../outside/secret.txt"),
    "a root that is only a prefix": _said("{root}-other/secret.txt"),
    "double slash": _said("//etc/passwd"),
    "quoted": _said('"../outside/secret.txt"'),
    "quoted escapes": _said('"\\x2e\\x2e/outside/secret.txt"'),
    "NUL": _said("x\0/../../outside/secret.txt"),
    "quoted NUL": _said('"x\\x00y"'),
    "proc": _said("/proc/self/environ"),
    "link to a file": _link("../outside/secret.txt"),
    "absolute link to a file": _link("{outside}/secret.txt"),
    "link to a folder": _through("../outside"),
    "absolute link to a folder": _through("{outside}"),
    "link to root": _through("/"),
    "link to proc": _link("/proc/self/environ"),
    "link to an own descriptor": _link("/proc/self/fd/0"),
    "link to itself": _link("link"),
    "chain of links": _chain,
    "hard link": _hard_link,
    "FIFO": _fifo,
    "socket": _socket,
    "device": _device,
    "folder": _said("."),
    "too long a name": _said("a" * 300),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.timeout(60)
async def test_nothing_outside_is_read_written_or_edited(
    place: Place, files: Client, attack: str
) -> None:
    path = ATTACKS[attack](place)
    before = _all_of(place.outside)

    read = await files.ask("read", ReadFile(path=path))
    written = await files.ask("write", WriteFile(path=path, text="overwritten"))
    change = Change(old="secret", new="overwritten")
    edited = await files.ask("edit", EditFiles(files=(FileEdit(path=path, changes=(change,)),)))
    searched = await files.ask("search", {"path": path, "pattern": "."})

    for status, answer in (read, written, edited, searched):
        assert status in (400, 403, 404, 413) or answer.get("matches") == [], answer
        assert SECRET not in str(answer)
        assert "root:" not in str(answer)
    assert _all_of(place.outside) == before


def _all_of(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir()}


async def test_links_that_stay_inside_are_followed_for_reading_only(
    place: Place, files: Client
) -> None:
    place.write("docs/AGENTS.md", "read me")
    os.symlink("docs/AGENTS.md", place.root / "CLAUDE.md")

    status, read = await files.ask("read", ReadFile(path="CLAUDE.md"))
    refused, told = await files.ask("write", WriteFile(path="CLAUDE.md", text="new"))

    assert (status, read["text"]) == (200, "read me")
    assert refused == 400
    assert "docs/AGENTS.md" in told["message"]
    assert (place.root / "CLAUDE.md").is_symlink()


@pytest.mark.parametrize("prefix", [SEEN_AS, "{root}"])
async def test_an_absolute_path_in_the_workspace_is_taken(
    place: Place, files: Client, prefix: str
) -> None:
    place.write("a/b.txt", "here")

    status, read = await files.ask("read", {"path": f"{prefix.format(root=place.root)}/a/b.txt"})

    assert (status, read["path"], read["text"]) == (200, "a/b.txt", "here")


@pytest.mark.parametrize(
    "name", ["two\nlines", "\x1b[2Jclear", "\u202egnp.exe", "tab\t", b"\xff\xfe"]
)
async def test_an_odd_name_is_shown_in_escapes_and_can_be_said_so(
    place: Place, files: Client, name: str | bytes
) -> None:
    (place.root / os.fsdecode(name)).write_text("odd")

    _, listed = await files.ask("list", {})
    shown = listed["entries"][0]["path"]
    _, found = await files.ask("find", {"pattern": "*"})
    status, read = await files.ask("read", {"path": shown})

    assert shown.isprintable()
    assert found["paths"] == [shown]
    assert (status, read["text"], read["path"]) == (200, "odd", shown)


_WITHOUT_OPENAT2 = """
import ctypes, struct, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
# Load the number of the call; if it is 437, answer with the errno; else allow.
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (6, 0, 0, 0x00050000 | {errno}), (6, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("HBBI", *rule) for rule in rules)
buffer = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0
from holdfast_agent.faults import Refused
from holdfast_agent.files.beneath import Beneath
from holdfast_agent.files import listing, reading, writing
from holdfast_agent.wire import ListFiles, ReadFile, WriteFile
beneath = Beneath(Path(sys.argv[1]))
for do in (
    lambda: reading.read(beneath, ReadFile(path="a.txt")),
    lambda: writing.write(beneath, WriteFile(path="a.txt", text="new")),
    lambda: listing.list_files(beneath, ListFiles()),
):
    try:
        do()
    except Refused as refused:
        print(refused.code, refused.message)
    else:
        print("served")
"""


@pytest.mark.parametrize("errno", [38, 1])
def test_without_openat2_no_file_is_served(place: Place, errno: int) -> None:
    place.write("a.txt", "old")

    script = _WITHOUT_OPENAT2.replace("{errno}", str(errno))
    ran = subprocess.run(
        [sys.executable, "-c", script, str(place.root)], capture_output=True, text=True, check=False
    )

    assert ran.stderr == ""
    said = ran.stdout.splitlines()
    assert len(said) == 3
    assert all(line.startswith("failed Files are not served") for line in said)
    assert (place.root / "a.txt").read_text() == "old"


def test_a_fifo_does_not_hang_nor_wake_who_waits_at_its_other_end(place: Place) -> None:
    _fifo(place)
    command = [sys.executable, "-c", f"open({str(place.root / 'fifo')!r}, 'w')"]
    with subprocess.Popen(command) as writer:
        try:
            with pytest.raises(Refused, match="FIFO"):
                reading.read(place.beneath, ReadFile(path="fifo"))
            assert writer.poll() is None
        finally:
            writer.kill()
