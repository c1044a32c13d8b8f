"""The master key comes from a file or a program, and no error quotes it."""

import base64
import sys
from pathlib import Path

import pytest

from holdfast.bootstrap.master_key import master_keys
from holdfast.settings import Settings, WrongSettings, read_settings
from holdfast.telemetry.logs import HIDDEN, Redactor

KEY = base64.b64encode(b"k" * 32).decode()


def test_without_a_setting_there_is_none() -> None:
    assert master_keys(Settings()) is None


def test_a_file_has_it_and_logs_hide_it(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    path.write_text(f"# of production\n{KEY}\n")
    found = master_keys(Settings(master_key_file=path))
    assert found is not None
    assert found.first.secret == b"k" * 32
    assert Redactor().text(f"it is {KEY}") == f"it is {HIDDEN}"


def test_a_program_prints_it() -> None:
    command = (sys.executable, "-c", f"print({KEY!r})")
    found = master_keys(Settings(master_key_command=command))
    assert found is not None
    assert found.first.secret == b"k" * 32


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; print('half a key'); sys.exit(3)", "ended with status 3"),
        ("print('too short')", "should be 32 random bytes"),
        ("", "there is no key in it"),
    ],
)
def test_a_program_that_fails_is_named_and_not_quoted(code: str, said: str) -> None:
    with pytest.raises(WrongSettings, match=said) as wrong:
        master_keys(Settings(master_key_command=(sys.executable, "-c", code)))
    assert "half a key" not in str(wrong.value)
    assert "too short" not in str(wrong.value)


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(WrongSettings, match="HOLDFAST_MASTER_KEY_COMMAND: vault did not start"):
        master_keys(Settings(master_key_command=(str(tmp_path / "vault"),)))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(WrongSettings, match=r"HOLDFAST_MASTER_KEY_FILE: .* cannot be read"):
        master_keys(Settings(master_key_file=tmp_path / "none"))


def test_file_and_program_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(WrongSettings, match="not both"):
        read_settings(master_key_file=tmp_path, master_key_command=("vault",))


def test_a_file_that_every_user_can_read_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "master.key"
    path.write_text(KEY)
    path.chmod(0o644)
    master_keys(Settings(master_key_file=path))
    assert "every user of this machine can read" in caplog.text
