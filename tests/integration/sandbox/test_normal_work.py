"""A wall that stops work is no use: what people do in a workspace all day, done behind it."""

import asyncio
import os
import tempfile
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pytest
from typing_extensions import override

from holdfast_agent.sandbox.bubblewrap import Bubblewrap
from holdfast_lab.chaos.faults.sandbox.wall import begun, give, ground_of, open_wall, run

WHEEL: Final = "tiny_thing-1.0-py3-none-any.whl"


@pytest.fixture
async def wall() -> AsyncGenerator[Bubblewrap]:
    async with open_wall() as opened:
        yield opened


def write(wall: Bubblewrap, name: str, text: str) -> None:
    path = wall.options.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    give(wall.options.root)


async def test_git_makes_clones_commits_branches_and_merges(wall: Bubblewrap) -> None:
    ran = await run(
        wall,
        "set -e; git init -q --bare origin.git; git clone -q origin.git work 2>&1; cd work;"
        "echo one > file; git add file; git commit -qm one; git push -q origin HEAD;"
        "git switch -qc side; echo two > file; git commit -qam two; git switch -q main;"
        "git merge -q --no-edit side; git log --format=%s; git status --porcelain",
    )

    assert ran.code == 0
    assert ran.out.splitlines()[-2:] == ["two", "one"]


async def test_a_commit_can_be_made_in_a_guarded_repository(wall: Bubblewrap) -> None:
    await run(wall, "git init -q . && echo one > file")
    ran = await run(
        wall,
        "git add file && git commit -qm one && git switch -qc side && git gc -q;"
        " git log --format=%s:%an; git config core.fsmonitor ./evil;"
        " echo evil > .git/hooks/pre-commit; rm -rf .git/hooks; mv .git aside; ls -A",
    )

    assert ran.out.startswith("one:Holdfast\n")
    assert ran.out.splitlines()[-2:] == [".git", "file"]
    assert not (wall.options.root / ".git" / "hooks" / "pre-commit").exists()
    assert "fsmonitor" not in (wall.options.root / ".git" / "config").read_text()


async def test_where_a_repository_is_being_made_the_next_command_is_not_guarded(
    wall: Bubblewrap,
) -> None:
    """Whoever runs unguarded could exchange a file for a link while it is bound (gitguard.py)."""
    making = "git init -q . && echo made && sleep 60"
    async with begun(wall, making, "first") as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"made\n"
        ran = await run(wall, "git config some.thing done", "second")
    wall.ended("first")
    guarded = await run(wall, "git config some.thing again", "third")

    assert ran.code == 0
    assert guarded.code != 0


async def test_a_link_in_place_of_the_configuration_shows_nothing(wall: Bubblewrap) -> None:
    secret = wall.options.root.parent / "secret"
    secret.write_text("secret")
    git = wall.options.root / ".git"
    (git / "hooks").mkdir(parents=True)
    (git / "config").symlink_to("../../secret")
    give(wall.options.root)

    ran = await run(wall, "cat .git/config")

    assert ran.code != 0
    assert "No such file" in ran.out


async def test_c_is_compiled_and_run(wall: Bubblewrap) -> None:
    write(wall, "main.c", '#include <stdio.h>\nint main(void) { return puts("built") < 0; }\n')
    write(wall, "Makefile", "main: main.c\n\tcc -O2 -Wall -o main main.c\n")

    ran = await run(wall, "make -s && ./main")

    assert (ran.code, ran.out) == (0, "built\n")


async def test_a_node_project_is_built(wall: Bubblewrap) -> None:
    write(wall, "dependency/package.json", '{"name": "dependency", "version": "1.0.0"}')
    write(wall, "dependency/index.js", "module.exports = () => 'built'\n")
    write(
        wall,
        "package.json",
        '{"name": "work", "version": "1.0.0", "scripts": {"build": "node build.js"},'
        ' "dependencies": {"dependency": "file:./dependency"}}',
    )
    write(
        wall,
        "build.js",
        "const {Worker} = require('worker_threads');\n"
        'const work = \'require("child_process").execSync("true")\';\n'
        "new Worker(work, {eval: true}).on('exit', code =>"
        " require('fs').writeFileSync('out', require('dependency')() + code));\n",
    )

    ran = await run(wall, "npm i --offline --no-audit --silent && npm run -s build && cat out")

    assert (ran.code, ran.out) == (0, "built0")


async def test_python_makes_an_environment_and_installs_from_a_folder(wall: Bubblewrap) -> None:
    wheel(wall.options.root / "index")
    give(wall.options.root)

    ran = await run(
        wall,
        "set -e; /usr/bin/python3 -m venv --without-pip env;"
        " /usr/bin/python3 -m pip --python env/bin/python install -q --no-index"
        " --find-links index tiny_thing;"
        " env/bin/python -c 'import tiny_thing; print(tiny_thing.IS)'",
    )

    assert (ran.code, ran.out) == (0, "installed\n")


async def test_pip_installs_through_the_proxy_from_a_listed_index_only() -> None:
    with index() as (port, asked):
        async with open_wall(private_hosts=(f"localhost:{port}",)) as wall:
            # The name and not 127.0.0.1: an address is never on the list. Our own lo is asked last.
            ran = await run(
                wall,
                "unset no_proxy NO_PROXY; /usr/bin/python3 -m venv --without-pip env;"
                " /usr/bin/python3 -m pip --python env/bin/python install -q --retries 0"
                f" --index-url http://localhost:{port}/simple/ tiny_thing &&"
                " env/bin/python -c 'import tiny_thing; print(tiny_thing.IS)'",
            )
            asked_before = len(asked)
            refused = await run(
                wall,
                "unset no_proxy NO_PROXY; /usr/bin/python3 -m pip download -q --retries 0"
                f" --index-url http://localhost:{port + 1}/simple/ tiny_thing",
            )
            denied = ground_of(wall).proxy.counts.denied_hosts

    assert (ran.code, ran.out) == (0, "installed\n")
    assert asked_before >= 2
    assert refused.code != 0
    assert denied[f"localhost:{port + 1}"] >= 1


async def test_a_server_started_by_one_command_is_reached_by_the_next(wall: Bubblewrap) -> None:
    server = "exec /usr/bin/python3 -u -m http.server 8000 --bind 127.0.0.1"
    async with begun(wall, server, "server") as process:
        assert process.stdout is not None
        assert b"Serving" in await process.stdout.readline()
        ran = await run(
            wall, "/usr/bin/curl -sS -o /dev/null -w '%{http_code}' http://localhost:8000/"
        )
    wall.ended("server")

    assert (ran.code, ran.out) == (0, "200")


async def test_two_workspaces_have_nothing_in_common() -> None:
    server = "exec /usr/bin/python3 -u -m http.server 8000 --bind 127.0.0.1"
    async with open_wall() as one, open_wall() as other, begun(one, server, "server") as process:
        assert process.stdout is not None
        assert b"Serving" in await process.stdout.readline()
        ran = await run(other, "/usr/bin/curl -sS http://localhost:8000/")

    assert ran.code == 7, "could not connect"


async def test_everything_dies_with_its_launcher(wall: Bubblewrap) -> None:
    script = "for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM; sleep 600' &) ; done; echo up; wait"
    async with begun(wall, script, "key") as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"up\n"
        process.kill()
        await process.wait()
        # The last process of the tree holds the other end: its end is everybody's.
        async with asyncio.timeout(60):
            await process.stdout.read()
    assert wall.ended("key") is None


def wheel(folder: Path) -> None:
    folder.mkdir(parents=True)
    with ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr("tiny_thing.py", "IS = 'installed'\n")
        info = "tiny_thing-1.0.dist-info"
        about = "Metadata-Version: 2.1\nName: tiny_thing\nVersion: 1.0\n"
        archive.writestr(f"{info}/METADATA", about)
        kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", kind)
        archive.writestr(f"{info}/RECORD", "")


@contextmanager
def index() -> Generator[tuple[int, list[str]]]:
    """A package index on the machine's own loopback, and what it was asked for."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        @override
        def log_message(self, format: str, *args: Any) -> None:
            asked.append(self.path)

    with tempfile.TemporaryDirectory() as folder:
        wheel(Path(folder, "simple", "tiny-thing"))
        handler = partial(Handler, directory=folder)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield server.server_port, asked
            finally:
                server.shutdown()


async def test_tmp_and_home_are_kept_between_the_commands_of_a_workspace(wall: Bubblewrap) -> None:
    first = await run(
        wall,
        "echo log > /tmp/test.log; git config --global alias.st status; echo cached > ~/.cache;"
        " stat -c %a:%u /tmp ~",
    )
    second = await run(wall, "cat /tmp/test.log /var/tmp/test.log ~/.cache; git config alias.st")

    assert first.out == "1777:1000\n700:1000\n"
    assert second.out == "log\nlog\ncached\nstatus\n"


async def test_a_server_in_tmp_is_reached_by_the_next_command(wall: Bubblewrap) -> None:
    serving = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('/tmp/door'); s.listen();"
        " print('up', flush=True); s.accept()[0].sendall(b'heard')"
    )
    asking = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/tmp/door');"
        " print(s.recv(9).decode())"
    )
    async with begun(wall, f'/usr/bin/python3 -c "{serving}"', "server") as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"up\n"
        ran = await run(wall, f'/usr/bin/python3 -c "{asking}"', "client")
    wall.ended("server")

    assert ran.out == "heard\n"


async def test_no_command_sees_the_tmp_of_another_workspace_or_of_the_machine() -> None:
    """Nor through a link that it leaves there: links are followed where the command is."""
    async with open_wall() as one, open_wall() as other:
        secret = one.options.root.parent / "secret"  # in the machine's /tmp
        secret.write_text("secret")
        left = await run(
            one, f"echo mine > /tmp/file; ln -s {secret} /tmp/link; mkfifo /tmp/pipe; ls -A /tmp"
        )
        seen = await run(other, f"ls -A /tmp ~; cat /tmp/file /tmp/link {secret}")
        followed = await run(one, "cat /tmp/link")

        assert left.out.split() == ["file", "link", "pipe"]
        assert "mine" not in seen.out
        assert "secret\n" not in seen.out.splitlines(keepends=True)
        assert followed.code != 0
        assert "file" not in os.listdir(tempfile.gettempdir())
        assert "tmp" not in os.listdir("/sys"), "the machine's own /sys is as it was"
