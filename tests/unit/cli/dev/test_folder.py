"""The folder of `holdfast dev`: what it makes is its owner's alone."""

from pathlib import Path

from holdfast.bootstrap.master_key import master_keys
from holdfast.cli.dev.folder import own_folder
from holdfast.settings import Settings


def test_the_master_key_is_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    with own_folder(tmp_path / "data") as folder:
        path = folder.master_key_file
        assert path.stat().st_mode & 0o777 == 0o600
        made = path.read_text()
        assert folder.master_key_file.read_text() == made
        assert master_keys(Settings(master_key_file=path)) is not None
