"""Make the README's transcript for real: an answer that outlives its server.

    uv run python scripts/transcript.py

`holdfast dev` starts, `holdfast run` streams an answer with a tool call, the server is killed with
`kill -9` in mid-answer and started again, `holdfast attach @last` shows every word once and the end
of the turn. All of it happens; what was printed goes between the markers in README.md.
"""

import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

ROOT: Final = Path(__file__).resolve().parents[1]
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- transcript: made by scripts/transcript.py -->"
END: Final = "<!-- end of transcript -->"
PROMPT: Final = "Look at the clock and tell me what you see. [[sim: rate=8]]"
"""Slowly enough for the eye, and to be killed in between."""
KILL_AFTER: Final = r"The tool answered: \S+ \S+ \S+ \S+"
READY: Final = r"^  stop .*\n"
COLUMNS: Final = 100
CHANGING: Final = re.compile(
    r"chat_[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:+]+|(?<=127.0.0.1:)\d+|(?<=PostgreSQL )\d+"
)
ONCE: Final = re.compile(r"#once=\w+")
STYLE: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
LIMIT_S: Final = 300.0
POLL_S: Final = 0.02


class Failed(Exception):
    pass


@dataclass
class Transcript:
    lines: list[str] = field(default_factory=list[str])

    def typed(self, command: str) -> None:
        self.lines.append(f"$ {command}")

    def printed(self, text: str) -> None:
        for line in text.rstrip("\n").splitlines():
            self.lines += textwrap.wrap(line, COLUMNS) or [""]


@dataclass(frozen=True)
class Place:
    """Where it happens: files in `folder`, commands in `home`."""

    folder: Path
    port: int = 8080
    home: Path = ROOT

    @property
    def environment(self) -> dict[str, str]:
        ours = ("HOLDFAST_", "VIRTUAL_ENV")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        return {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
            "HOLDFAST_CONFIG_DIR": str(self.folder / "config"),
            "COLUMNS": str(COLUMNS),
            "TERM": "xterm",
            "NO_COLOR": "1",
        }

    def start(self, *command: str, output: Path) -> "subprocess.Popen[bytes]":
        return self.launch("holdfast", *command, output=output)

    def launch(self, *command: str, output: Path) -> "subprocess.Popen[bytes]":
        """At a terminal, as somebody would see it; what it shows goes to the file as well."""
        ours, theirs = pty.openpty()
        output.touch()
        process = subprocess.Popen(
            command,
            cwd=self.home,
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        threading.Thread(target=_copy, args=(ours, output), daemon=True).start()
        return process

    def stored(self, chat_id: str) -> dict[str, Any]:
        """The history, as the server has it."""
        key = (self.folder / "data" / "key").read_text().strip()
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/chats/{chat_id}/messages",
            headers={"authorization": f"Bearer {key}"},
        )
        with urllib.request.urlopen(asked, timeout=LIMIT_S) as answer:
            return orjson.loads(answer.read())

    def server(self, output: Path) -> "subprocess.Popen[bytes]":
        data = str(self.folder / "data")
        return self.start("dev", "--data", data, "--port", str(self.port), output=output)


def _copy(terminal: int, output: Path) -> None:
    with output.open("ab", buffering=0) as file, suppress(OSError):  # raised when nobody is left
        while shown := os.read(terminal, 65536):
            file.write(shown.replace(b"\r\n", b"\n"))


def make(place: Place) -> str:
    """The transcript, or `Failed` with what went otherwise than it should."""
    told = Transcript()
    first, second, ran, again = (
        place.folder / f"{name}.out" for name in ("1", "2", "run", "again")
    )
    with running(place.server(first)) as server:
        told.typed("holdfast dev &")
        told.printed(greeting(place, wait_for(first, READY, server)))
        told.typed(f"holdfast run {shlex.quote(PROMPT)}")
        run = place.start("run", PROMPT, output=ran)
        wait_for(ran, KILL_AFTER, run)
        server.send_signal(signal.SIGKILL)
        server.wait()
        run.kill()  # whoever watched it has left, too
        run.wait()
    told.printed(f"{shown(ran).rstrip()}…")
    told.typed("kill -9 %1    # in mid-answer, and no reader is connected")
    with running(place.server(second)) as server:
        told.typed("holdfast dev &")
        told.printed(greeting(place, wait_for(second, READY, server)).splitlines()[0])
        told.typed("holdfast attach @last")
        attached = place.start("attach", "@last", output=again)
        if attached.wait(LIMIT_S) != 0:
            raise Failed(f"attach ended with {attached.returncode}: {shown(again)}")
        check(shown(ran), shown(again), place.stored(shown(ran).split()[1]))
        server.send_signal(signal.SIGINT)
        server.wait(LIMIT_S)
    told.printed(shown(again))
    return "\n".join(told.lines)


def shown(output: Path) -> str:
    """Without colours; nothing is ever taken back, so what was shown is what was written."""
    return STYLE.sub("", output.read_text(errors="replace"))


def check(before: str, after: str, stored: dict[str, Any]) -> None:
    """What attach showed begins with what was seen before the kill, and has each text once."""
    seen, whole = (" ".join(text.split("\n", 1)[1].split()) for text in (before, after))
    if not whole.startswith(seen) or whole == seen:
        raise Failed(f"it does not go on from {seen!r}: {whole!r}")
    parts = [part for message in stored["data"][1:] for part in message["parts"]]
    texts = [" ".join(part["text"].split()) for part in parts if part["type"] == "text"]
    if len(texts) < 2 or any(whole.count(text) != 1 for text in texts):
        raise Failed(f"not every word once: {whole!r}, stored {texts}")
    if not whole.endswith(texts[-1]) or "· clock ✓" not in after:
        raise Failed(f"without its tool call or its end: {after}")


@contextmanager
def running(server: "subprocess.Popen[bytes]") -> Generator["subprocess.Popen[bytes]"]:
    try:
        yield server
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait(LIMIT_S)


def wait_for(output: Path, pattern: str, process: "subprocess.Popen[bytes]") -> str:
    wanted = re.compile(pattern, re.MULTILINE)
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        text = shown(output)
        if wanted.search(text):
            return text
        if process.poll() is not None:
            raise Failed(f"ended with {process.returncode} before {pattern!r}: {text}")
        time.sleep(POLL_S)
    raise Failed(f"{pattern!r} did not come: {shown(output)}")


def greeting(place: Place, text: str) -> str:
    text = ONCE.sub("#once=…", text)
    return text.replace(str(place.folder / "data"), "~/.local/share/holdfast")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def in_readme(text: str, transcript: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or not after:
        raise Failed(f"README.md lacks {BEGIN} … {END}")
    return f"{before}{BEGIN}\n```console\n{transcript}\n```\n{END}{after}"


def transcript_in(text: str) -> list[str]:
    _, _, rest = text.partition(f"{BEGIN}\n```console\n")
    inside, _, _ = rest.partition(f"\n```\n{END}")
    return inside.splitlines()


def skeleton(lines: Sequence[str]) -> list[str]:
    """What two of them have in common: not ids, times, ports, versions, nor the model's prose."""
    kept: list[str] = []
    prose = False
    for line in lines:
        prose = (prose or line.startswith("The tool answered:")) and not line.startswith("$ ")
        if not prose:
            kept.append(CHANGING.sub("…", line))
    return kept


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hf-") as folder:
        Path(folder).chmod(0o711)  # as root, PostgreSQL's user must pass
        README.write_text(in_readme(README.read_text(), make(Place(Path(folder)))))


if __name__ == "__main__":
    main()
