"""What an administrator may say about the wall, as values."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

MIB: Final = 1024 * 1024
GIB: Final = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    root: Path
    """The workspace's folder outside; inside it is `/workspace`."""
    state: Path
    """The agent's own folder: never seen from inside."""
    allow_hosts: tuple[str, ...] = ()
    """Where commands may connect to: `example.com`, `*.example.org`, `host:port`. Ports 80 and 443
    unless one is named."""
    private_hosts: tuple[str, ...] = ()
    """Like `allow_hosts`, for hosts of one's own network: these may have private addresses."""
    readable: tuple[Path, ...] = ()
    """Folders and files beside `/usr` that commands may read, at the same path inside."""
    git: Literal["guarded", "open"] = "guarded"
    """`guarded`: hooks and configuration of the repository in `root` cannot be written, and git
    runs nothing that a repository brings (`git_env.py`), in either sandbox."""
    pids_max: int = 512
    memory_bytes_max: int = 4 * GIB
    """Of all commands together, with what they keep in `/tmp` and their home."""
    cpu_share: float = 1.0
    """Beside other workspaces when the machine is busy: 2.0 gets twice what 1.0 gets."""
    tmp_bytes_max: int = 1 * GIB
    """Of `/tmp` and of the home directory, each, which all commands share, and of each command's
    `/dev/shm`."""
    file_bytes_max: int = 8 * GIB
    disk_free_bytes_min: int = 1 * GIB
    """Below this no command starts, and the one that writes most is stopped."""
    upload_bytes_max: int = 64 * MIB
    download_bytes_max: int = 1 * GIB
    """Of one connection through the proxy."""

    @property
    def kept_bytes_max(self) -> int:
        """Of `/tmp` and of the home directory: both together take at most half of the memory.
        They are kept between commands, and a command that finds no memory could not even delete
        them."""
        return min(self.tmp_bytes_max, self.memory_bytes_max // 4)

    def __post_init__(self) -> None:
        assert self.root.is_absolute()
        assert self.state.is_absolute()
        assert self.pids_max >= 16, "bwrap, a shell and what it runs need a few"
        assert self.memory_bytes_max >= 32 * MIB
        assert 0.01 <= self.cpu_share <= 100
