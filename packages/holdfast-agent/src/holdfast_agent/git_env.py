"""The environment in which git, run by the model's commands, runs no code of the place it works on.

A cloned tree cannot bring settings of git, but a tree that was unpacked can: a `.git` folder with
hooks and with a configuration that names programs for nearly everything. What the environment says
goes before what such a file says. Settings with fixed names are always set; those that carry a name
of the author's choice (filters, drivers) are looked up in the configurations that lie in the
workspace, and each is given a harmless value. We never run git ourselves to find out.

Not covered: a `.git` that a command unpacks and uses at once, one that lies further away than we
look (`repositories.py`), a push into another folder of the workspace (its hooks are run by the
other side). They run as the command itself does, inside the sandbox.
"""

import re
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.files.beneath import Beneath, Place, read_all
from holdfast_agent.repositories import config_paths
from holdfast_agent.wire import FaultCode

CONFIG_BYTES_MAX: Final = 256 * 1024
CONFIGS_MAX: Final = 600
"""Of those that are there."""
SETTINGS_BYTES_MAX: Final = 256 * 1024
"""Together; the kernel gives a process two megabytes for all that it is started with."""
SETTINGS_MAX: Final = 1000
"""Two variables each; bubblewrap takes 9,000 words, and a variable is three of them."""
NAME_CHARS_MAX: Final = 2048
"""An attribute cannot name a filter or driver with a longer name."""
NO_GIT: Final = (
    "/dev/null/git is switched off: a configuration in this workspace names too many programs, or"
    " cannot be looked through (a link, a file with several names)"
)

PLAIN: Final[Mapping[str, str]] = {
    "GIT_ASKPASS": "",  # empty: no prompt, whatever core.askPass says
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_PROXY_COMMAND": "",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_SSH_COMMAND": "ssh",
    "GIT_TERMINAL_PROMPT": "0",
}
FIXED: Final[Mapping[str, str]] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.alternateRefsCommand": "true",
    "commit.gpgSign": "false",
    "credential.helper": "",  # empty: those named before do not count
    "gc.auto": "0",  # gc has hooks of its own
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "merge.verifySignatures": "false",
    "protocol.ext.allow": "never",
    "push.gpgSign": "false",
    "safe.bareRepository": "explicit",  # a bare one can hide in a cloned tree, with settings
    "submodule.recurse": "false",
    "tag.forceSignAnnotated": "false",
    "tag.gpgSign": "false",
}
_DIFF: Final = 'f() { diff -u --label "a/$1" --label "b/$1" "$2" "$5"; true; }; f'
NAMED: Final[Mapping[tuple[str, str], str]] = {
    # Section and key, of whatever name between the two → what it is set to.
    ("diff", "command"): _DIFF,
    ("diff", "external"): _DIFF,
    ("diff", "textconv"): "cat",
    ("filter", "clean"): "",
    ("filter", "process"): "",
    ("filter", "required"): "false",
    ("filter", "smudge"): "",
    ("gpg", "defaultkeycommand"): "true",
    ("hook", "command"): "true",
    ("hook", "enabled"): "false",
    ("interactive", "difffilter"): "cat",
    ("merge", "driver"): "git merge-file %A %O %B",
    ("remote", "receivepack"): "git-receive-pack",
    ("remote", "uploadpack"): "git-upload-pack",
    ("submodule", "update"): "checkout",
    ("trailer", "cmd"): "true",
    ("trailer", "command"): "true",
}
_HEADER: Final = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n\0]|\\.)*)")?\s*\]')
_KEY: Final = re.compile(r"^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?", re.MULTILINE)


class _TooMuch(Exception):
    """More than we can look through, so we do not know what it would run."""


def git_env(beneath: Beneath, seen_as: str, given: Mapping[str, str]) -> dict[str, str]:
    """What to add to a process's environment. Reads a few files: not on the loop.

    `given`: what the machine's own environment says. It did not come with a tree, so it counts
    more: an administrator sets a helper for passwords, or lets hooks run.
    """
    plain = {name: value for name, value in PLAIN.items() if name not in given}
    settings = [("safe.directory", seen_as), ("safe.directory", f"{seen_as}/*"), *FIXED.items()]
    try:
        for text in _configs(beneath):
            settings += harmless(text)
    except _TooMuch:
        return {**plain, "GIT_DIR": NO_GIT}
    unique = [*dict.fromkeys(settings), *_settings_in(given)]
    if (
        len(unique) > SETTINGS_MAX
        or sum(len(key) + len(value) + 100 for key, value in unique) > SETTINGS_BYTES_MAX
    ):
        return {**plain, "GIT_DIR": NO_GIT}
    env = {**plain, "GIT_CONFIG_COUNT": str(len(unique))}
    for number, (key, value) in enumerate(unique):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


def _settings_in(given: Mapping[str, str]) -> list[tuple[str, str]]:
    count = given.get("GIT_CONFIG_COUNT", "")
    numbers = range(min(int(count), SETTINGS_MAX)) if count.isdecimal() else ()
    named = ((f"GIT_CONFIG_KEY_{number}", f"GIT_CONFIG_VALUE_{number}") for number in numbers)
    return [(given[key], given[value]) for key, value in named if key in given and value in given]


def harmless(config: str) -> list[tuple[str, str]]:
    """A value for each setting in it that would run something."""
    found: list[tuple[str, str]] = []
    for section, name, body in _sections(config):
        between = f"{section}.{name}" if name is not None else section
        for match in _KEY.finditer(body):
            key = match[1].lower()
            value = NAMED.get((section, key))
            if value is not None and len(between) <= NAME_CHARS_MAX:
                found.append((f"{between}.{key}", value))
    return found


def _sections(config: str) -> Generator[tuple[str, str | None, str]]:
    """Section, name, and what stands up to the next header. A header may stand anywhere in a line:
    git takes it there, too. In a value it only makes us set something that is not there."""
    headers = list(_HEADER.finditer(config))
    for number, header in enumerate(headers):
        end = headers[number + 1].start() if number + 1 < len(headers) else len(config)
        section, name = header[1], header[2]
        if name is not None:
            name = re.sub(r"\\(.)", r"\1", name)
        elif "." in section:
            section, _, name = section.partition(".")
            name = name.lower()
        yield section.lower(), name, config[header.end() : end]


def _configs(beneath: Beneath) -> Generator[str]:
    """The configurations of the repositories in the workspace, and what they take in."""
    todo = deque(config_paths(beneath))
    seen: set[str] = set()
    while todo:
        path = todo.popleft()
        if path in seen:
            continue
        seen.add(path)
        text = _text(beneath, path)
        if text is None:
            continue
        if len(seen) > CONFIGS_MAX:
            raise _TooMuch
        yield text
        todo += _included(beneath, text, path)


def _included(beneath: Beneath, config: str, path: str) -> Generator[str]:
    """Files that it takes in, whatever the condition. What lies elsewhere on the machine, or at
    home, came with no tree."""
    for section, _, body in _sections(config):
        for match in _KEY.finditer(body) if section in ("include", "includeif") else ():
            said = (match[2] or "").strip().strip('"')
            if match[1].lower() != "path" or not said or said.startswith(("~", "%")):
                continue
            with suppress(Refused):
                yield beneath.place(str(PurePosixPath(path).parent / said)).path


def _text(beneath: Beneath, path: str) -> str | None:
    """None if nothing is there. What is there and cannot be read, git may well read: a link with
    the name that commands know the workspace by, a file with several names, a pipe."""
    place = Place(path)
    try:
        with beneath.file(place) as file:
            return read_all(file, place, CONFIG_BYTES_MAX).decode(errors="surrogateescape")
    except OSError as error:
        raise _TooMuch from error
    except Refused as refused:
        if refused.code is FaultCode.NOT_FOUND:
            return None
        raise _TooMuch from refused
