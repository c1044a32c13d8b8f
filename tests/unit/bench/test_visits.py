"""Visits that go wrong: counted once, and left."""

from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import Target
from holdfast_lab.bench.visits import Visitor, VisitRun
from holdfast_lab.bench.wire import EventStream


async def test_a_visit_that_failed_hears_nothing_more_and_counts_once() -> None:
    run = VisitRun(Load(chats=2, turns=1, words=4), Target(urls=["http://127.0.0.1:1"], key=""), 60)
    run.outcome.began_s = 1.0
    first, second = run._chats  # pyright: ignore[reportPrivateUsage]
    assert isinstance(first, Visitor)
    assert isinstance(second, Visitor)
    second.stream = stream = EventStream(b"", second)

    run.failed(second, "the stream was cut")
    stream.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nevent")
    run.failed(second, "again")

    assert second.stream is None
    assert stream._ended  # pyright: ignore[reportPrivateUsage]
    assert run._left == 1, "the other one is still here"  # pyright: ignore[reportPrivateUsage]
    assert not run._quiet.is_set()  # pyright: ignore[reportPrivateUsage]
