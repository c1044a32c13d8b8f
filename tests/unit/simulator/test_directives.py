"""The grammar of directives, and what it refuses."""

import pytest

from holdfast_simulator.directives import DirectiveWrong, Item, find, parse
from holdfast_simulator.faults import Fault, FaultAt, parse_fault
from holdfast_simulator.options import LineEnd, Options, changed


def test_a_prompt_without_directive_has_none() -> None:
    assert find("say [[something]] | rate=3") is None


def test_items_options_and_steps_are_told_apart() -> None:
    found = find(
        'Hi [[sim: think "a | b ]] \\"c\\"" | call get_weather {"city": "Oslo | ]]"} '
        '| then | say "done\nhere" | rate=200 | fault=eof-mid@3]] there'
    )
    assert found is not None
    assert found.options == {"rate": "200", "fault": "eof-mid@3"}
    assert found.steps == (
        (
            Item(word="think", text='a | b ]] "c"'),
            Item(word="call", text="get_weather", arguments={"city": "Oslo | ]]"}),
        ),
        (Item(word="say", text="done\nhere"),),
    )


def test_several_directives_are_read_as_one() -> None:
    found = find('[[sim: say "a"]] and [[sim: rate=5]]')
    assert found is not None
    assert found.speaks
    assert found.options == {"rate": "5"}


@pytest.mark.parametrize(
    "text",
    [
        "[[sim: say",
        "[[sim: say hello]]",
        "[[sim: sing]]",
        "[[sim: call]]",
        "[[sim: call t [1]]]",
        "[[sim: call t {]]",
        '[[sim: say "a" b]]',
    ],
)
def test_what_follows_no_rule_is_refused(text: str) -> None:
    with pytest.raises(DirectiveWrong):
        find(text)


def test_words_with_values_and_bare_words() -> None:
    found = parse("thinking | tools=2 | words=30 | stop=length | scenario=golden | redacted")
    assert [item.word for item in found.steps[0]] == [
        "thinking",
        "tools",
        "words",
        "stop",
        "scenario",
        "redacted",
    ]


def test_options_are_read_from_texts() -> None:
    options = changed(
        Options(),
        {
            "rate": "12.5",
            "latency": "250",
            "chunk": "bytes:3",
            "line": "crlf",
            "deltas": "4",
            "pings": "2",
            "times": "1",
            "every": "20",
            "size": "1000",
            "fault": "hang-mid@2",
        },
    )
    assert options == Options(
        rate=12.5,
        latency_s=0.25,
        piece_bytes=3,
        line=LineEnd.CRLF,
        deltas=4,
        pings=2,
        times=1,
        every_s=0.02,
        size_bytes=1000,
        fault=FaultAt(Fault.HANG_MID, 2),
    )
    assert changed(options, {"chunk": "all"}).one_piece
    assert changed(options, {"chunk": "event", "fault": "none"}).fault is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rate", "-1"),
        ("rate", "inf"),
        ("rate", "fast"),
        ("chunk", "bytes:0"),
        ("chunk", "bits:3"),
        ("line", "lfcr"),
        ("deltas", "-2"),
        ("fault", "gremlin"),
        ("fault", "eof-mid@x"),
        ("colour", "1"),
    ],
)
def test_an_option_that_cannot_be_read_is_named(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=name):
        changed(Options(), {name: text})


def test_there_are_at_least_forty_faults_and_each_name_is_read() -> None:
    assert len(Fault) >= 40
    for fault in Fault:
        assert parse_fault(str(fault)) == FaultAt(fault)
