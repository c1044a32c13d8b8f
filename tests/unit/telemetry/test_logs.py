"""Logs: one JSON object per line, with what is bound, and without secrets."""

import asyncio
import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from holdfast.telemetry.logs import (
    HIDDEN,
    REPEATED_EVERY_S,
    LearnedSecrets,
    Redactor,
    Repeats,
    bound,
    logging_to,
)

LOG = logging.getLogger("holdfast.some.module")


def logged(*say: Callable[[], object], **options: Any) -> list[dict[str, Any]]:
    stream = io.StringIO()
    with logging_to(stream, **options):
        for each in say:
            each()
    return [orjson.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_an_object() -> None:
    (line,) = logged(lambda: LOG.warning("%s of %s", 1, 2, extra={"size": 3}))
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "1 of 2",
        "level": "warning",
        "logger": "holdfast.some.module",
        "size": 3,
    }


def test_an_exception_is_one_line_with_its_traceback() -> None:
    def fail() -> None:
        try:
            int("two\nlines")
        except ValueError:
            LOG.exception("it failed")

    (line,) = logged(fail)
    assert "Traceback" in line["exception"]
    assert "in fail" in line["exception"]
    assert r"'two\nlines'" in line["exception"]


async def test_what_is_bound_is_on_every_line_of_the_block_and_of_tasks_begun_there() -> None:
    stream = io.StringIO()

    async def say(what: str) -> None:
        LOG.info(what)

    with logging_to(stream):
        with bound(chat_id=1, turn="7.1"):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(say("inside"))
        LOG.info("outside")
    inside, outside = map(orjson.loads, stream.getvalue().splitlines())
    assert (inside["chat_id"], inside["turn"]) == ("1", "7.1")
    assert "chat_id" not in outside


def test_less_than_the_level_is_not_logged_and_others_are_quiet() -> None:
    lines = logged(
        lambda: LOG.info("not this"),
        lambda: LOG.error("this"),
        lambda: logging.getLogger("urllib3").info("nor this"),
        level="WARNING",
    )
    assert [line["event"] for line in lines] == ["this"]
    assert logged(lambda: logging.getLogger("urllib3").info("nor this")) == []


def test_warnings_are_logged_and_the_console_is_for_people() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        (line,) = logged(lambda: warnings.warn("old", stacklevel=1))
    assert "old" in line["event"]
    stream = io.StringIO()
    with logging_to(stream, style="console", secrets=["canary"]), bound(chat_id=5):
        LOG.info("hello canary")
    assert "hello ***" in stream.getvalue()
    assert "chat_id" in stream.getvalue()


def test_leaving_puts_everything_back() -> None:
    root = logging.getLogger()
    before = (root.handlers[:], root.level, logging.getLogger("urllib3").level)
    logged(level="ERROR")
    assert before == (root.handlers[:], root.level, logging.getLogger("urllib3").level)


def test_what_json_cannot_say_is_said_somehow() -> None:
    lone, big = logged(lambda: LOG.info("a\ud800b"), lambda: LOG.info("x", extra={"n": 2**80}))
    assert "ud800" in lone["event"]
    assert str(2**80) in big["event"]


class Opaque:
    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        return "Opaque(canary-1)"


LEAKS: list[Callable[[], object]] = [
    lambda: LOG.info("key canary-1"),
    lambda: LOG.info("key %s", "canary-1"),
    lambda: LOG.info("x", extra={"deep": [{"er": ("canary-1",)}]}),
    lambda: LOG.info("x", extra={"canary-1": {"canary-1": 1}}),
    lambda: LOG.info("x", extra={"thing": Opaque()}),
    lambda: LOG.info("x", extra={"api_key": "unknown-canary"}),
    lambda: LOG.info("x", extra={"headers": {"Authorization": "unknown-canary"}}),
    lambda: LOG.info("GET https://user:unknown-canary@host/path"),
    lambda: LOG.info("authorization: Bearer unknown-canary-token"),
    lambda: LOG.info("sk-ant-unknown-canary-0123456789"),
    lambda: LOG.info("hfst_unknowncanary0123456789"),
    lambda: LOG.info("hf_unknowncanary0123456789"),
    lambda: LOG.info("gsk_unknowncanary0123456789"),
    lambda: LOG.info("xai-unknowncanary0123456789"),
    lambda: LOG.info("ghs_unknowncanary0123456789"),
    lambda: LOG.info("github_pat_unknowncanary0123456789"),
    lambda: LOG.info("glpat-unknowncanary0123456789"),
    lambda: LOG.info("eyJhbGciOiJub25lIn0.eyJzdWIiOiJjYW5hcnkifQ.canary"),
    lambda: LOG.info("cookie: __Host-holdfast=unknowncanary0123456789; path=/"),
    lambda: LOG.info("x", extra={"db_password": b"unknown-canary"}),
]


@pytest.mark.parametrize("leak", LEAKS, ids=range(len(LEAKS)))
@pytest.mark.parametrize("style", ["json", "console"])
def test_a_secret_is_never_logged(leak: Callable[[], object], style: Any) -> None:
    stream = io.StringIO()
    with logging_to(stream, style=style, secrets=["canary-1", "no"]):
        leak()
    assert stream.getvalue()
    assert "canary" not in stream.getvalue()


def test_a_secret_in_an_exception_or_bound_is_hidden() -> None:
    def fail() -> None:
        with bound(chat_id="canary-1"):
            try:
                int("canary-1")
            except ValueError:
                LOG.exception("x")

    (line,) = logged(fail, secrets=["canary-1"])
    assert line["chat_id"] == HIDDEN
    assert f"with base 10: '{HIDDEN}'" in line["exception"]
    assert "canary" not in line["exception"].replace('int("canary-1")', "")


def test_the_longest_secret_goes_first_and_what_is_no_secret_stays() -> None:
    redactor = Redactor(["abcd", "abcdef"])
    assert redactor.text("abcdefg") == f"{HIDDEN}g"
    innocent = "chat 0190 at postgresql://host:5432/db took 5 tokens, task-force, skeleton"
    assert redactor.text(innocent) == innocent
    assert redactor(None, "", {"tokens": 5, "token_count": 7}) == {"tokens": 5, "token_count": 7}


def test_a_line_that_an_outage_repeats_is_counted_and_written_seldom() -> None:
    at_s = 0.0
    limit = Repeats(lambda: at_s)

    def written(key: str | None, message: str = "no") -> dict[str, Any] | None:
        record = LOG.makeRecord(LOG.name, logging.WARNING, "", 0, message, (), None)
        if key is not None:
            record.seldom = key
        return record.__dict__ if limit.filter(record) else None

    assert written("away") is not None
    assert [written("away", f"no {n}") for n in range(30)] == [None] * 30
    assert written("another") is not None
    assert all(written(None) for _ in range(30)), "other lines are not limited"
    at_s = REPEATED_EVERY_S
    again = written("away")
    assert again is not None
    assert (again["repeated"], "seldom" in again) == (30, False)
    at_s = 3 * REPEATED_EVERY_S
    later = written("away")
    assert later is not None
    assert "repeated" not in later


def test_the_limit_is_in_force_where_logs_are_written() -> None:
    say = lambda: LOG.warning("away", extra={"seldom": "away"})  # noqa: E731
    lines = logged(say, say, say)
    assert [line["event"] for line in lines] == ["away"]
    assert "seldom" not in lines[0]


def test_a_secret_learned_at_run_time_is_hidden_from_then_on() -> None:
    learned = LearnedSecrets()
    redactor = Redactor(["configured"], learned)
    assert redactor.text("configured, stored-key") == f"{HIDDEN}, stored-key"
    learned.learn("stored-key", "abc")  # the second is too short to be hidden
    assert redactor.text("configured, stored-key, abc") == f"{HIDDEN}, {HIDDEN}, abc"


def test_the_oldest_learned_secrets_are_forgotten_where_there_are_too_many() -> None:
    learned = LearnedSecrets(secrets_max=2)
    learned.learn("first", "second", "second", "third")
    assert list(learned) == ["second", "third"]
