"""What an agent is told before it starts, and where it would stand open."""

from pathlib import Path

import pytest

from holdfast_agent.command import parse_listen
from holdfast_agent.serving import Tcp, Unix, WrongFlags, check_folder, read_token


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/a.sock", "unix:/run/a.sock"),
        ("127.0.0.1:80", "http://127.0.0.1:80"),
        ("[::1]:0", "http://[::1]:0"),
    ],
)
def test_an_address_is_understood(text: str, address: str) -> None:
    listen = parse_listen(text)
    assert isinstance(listen, Unix if text.startswith("unix:") else Tcp)
    assert listen.address == address


@pytest.mark.parametrize("text", ["nonsense", ":80", "host:", "host:99999", "host:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(WrongFlags, match="HOST:PORT"):
        parse_listen(text)


@pytest.mark.parametrize(
    ("token", "mode", "words"),
    [
        ("a" * 16, 0o644, "others may read"),
        ("short", 0o600, "16 characters"),
        ("é" * 20, 0o600, "ASCII"),
    ],
)
def test_a_token_that_protects_nothing_is_refused(
    tmp_path: Path, token: str, mode: int, words: str
) -> None:
    path = tmp_path / "token"
    path.write_text(token)
    path.chmod(mode)
    with pytest.raises(WrongFlags, match=words):
        read_token(path)


def test_a_token_is_read_without_its_line_end(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("a-token-of-some-length\n")
    path.chmod(0o600)
    assert read_token(path) == "a-token-of-some-length"
    with pytest.raises(WrongFlags, match="cannot be read"):
        read_token(tmp_path / "none")


def test_a_socket_is_not_put_where_others_may_replace_it(tmp_path: Path) -> None:
    check_folder(tmp_path)
    check_folder(Path("/tmp"))  # everybody's, and nobody may rename what is another's
    tmp_path.chmod(0o777)
    with pytest.raises(WrongFlags, match="others may write"):
        check_folder(tmp_path)
    with pytest.raises(WrongFlags, match="No such file"):
        check_folder(tmp_path / "none")
