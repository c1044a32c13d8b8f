"""As whom commands run in an external sandbox."""

from pathlib import Path

import pytest

from holdfast_agent.command import parse_person
from holdfast_agent.external import SAME_USER, External
from holdfast_agent.sandbox.person import Person, ourselves
from holdfast_agent.serving import WrongFlags, read_token


@pytest.mark.parametrize("text", ["", "worker", "10002", "10002:", "0:10002", "10002:0", "-1:5"])
def test_what_is_no_user_is_refused(text: str) -> None:
    with pytest.raises(WrongFlags, match="UID:GID"):
        parse_person(text)


def test_a_user_and_a_group_are_numbers() -> None:
    assert parse_person("10002:10003") == Person(10002, 10003)
    assert ourselves().can_be
    assert ourselves().prefix() == ()


async def test_one_user_for_agent_and_commands_is_warned_about(tmp_path: Path) -> None:
    assert (await External(tmp_path, "keeper").check()).warnings == (SAME_USER,)
    other = Person(ourselves().uid + 1, ourselves().gid + 1)
    assert (await External(tmp_path, "keeper", other).check()).warnings == ()


def test_a_token_that_is_read_once_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("a-token-of-some-length")
    path.chmod(0o600)
    assert read_token(path) == "a-token-of-some-length"
    assert read_token(path, once=True) == "a-token-of-some-length"
    assert not path.exists()
