"""Commands through a real agent: started once by their key, read by cursor, fed, signalled."""

import asyncio
from typing import Literal

import pytest

from holdfast.workspace.client import AgentClient, AgentRefused
from holdfast_agent.wire import FaultCode, Input, Look, Process, Signal, Start, State
from tests.requirements import requirement
from tests.support.agents import Agent, running_agent

SOON_S = 60


async def run(client: AgentClient, chat: str, command: str, **more: object) -> Look:
    await client.start(chat, "k", Start.model_validate({"command": command, **more}))
    look = await client.look(chat, "k", wait_s=SOON_S)
    assert look.process.state is State.ENDED
    return look


async def until_said(client: AgentClient, chat: str, words: str, after: int = 0) -> Look:
    """Follow the output by cursor until it has said so."""
    heard = ""
    async with asyncio.timeout(SOON_S):
        while True:
            look = await client.look(chat, "k", after=after, wait_s=5, until="output")
            heard, after = heard + look.output.text, look.output.end
            if words in heard:
                return look
            assert look.process.state is State.RUNNING, heard


async def test_a_command_tells_both_its_outputs_and_its_exit_code(
    client: AgentClient, chat: str
) -> None:
    look = await run(client, chat, "echo out; echo err >&2; exit 3")
    assert sorted(look.output.text.split()) == ["err", "out"]
    assert (look.process.exit_code, look.process.signal) == (3, None)
    assert look.process.bytes_written == look.output.end == 8
    assert look.process.started_at is not None
    assert look.process.ended_at is not None


@requirement("L116")
async def test_the_same_key_is_the_same_process_however_often_and_at_once(
    client: AgentClient, chat: str, agent: Agent
) -> None:
    start = Start(command=f"echo once >> {chat}; echo done")
    async with asyncio.TaskGroup() as tasks:
        started = [tasks.create_task(client.start(chat, "k", start)) for _ in range(20)]
    await client.look(chat, "k", wait_s=SOON_S)
    again = await client.start(chat, "k", start)

    assert {each.result().id for each in started} == {"p1"}
    assert (again.state, again.exit_code) == (State.ENDED, 0)
    assert (agent.root / chat).read_text() == "once\n"


async def test_another_command_under_a_taken_key_is_refused(client: AgentClient, chat: str) -> None:
    await run(client, chat, "true")
    for other in (Start(command="false"), Start(command="true", env={"A": "b"})):
        with pytest.raises(AgentRefused) as refused:
            await client.start(chat, "k", other)
        assert refused.value.code is FaultCode.KEY_TAKEN


async def test_nothing_in_the_environment_waits_for_a_person_or_paints(
    client: AgentClient, chat: str
) -> None:
    look = await run(client, chat, "env", env={"MINE": "yes", "TERM": "xterm"})
    env = dict(line.split("=", 1) for line in look.output.text.splitlines() if "=" in line)
    assert (env["PAGER"], env["GIT_PAGER"], env["EDITOR"], env["NO_COLOR"]) == (
        *("cat", "cat", "true", "1"),
    )
    assert (env["MINE"], env["TERM"]) == ("yes", "xterm")
    assert not [name for name in env if name.startswith("HOLDFAST_")]


async def test_it_runs_in_the_folder_it_was_given_and_in_none_outside(
    client: AgentClient, chat: str, agent: Agent
) -> None:
    (agent.root / "deep" / chat).mkdir(parents=True)
    assert (await run(client, chat, "pwd", cwd=f"deep/{chat}")).output.text.endswith(f"{chat}\n")
    for cwd, code in (
        ("..", FaultCode.OUTSIDE),
        ("/etc", FaultCode.OUTSIDE),
        ("none", FaultCode.NOT_FOUND),
    ):
        with pytest.raises(AgentRefused) as refused:
            await client.start(chat, "other", Start(command="pwd", cwd=cwd))
        assert refused.value.code is code
    # Refused is not started: the key is still free.
    assert (await client.start(chat, "other", Start(command="true"))).id == "p2"


@requirement("L105")
async def test_of_much_output_the_head_and_the_tail_are_kept(
    client: AgentClient, chat: str
) -> None:
    look = await run(client, chat, "seq 100000; echo €nd")
    assert look.output.text.startswith("1\n2\n")
    whole = await client.look(chat, "k", after=-1)
    assert whole.head is not None
    assert whole.head.text.startswith("1\n2\n")
    assert whole.output.text.endswith("99999\n100000\n€nd\n")
    assert whole.head.end + whole.output.missed == whole.output.begin
    assert whole.output.end == whole.process.bytes_written == 588_895 + 6


async def test_what_is_read_while_it_runs_is_all_that_was_said(
    client: AgentClient, chat: str
) -> None:
    start = Start(command="for i in 1 2 3 4 5; do read line; echo got $line; done", input="open")
    await client.start(chat, "k", start)
    after = 0
    for word in ("a", "b", "ü", "d", "e"):
        await client.write_input(chat, "k", Input(text=f"{word}\n"))
        after = (await until_said(client, chat, f"got {word}\n", after)).output.end
    assert (await client.look(chat, "k", wait_s=SOON_S)).process.exit_code == 0


async def test_its_input_ends_when_told_to_and_is_bounded(client: AgentClient, chat: str) -> None:
    await client.start(chat, "k", Start(command="sleep 1000", input="open"))
    for _ in range(10):
        await client.write_input(chat, "k", Input(text="x" * 100_000))
    with pytest.raises(AgentRefused) as refused:
        await client.write_input(chat, "k", Input(text="x" * 200_000))
    assert refused.value.code is FaultCode.TOO_LARGE
    await client.stop(chat, "k")
    with pytest.raises(AgentRefused) as refused:
        await client.write_input(chat, "k", Input(text="x"))
    assert refused.value.code is FaultCode.NOT_RUNNING

    await client.start(chat, "counts", Start(command="wc -c", input="open"))
    await client.write_input(chat, "counts", Input(text="x" * 300_000, close=True))
    assert (await client.look(chat, "counts", wait_s=SOON_S)).output.text.strip() == "300000"


async def test_without_an_input_a_command_reads_nothing(client: AgentClient, chat: str) -> None:
    assert (await run(client, chat, "wc -c; readlink /proc/self/fd/0")).output.text == (
        "0\n/dev/null\n"
    )
    await client.start(chat, "deaf", Start(command="sleep 1000"))
    with pytest.raises(AgentRefused) as refused:
        await client.write_input(chat, "deaf", Input(text="x"))
    assert refused.value.code is FaultCode.BAD_REQUEST
    await client.stop(chat, "deaf")


async def test_an_ignored_pipe_signal_is_not_handed_down(client: AgentClient, chat: str) -> None:
    look = await run(client, chat, "yes | head -n 1; echo end")
    assert look.output.text == "y\nend\n"


@requirement("L99")
async def test_a_signal_reaches_the_whole_tree(client: AgentClient, chat: str) -> None:
    one = """sh -c 'trap "echo $0 got it; exit 0" TERM; echo $0 up; while :; do sleep 0.05; done'"""
    command = f"trap 'echo top got it' TERM; {one} child & setsid {one} apart & wait; wait; wait"
    await client.start(chat, "k", Start(command=command))
    async with asyncio.timeout(SOON_S):
        while (await client.look(chat, "k")).output.text.count("up") < 2:
            await client.look(chat, "k", after=3, wait_s=0.2, until="output")
    await client.signal(chat, "k", Signal(name="TERM"))
    look = await client.look(chat, "k", wait_s=SOON_S)
    assert {"top got it", "child got it", "apart got it"} <= set(look.output.text.splitlines())


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT"])
async def test_who_is_ended_by_our_signal_says_so(
    client: AgentClient, chat: str, name: Literal["TERM", "HUP", "INT"]
) -> None:
    chat = f"{chat} {name}"
    await client.start(chat, "k", Start(command="echo up; exec sleep 1000"))
    await until_said(client, chat, "up")
    await client.signal(chat, "k", Signal(name=name))
    process = (await client.look(chat, "k", wait_s=SOON_S)).process
    assert (process.signal, process.exit_code) == (name, None)
    with pytest.raises(AgentRefused) as refused:
        await client.signal(chat, "k", Signal(name=name))
    assert refused.value.code is FaultCode.NOT_RUNNING


@requirement("L106")
async def test_another_chats_process_answers_exactly_like_none(
    client: AgentClient, chat: str
) -> None:
    mine = await client.start(chat, "k", Start(command="echo secret; sleep 1000"))

    async def said(key: str) -> list[str]:
        answers: list[str] = []
        for asking in (
            client.look("stranger", key),
            client.look("stranger", key, after=-1, wait_s=1),
            client.write_input("stranger", key, Input(text="x")),
            client.signal("stranger", key, Signal(name="KILL")),
        ):
            with pytest.raises(AgentRefused) as refused:
                await asking
            answers.append(f"{refused.value.code} {refused.value.message}".replace(key, "KEY"))
        return answers

    assert await said("k") == await said("nobody")
    assert await said(mine.id) == await said("p77")
    assert (await client.processes("stranger")).processes == ()
    assert (await client.stop_all("stranger")).processes == ()
    # A stop by a stranger is a tombstone of theirs, and nothing to us.
    assert (await client.stop("stranger", "k")).state is State.STOPPED
    assert (await client.look(chat, "k")).process.state is State.RUNNING
    await client.stop(chat, "k")


async def test_what_was_stopped_before_its_start_never_starts(
    client: AgentClient, chat: str, agent: Agent
) -> None:
    assert (await client.stop(chat, "late")).state is State.STOPPED
    assert (await client.stop(chat, "late")).state is State.STOPPED
    with pytest.raises(AgentRefused) as refused:
        await client.start(chat, "late", Start(command=f"touch {chat}"))
    assert refused.value.code is FaultCode.STOPPED
    assert not (agent.root / chat).exists()
    with pytest.raises(AgentRefused) as refused:
        await client.look(chat, "late")
    assert refused.value.code is FaultCode.NOT_FOUND


async def test_processes_are_listed_oldest_first_and_found_by_their_ids(
    client: AgentClient, chat: str
) -> None:
    for key in ("call/1 é", "call?2"):
        await client.start(chat, key, Start(command="sleep 1000", background=True))
    listed = (await client.processes(chat)).processes
    assert [(each.id, each.key, each.background) for each in listed] == [
        ("p1", "call/1 é", True),
        ("p2", "call?2", True),
    ]
    assert (await client.look(chat, "p2")).process.key == "call?2"
    stopped: tuple[Process, ...] = (await client.stop_all(chat)).processes
    assert [each.signal for each in stopped] == ["KILL", "KILL"]


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (Start(command="x" * 130_000), FaultCode.TOO_LARGE),
        (Start(command="a\0b"), FaultCode.BAD_REQUEST),
        (Start(command="true", env={"A=B": "c"}), FaultCode.BAD_REQUEST),
        (Start(command="true", env={"A": "c" * 70_000}), FaultCode.TOO_LARGE),
    ],
)
async def test_what_no_kernel_would_take_is_refused(
    client: AgentClient, chat: str, start: Start, code: FaultCode
) -> None:
    with pytest.raises(AgentRefused) as refused:
        await client.start(chat, "k", start)
    assert refused.value.code is code


async def test_only_so_many_run_at_once_and_only_so_many_outputs_are_kept(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("few")
    with running_agent(folder, "--processes-max", "2", "--finished-kept", "2") as few:
        async with AgentClient(few.address) as client:
            for key in ("a", "b"):
                await client.start("c", key, Start(command="sleep 1000"))
            with pytest.raises(AgentRefused) as refused:
                await client.start("d", "k", Start(command="true"))
            assert refused.value.code is FaultCode.TOO_MANY
            await client.stop_all("c")
            for key in ("d", "e"):
                await client.start("c", key, Start(command=f"echo {key}"))
                await client.look("c", key, wait_s=SOON_S)

            forgotten = await client.look("c", "a")
            assert (forgotten.process.state, forgotten.output.text) == (State.ENDED, "")
            assert (await client.look("c", "e")).output.text == "e\n"
