"""The parts of `holdfast dev` that need no server: programs, folder, settings, the context."""

import stat
from pathlib import Path

import pytest

from holdfast.cli.dev import binaries, page
from holdfast.cli.dev.binaries import NEEDED, NoPostgres, find_binaries
from holdfast.cli.dev.contexts import remember
from holdfast.cli.dev.folder import AS_ROOT, Folder, FolderRefused, default_folder, own_folder
from holdfast.cli.dev.laptop import for_a_laptop
from holdfast.cli.sandbox_probe import why_no_commands
from holdfast.settings import ProcessRole, read_settings
from holdfast_client.config import Config, Target, read_config, write_config

URL = "http://127.0.0.1:8080"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One where PostgreSQL is installed only where a test puts it."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(binaries, "PLACES", (f"{tmp_path}/postgresql/*/bin",))
    monkeypatch.setattr(binaries, "PACKAGE", "no_such_package")
    return tmp_path


def installed(machine: Path, version: str, *, lacks: str = "") -> Path:
    folder = machine / "postgresql" / version / "bin"
    folder.mkdir(parents=True)
    for name in NEEDED:
        if name != lacks:
            (folder / name).write_text(
                f"#!/bin/sh\necho 'postgres (PostgreSQL) {version}.4 (Some)'"
            )
            (folder / name).chmod(0o755)
    return folder


def test_the_newest_is_taken(machine: Path) -> None:
    installed(machine, "9")
    installed(machine, "16")
    newest = installed(machine, "17")
    assert find_binaries() == binaries.Binaries(newest, 17)
    assert find_binaries()["initdb"] == str(newest / "initdb")


def test_data_is_opened_by_what_wrote_it(machine: Path) -> None:
    old = installed(machine, "16")
    installed(machine, "17")
    assert find_binaries(16).folder == old
    with pytest.raises(NoPostgres, match="PostgreSQL 15, which wrote the data, is not installed"):
        find_binaries(15)


def test_one_that_is_too_old_or_not_whole_is_not_taken(machine: Path) -> None:
    installed(machine, "17", lacks="initdb")
    with pytest.raises(NoPostgres, match="No PostgreSQL was found"):
        find_binaries()
    installed(machine, "14")
    with pytest.raises(NoPostgres, match="15 or newer is needed; there is only 14 in"):
        find_binaries()


def test_what_was_given_stays_as_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = for_a_laptop(read_settings())
    assert (plain.log_format, plain.lease_ttl_s, plain.port) == ("console", 4.0, 8080)
    monkeypatch.setenv("HOLDFAST_LOG_FORMAT", "json")
    monkeypatch.setenv("HOLDFAST_LEASE_TTL_S", "30")
    monkeypatch.setenv("HOLDFAST_ROLE", "worker")
    given = for_a_laptop(read_settings(), port=9)
    assert (given.log_format, given.lease_ttl_s, given.heartbeat_every_s) == ("json", 30.0, 3.0)
    assert (given.role, given.port) == (ProcessRole.ALL, 9)


def test_secrets_are_their_owners_alone_and_stay(tmp_path: Path) -> None:
    with own_folder(tmp_path / "data") as folder:
        password = folder.password()
        assert folder.password() == password
        assert len(password) >= 12
        assert folder.key() == ""
        folder.keep_key("hfst_1")
        folder.keep_key("hfst_2")
        assert folder.key() == "hfst_2"
        for file in (folder.key_file, folder.admin_file, folder.path / "lock"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Folder(tmp_path / "data").password() == password


def test_a_folder_is_held_by_one_and_let_go(tmp_path: Path) -> None:
    with (
        own_folder(tmp_path),
        pytest.raises(FolderRefused, match="runs already"),
        own_folder(tmp_path),
    ):
        pass
    with own_folder(tmp_path) as folder:
        assert folder.path == tmp_path


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOLDFAST_CONFIG_DIR", str(tmp_path))
    return tmp_path / "config.toml"


def test_the_context_is_the_current_one_where_there_is_none(config: Path) -> None:
    assert remember(URL, "hfst_1") == ""
    assert remember(URL, "hfst_2") == ""
    assert read_config() == Config({"dev": Target(URL, "hfst_2")}, "dev")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600


def test_a_second_server_gets_a_context_of_its_own(config: Path) -> None:
    assert remember(URL, "hfst_1") == ""
    other = "http://127.0.0.1:8099"
    assert remember(other, "hfst_2") == "holdfast context use dev-8099 && "
    assert read_config() == Config(
        {"dev": Target(URL, "hfst_1"), "dev-8099": Target(other, "hfst_2")}, "dev"
    )


def test_the_same_folder_on_another_port_is_the_same_server(config: Path) -> None:
    assert remember(URL, "hfst_1") == ""
    other = "http://127.0.0.1:8099"
    assert remember(other, "hfst_1") == ""
    assert read_config() == Config({"dev": Target(other, "hfst_1")}, "dev")


@pytest.mark.parametrize("uid", [0, 1000])
def test_the_data_folder_is_where_the_system_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int
) -> None:
    monkeypatch.setattr("holdfast.cli.dev.folder.os.geteuid", lambda: uid)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "holdfast"
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_DATA_HOME", ignored)
        assert default_folder() != tmp_path / "holdfast"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (default_folder() == AS_ROOT) == (uid == 0)


def test_the_page_is_built_only_in_a_clone_with_npm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui/package.json").touch()
    (tmp_path / "justfile").touch()
    assert page.build_command(tmp_path) is None, "no npm"
    for name in ("npm", "just"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    assert page.build_command(tmp_path) == [str(programs / "just"), "ui"]
    (tmp_path / "justfile").unlink()
    assert page.build_command(tmp_path) is None, "a wheel"
    assert not page.is_built(tmp_path)
    page.offer_to_build(tmp_path, tmp_path)  # no terminal: it does not ask


def test_it_says_what_commands_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_no_commands() == "bubblewrap is not installed: apt install bubblewrap"
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'setting up uid map: denied' >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    said = why_no_commands()
    assert said is not None
    assert "setting up uid map: denied" in said
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    assert why_no_commands() is None


def test_whoever_is_signed_in_elsewhere_is_left_there(config: Path) -> None:
    work = Target("https://holdfast.example", "hfst_work")
    write_config(Config({"work": work}, "work"))
    assert remember(URL, "hfst_1") == "holdfast context use dev && "
    assert read_config() == Config({"work": work, "dev": Target(URL, "hfst_1")}, "work")


def test_a_config_that_cannot_be_read_is_left_as_it_is(config: Path) -> None:
    config.write_text("no toml")
    assert "HOLDFAST_API_KEY" in remember(URL, "hfst_1")
    assert config.read_text() == "no toml"
