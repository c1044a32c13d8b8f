"""The journal: the last word on each key, whatever the disk did to the last line."""

import resource
from pathlib import Path

import pytest

from holdfast_agent.faults import Refused
from holdfast_agent.journal import Remembered, forgetting, open_journal, open_journal_id
from holdfast_agent.wire import Process, State
from tests.requirements import requirement


def remembered(key: str, state: State = State.RUNNING, chat: str = "c") -> Remembered:
    process = Process(key=key, id="p1", command="make", cwd="", background=False, state=state)
    return Remembered(chat=chat, digest="d", process=process)


def states(before: list[Remembered]) -> dict[str, State]:
    return {each.process.key: each.process.state for each in before}


async def test_what_ran_is_lost_and_what_ended_has_ended(tmp_path: Path) -> None:
    journal, before = open_journal(tmp_path / "journal")
    assert before == []
    await journal.write(remembered("ran"))
    await journal.write(remembered("ended"))
    journal.note(remembered("ended", State.ENDED))
    await journal.write(remembered("never", State.STOPPED))
    journal.close()

    journal, before = open_journal(tmp_path / "journal")
    journal.close()
    assert states(before) == {
        "ran": State.LOST,
        "ended": State.ENDED,
        "never": State.STOPPED,
    }
    journal, again = open_journal(tmp_path / "journal")
    journal.close()
    assert again == before


@pytest.mark.parametrize("torn", [b'{"chat"', b"\x00" * 20, b"nonsense\n"])
async def test_a_torn_last_line_costs_nothing_but_itself(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "journal"
    journal, _ = open_journal(path)
    await journal.write(remembered("a"))
    journal.close()
    path.write_bytes(path.read_bytes() + torn)

    journal, before = open_journal(path)
    assert states(before) == {"a": State.LOST}
    await journal.write(remembered("b"))
    journal.close()
    journal, before = open_journal(path)
    journal.close()
    assert states(before) == {"a": State.LOST, "b": State.LOST}


async def test_a_full_disk_refuses_and_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal, _ = open_journal(path)
    await journal.write(remembered("a"))
    size = path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
    try:
        with pytest.raises(Refused, match="nothing is started"):
            await journal.write(remembered("b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.stat().st_size == size
    await journal.write(remembered("c"))
    journal.close()
    journal, found = open_journal(path)
    journal.close()
    assert states(found) == {"a": State.LOST, "c": State.LOST}


def test_of_too_many_the_oldest_that_do_not_run_are_forgotten() -> None:
    lines = [remembered("runs"), *(remembered(f"k{n}", State.ENDED) for n in range(5))]
    kept = forgetting(lines, kept_max=3)
    assert [key for _chat, key in kept] == ["runs", "k3", "k4"]


def test_the_same_key_of_another_chat_is_another_key() -> None:
    kept = forgetting([remembered("k"), remembered("k", State.STOPPED, chat="d")])
    assert [each.process.state for each in kept.values()] == [State.RUNNING, State.STOPPED]


@requirement("L145")
def test_journal_has_one_id_for_as_long_as_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    name = open_journal_id(path)
    open_journal(path)[0].close()
    assert open_journal_id(path) == name

    path.unlink()
    assert open_journal_id(path) != name, "an empty journal knows no key of the one before"


@requirement("L145")
def test_journal_of_an_older_version_is_given_an_id(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    open_journal(path)[0].close()
    name = open_journal_id(path)
    assert len(name) == 32
    assert open_journal_id(path) == name
