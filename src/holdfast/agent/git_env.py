"""The environment in which git, run by the model's commands, runs no code of the place it works on.

A cloned tree cannot bring settings of git, but a tree that was unpacked can: a `.git` folder with
hooks and with a configuration that names programs for nearly everything. What the environment says
goes before what such a file says. Settings with fixed names are always set; those that carry a name
of the author's choice (filters, drivers) are looked up in the configurations that lie in the
workspace, and each is given a harmless value. We never run git ourselves to find out.

Not covered: a `.git` that a command unpacks and uses at once, one deeper than the folders below the
root, a push into another folder of the workspace (its hooks are run by the other side). They run as
the command itself does, inside the sandbox.
"""

import re
from collections.abc import Generator, Mapping
from pathlib import PurePosixPath
from typing import Final

from holdfast.agent.faults import Refused
from holdfast.agent.files.beneath import Beneath, Place, read_all
from holdfast.agent.files.listing import inner_folder
from holdfast.agent.files.naming import named_in
from holdfast.workspace.wire import FaultCode

CONFIG_BYTES_MAX: Final = 256 * 1024
CONFIGS_MAX: Final = 300
FOLDERS_MAX: Final = 100
SETTINGS_BYTES_MAX: Final = 256 * 1024
"""Together; the kernel gives a process two megabytes for all that it is started with."""
NAME_CHARS_MAX: Final = 2048
"""An attribute cannot name a filter or driver with a longer name."""
NO_GIT: Final = "/dev/null/git is switched off: its configuration here names too many programs"

PLAIN: Final[Mapping[str, str]] = {
    "GIT_ASKPASS": "",  # empty: nobody is asked, whatever core.askPass says
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


def git_env(beneath: Beneath, seen_as: str) -> dict[str, str]:
    """What to add to a process's environment. Reads a few files: not on the loop."""
    settings = [("safe.directory", seen_as), ("safe.directory", f"{seen_as}/*"), *FIXED.items()]
    try:
        for text in _configs(beneath):
            settings += harmless(text)
    except _TooMuch:
        return {**PLAIN, "GIT_DIR": NO_GIT}
    unique = list(dict.fromkeys(settings))
    if sum(len(key) + len(value) + 100 for key, value in unique) > SETTINGS_BYTES_MAX:
        return {**PLAIN, "GIT_DIR": NO_GIT}
    env = {**PLAIN, "GIT_CONFIG_COUNT": str(len(unique))}
    for number, (key, value) in enumerate(unique):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


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
    """The configurations of git that lie where one would work: at the root and in its folders."""
    todo = [
        f"{folder}{inner}"
        for folder in _likely(beneath)
        for inner in (".git/config", ".git/config.worktree")
    ]
    todo += [f".git/modules/{name}/config" for name in _names(beneath, ".git/modules")]
    seen: set[str] = set()
    while todo:
        path = todo.pop(0)
        if len(seen) > CONFIGS_MAX:
            raise _TooMuch
        text = None if path in seen else _text(beneath, path)
        seen.add(path)
        if text is None:
            continue
        yield text
        todo += _included(text, path)


def _likely(beneath: Beneath) -> list[str]:
    return ["", *(f"{name}/" for name in _names(beneath, "."))][:FOLDERS_MAX]


def _names(beneath: Beneath, path: str) -> list[str]:
    try:
        with beneath.folder(Place(path)) as start, inner_folder(start, ".") as folder:
            named, _ = named_in(folder, hidden=False)
    except (Refused, OSError):
        return []
    return [each.name for each in named if each.kind == "folder"]


def _included(config: str, path: str) -> list[str]:
    """Files that it takes in, as far as they lie beside it; whatever the condition."""
    return [
        str(PurePosixPath(path).parent / match[2].strip().strip('"'))
        for section, _, body in _sections(config)
        if section in ("include", "includeif")
        for match in _KEY.finditer(body)
        if match[1].lower() == "path" and match[2]
    ]


def _text(beneath: Beneath, path: str) -> str | None:
    if "\0" in path:
        return None
    place = Place(path)
    try:
        with beneath.file(place) as file:
            return read_all(file, place, CONFIG_BYTES_MAX).decode(errors="surrogateescape")
    except OSError:
        return None
    except Refused as refused:
        if refused.code is FaultCode.TOO_LARGE:
            raise _TooMuch from refused
        return None
